// SPDX-License-Identifier: Apache-2.0
// hp sched make NAME --ranks P --micro-batches M …
// hp sched check FILE …
// hp sched list
// hp sched draw FILE|NAME …
// hp sched split --layers L --stages S …
//
// Pipeline schedules in the files of torch.distributed.pipelining: published ones written, any read, proved, timed and
// drawn. Layers in stages, as others take them.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../../examples/command_line.hpp"
#include "json_output.hpp"
#include "sched/check.hpp"
#include "sched/draw.hpp"
#include "sched/list.hpp"
#include "sched/make.hpp"
#include "sched/split.hpp"
#include "subcommand.hpp"

namespace {

constexpr std::int64_t most_time = 1'000'000'000;

/// "1,1,1" to numbers from 0 to `most_time`.
bool read_numbers(std::string_view text, std::vector<std::int64_t>& numbers) {
  numbers.clear();
  for (;;) {
    const std::size_t comma = text.find(',');
    std::int64_t& number = numbers.emplace_back();
    if (!command_line::detail::read(text.substr(0, comma), number) || number < 0 || number > most_time) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

void add_make(command_line::command app, sched::make_request& given) {
  app.add_option("NAME", given.name, "one of hp sched list; capitals and signs do not matter");
  app.add_option("--ranks", given.ranks, "P").check(command_line::whole(1, sched::most_ranks));
  app.add_option("--micro-batches", given.micro_batches, "m").check(command_line::whole(1, sched::most_micro_batches));
  app.add_option("--chunks", given.chunks, "stages on a rank; unless given, as many as the schedule insists on, or 1")
      .check(command_line::whole(1, sched::most_chunks));
  app.add_flag("--idle,!--no-idle", given.idle, "with the idle cells of torch's tables (default), or without")
      .disable_flag_override();
  app.add_flag("--transfers", given.transfers,
               "as torch runs it: with sends, receives and actions of parameters, and without idle cells")
      .disable_flag_override();
  app.add_option("--output", given.output, "a file in place of standard output");
  app.add_flag("--force", given.force, "overwrites the file where it exists");
  app.footer(
      "Reads nothing. Prints a table of torch.distributed.pipelining, a row for each rank, which torch's _load_csv "
      "reads.\n\n"
      "hp sched make ZBVZeroBubble --ranks 4 --micro-batches 16 --output zbv.csv\n\n"
      "Exit status: 0 made, 1 the output is full, 2 bad input.");
}

/// What says how a table is read and timed, but for the file itself.
void add_reading(command_line::command app, sched::check_request& given) {
  app.add_option("--placement", given.placement,
                 "where stages lie: s mod P, there and back, both ways on two ranks each, or where their F stand")
      .check(command_line::one_of({"loop", "v", "both", "inferred"}));
  app.add_option("--micro-batches", given.micro_batches, "unless given, as many as the largest in the table says")
      .check(command_line::whole(1, sched::most_micro_batches));
  const auto times = [&given](const std::string& text) {
    return read_numbers(text, given.times) && given.times.size() == 3
               ? std::string()
               : "'" + text + "' is no three whole numbers from 0 to " + std::to_string(most_time) + ", as in 1,1,1";
  };
  app.add_option("--times", "of F, I and W of a stage, as in 1,1,1 (default)").type_name("F,I,W").check(times);
  app.add_option("--latency", given.latency, "of a hop between ranks, which occupies nothing")
      .check(command_line::whole(0, most_time));
  app.add_option("--overlapped", given.overlapped, "time of a pair; unless given, as long as one after the other")
      .check(command_line::whole(0, most_time));
}

void add_schedule_check(command_line::command app, sched::check_request& given) {
  app.add_option("FILE", given.file, "a table; '-' is standard input");
  add_reading(app, given);
  const auto transport = [&given](const std::string& text) {
    given.over = hp_tool::transport_called(text);
    return given.over ? std::string()
                      : "'" + text + "' is no transport; known: unbounded, ordered, buffered=K (K from 1 to " +
                            std::to_string(hp_tool::most_buffers) + "), blocking";
  };
  app.add_option("--transport",
                 "what sends and receives wait for: unbounded, ordered, buffered=K or blocking; unless given, ordered "
                 "of a table with transfers, unbounded of others")
      .type_name("TRANSPORT")
      .check(transport);
  hp_tool::add_json(app, given.as_json);
  app.footer(
      "Reads a table of torch.distributed.pipelining. Prints whether each action stands once, on the rank of its "
      "stage, "
      "and\n"
      "no rank waits for ever under the transport; then times, bubbles and peaks by rank. Times are whole numbers in "
      "any\n"
      "one unit. A table without transfers has them put where torch puts them, where the transport needs them. Where\n"
      "the schedule is not safe, a line on the error stream says why.\n\n"
      "hp sched check zbv.csv --placement v --times 10,11,8 --latency 1 --transport blocking\n\n"
      "Exit status: 0 safe, 1 not safe, 2 bad input.");
}

void add_draw(command_line::command app, sched::draw_request& given) {
  app.add_option("FILE|NAME", given.read.file, "a table, '-' for standard input; or one of hp sched list");
  app.add_option("--ranks", given.ranks, "P, of a NAME").check(command_line::whole(1, sched::most_ranks));
  app.add_option("--chunks", given.chunks, "stages on a rank, of a NAME; as in hp sched make")
      .check(command_line::whole(1, sched::most_chunks));
  add_reading(app, given.read);
  app.add_option("--width", given.width, "characters of a line (default 120)").check(command_line::whole(20, 10'000));
  app.add_option("--svg", given.svg, "writes an SVG drawing to this file, and no text");
  app.add_option("--html", given.html, "writes a page with zoom and search to this file, and no text");
  app.add_option("--trace", given.trace,
                 "writes a trace for Perfetto to this file, a unit of time as a microsecond, and no text");
  app.add_flag("--force", given.force, "overwrites files that exist");
  app.footer(
      "Reads a table of torch.distributed.pipelining, or makes a published schedule. Prints a picture in text, a line "
      "for\n"
      "each rank: each action from where it starts, as wide as its time.\n\n"
      "hp sched draw ZB-V --ranks 4 --micro-batches 8\nhp sched draw zbv.csv --times 10,11,8 --svg zbv.svg\n"
      "hp sched draw DualPipeV --ranks 8 --micro-batches 16 --html dualpipev.html\n\n"
      "Exit status: 0 drawn, 1 not safe or the output is full, 2 bad input.");
}

void add_list(command_line::command app, bool& as_json) {
  hp_tool::add_json(app, as_json);
  app.footer(
      "Reads nothing. Prints the schedules that hp sched make knows.\n\nhp sched list\n\n"
      "Exit status: 0 listed, 1 the output is full, 2 bad input.");
}

void add_split(command_line::command app, sched::split_request& given) {
  app.add_option("--layers", given.layers, "of the model, without embedding and loss")
      .check(command_line::whole(1, sched::most_layers));
  app.add_option("--stages", given.stages, "ranks times stages on each")
      .check(command_line::whole(1, sched::most_layers));
  const auto weights = [&given](const std::string& text) {
    return read_numbers(text, given.weights)
               ? std::string()
               : "'" + text + "' is no list of whole numbers from 0 to " + std::to_string(most_time) + ", as in 3,3,4";
  };
  app.add_option("--weights", "of the layers, in any one unit; unless given, all weigh 1")
      .type_name("W,W,...")
      .check(weights);
  app.add_option("--embedding", given.embedding, "weight of what stands before the first layer")
      .check(command_line::whole(0, most_time));
  app.add_option("--loss", given.loss, "weight of what stands behind the last layer")
      .check(command_line::whole(0, most_time));
  app.add_option(
         "--check", given.checked,
         "a layout of Megatron, as 'Et|(tt|)*30L': its stages, and whether the heaviest is the least there can be")
      .type_name("LAYOUT");
  app.add_option("--mtp", given.prediction, "weight of an m of --check (default 1)")
      .check(command_line::whole(0, most_time));
  app.add_option("--format", given.format, "a string of Megatron (default), or torch's layers")
      .check(command_line::one_of({"megatron", "torch"}));
  app.add_option("--prefix", given.prefix, "of the names of torch's layers: layers (default)");
  hp_tool::add_json(app, given.as_json);
  app.footer(
      "Reads nothing. Prints a split of the layers into stages, in the order of the model: for Megatron the value of\n"
      "--pipeline-model-parallel-layout, for torch the layers that get SplitPoint.BEGINNING. The heaviest stage is as\n"
      "light as can be, then the second-heaviest and so on, then early stages have few layers. Megatron's stages may "
      "be\n"
      "without layers, with the embedding, the loss or nothing alone; of torch's the first may.\n\n"
      "hp sched split --layers 32 --stages 8 --loss 2 --format torch\n"
      "hp sched split --check 'Et|(tt|)*30L' --embedding 1 --loss 2\n\n"
      "Exit status: 0 split or the least, 1 not the least or the output is full, 2 bad input.");
}

}  // namespace

hp_tool::work hp_tool::add_sched(command_line::command app) {
  struct requests {
    sched::make_request make;
    sched::check_request check;
    sched::draw_request draw;
    sched::split_request split;
    bool list_as_json = false;
  };
  const auto given = std::make_shared<requests>();
  const command_line::command make = app.add_subcommand("make", "A published schedule as a table.");
  const command_line::command check = app.add_subcommand("check", "A table proved and timed.");
  const command_line::command draw =
      app.add_subcommand("draw", "A schedule as text, as an SVG drawing, as a page, as a trace.");
  const command_line::command list = app.add_subcommand("list", "The published schedules and what they need.");
  const command_line::command split = app.add_subcommand("split", "Layers in stages, as Megatron and torch take them.");
  add_make(make, given->make);
  add_schedule_check(check, given->check);
  add_draw(draw, given->draw);
  add_list(list, given->list_as_json);
  add_split(split, given->split);
  app.require_subcommand(0, 1);
  app.allow_extras();  // a command that does not exist
  app.footer(
      "hp sched make --help says what make reads and prints, and so do the others.\n\n"
      "hp sched make DualPipeV --ranks 4 --micro-batches 16 | hp sched check -\n\n"
      "Exit status: 0 good, 1 not safe, 2 bad input.");
  return [given, app, make, check, draw, list, split]() -> int {
    if (make.parsed()) return sched::make(given->make);
    if (check.parsed()) return sched::check(given->check);
    if (draw.parsed()) return sched::draw(given->draw);
    if (list.parsed()) return sched::list(given->list_as_json);
    if (split.parsed()) return sched::split(given->split);
    const std::vector<std::string> unknown = app.remaining();
    throw bad_input((unknown.empty() ? "no command is named; " : "'" + unknown[0] + "': no such command; ") +
                    "known: make, check, draw, list, split");
  };
}
