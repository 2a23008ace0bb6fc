// SPDX-License-Identifier: Apache-2.0
//
// train_text [TEXT] [--strategy NAME] [--ranks N] [--stages N --schedule NAME] [--steps N] [--seed N] [--compare] …
//
// Trains a small mixture-of-experts language model on the bytes of a text, on simulated ranks under a strategy chosen
// by name. The last line of `--compare` is the largest difference from one device, and the exit status says whether it
// is within the tolerance: 1e-9 in doubles, 1e-4 in floats, relative. Ctrl-C or SIGTERM ends training after the step
// that is under way, saves the checkpoint that was asked for, says so and exits with 130; a second one ends it at once.

#include <cstdint>
#include <string>

#include "../command_line.hpp"
#include "run.hpp"

namespace {

using namespace train_text;
using command_line::whole;

/// Heads are an eighth of the width, and their halves turn.
std::string multiple_of_16(const std::string& width) {
  return std::stoi(width) % 16 == 0 ? "" : "'" + width + "' is no multiple of 16";
}

}  // namespace

int main(int argc, char** argv) {
  train_options o;
  command_line::program app("Trains a small language model on a text, on simulated ranks under any strategy.",
                            "train_text");
  app.add_option("TEXT", o.text, "a file, or a folder of files (default: the system's license texts)");
  const command_line::option strategy =
      app.add_option("--strategy", o.strategy, "by name, see --list, with pp for a pipeline (default: ep-tp)");
  const command_line::option degrees =
      app.add_option("--degrees", o.degrees, "size of each of its axes (default: the ranks' factors)")
          .delimiter(',')
          .check(whole(1, 512));
  app.add_option("--stages", o.stages, "of a pipeline: how many, or the layers of each, as 5,3,4,4")
      .delimiter(',')
      .check(whole(1, 128));
  app.add_option("--schedule", o.schedule, "of the pipeline, by name, see --list (default: 1F1B)");
  app.add_option("--chunks", o.chunks, "stages of a group of ranks (default: the schedule's, or 1)")
      .check(whole(1, 16));
  app.add_option("--micro-batches", o.micro_batches, "of a step (default: two a group of a pipeline, or 1)")
      .check(whole(1, 1024));
  const command_line::option ranks =
      app.add_option("--ranks", o.ranks, "simulated devices (default: 8)").check(whole(1, 512));
  app.add_option("--groups", o.groups, "of a pipeline: strategy and ranks of each group, as dp:4,tp:2")
      .delimiter(',')
      .excludes(strategy)
      .excludes(degrees)
      .excludes(ranks);
  app.add_option("--steps", o.steps, "of training, in all (default: 100)").check(whole(1, 1'000'000));
  app.add_option("--seed", o.seed, "of first values and batches (default: 1)").check(command_line::seed());
  app.add_option("--threads", o.threads, "that simulate the ranks (default: all cores)").check(whole(0, 64));
  app.add_option("--batch", o.batch, "rows of a batch (default: 16)").check(whole(1, 4096));
  app.add_option("--seq", o.sequence, "bytes of a row (default: 64)").check(whole(1, 65536));
  app.add_option("--layers", o.layers, "(default: 4)").check(whole(1, 128));
  app.add_option("--hidden", o.hidden, "width, a multiple of 16 (default: 64)")
      .check(whole(16, 8192))
      .check(multiple_of_16);
  app.add_option("--rate", o.rate, "of learning (default: 0.001)").check(command_line::number(1e-9, 1e3));
  app.add_option("--validation-bytes", o.validation_bytes, "held back from training (default: 16384)")
      .check(whole(1, std::int64_t{1} << 40));
  app.add_option("--checkpoint", o.checkpoint, "a folder to keep sets of parameters and states in, the last three");
  app.add_option("--save-every", o.save_every, "steps (default: 50)").check(whole(0, 1'000'000));
  app.add_option("--resume", o.resume, "a folder of sets, a set or a file to go on from, also under another strategy");
  const command_line::option tiles =
      app.add_option("--tiles", o.tiles,
                     "names of operators that are computed in tiles, as '*.experts.*', so that moves hide behind them")
          .delimiter(',');
  app.add_option("--most-tiles", o.most_tiles, "of an operator (default: 8)").check(whole(2, 1024)).needs(tiles);
  const command_line::option checks =
      app.add_option("--check", o.checks,
                     "against silent corruption: tasks, moves, state, or several of them by commas")
          .delimiter(',')
          .check(command_line::one_of({"tasks", "moves", "state"}));
  app.add_option("--check-share", o.check_share, "one in so many tasks runs twice in a step (default: 1)")
      .check(whole(1, 1'000'000))
      .needs(checks);
  app.add_option("--hbm-budget", o.hbm_budget,
                 "memory of a rank: 50% of what it would be, 48M, or auto; the rest leaves for a slower tier")
      .check([](const std::string& text) { return text == "auto" ? "" : budget_trouble(text); });
  app.add_option("--tier-bandwidth", o.tier_bandwidth, "of that tier, in GB/s (default: 4)")
      .check(command_line::number(1e-6, 1e6));
  app.add_option("--at-most", o.most_ratio, "of the validation loss to the bigram entropy: a higher one exits with 1")
      .check(command_line::number(1e-3, 1e3));
  app.add_flag("--f64", o.doubles, "compute in doubles");
  app.add_flag("--compare", o.compare, "train on one device as well and compare every loss");
  app.add_flag("--list", o.list, "list the strategies and the schedules of pipelines");
  return command_line::run(app, argc, argv, [&] {
    if (!o.list) return run(o);
    list_strategies();
    return 0;
  });
}
