// SPDX-License-Identifier: Apache-2.0
#pragma once
// hp sched draw: a published schedule, or one in torch's file, as text, as an SVG drawing, as a page or as a trace.

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include <hyperparallel/report/draw_pipeline_svg.hpp>
#include <hyperparallel/report/draw_pipeline_text.hpp>
#include <hyperparallel/report/trace_pipeline.hpp>

#include "../page_output.hpp"
#include "check.hpp"
#include "make.hpp"
#include "pictures.hpp"

namespace sched {

struct draw_request {
  check_request read;  ///< its file, or a name in its place; and the costs
  int ranks = 0, chunks = 0, width = 120;
  std::string svg, trace, html;
  bool force = false;
};

/// Null where what is given is a file. A file that has a schedule's name is meant with a folder or an ending.
inline const hp::named_schedule* named_in(const draw_request& given) {
  const std::string& text = given.read.file;
  const bool is_path = text.find_first_of("/.") != std::string::npos;
  return is_path ? nullptr : hp::schedule_called(text.c_str());
}

inline hp::pipeline_schedule generated(const draw_request& given, const hp::named_schedule& schedule) {
  if (given.read.placement != "inferred") throw hp_tool::bad_input("--placement goes with a table; a name has its own");
  for (const auto& [option, size] : {std::pair{"--ranks", given.ranks}, {"--micro-batches", given.read.micro_batches}})
    if (size == 0) throw hp_tool::bad_input(std::string(option) + " is missing");
  const int chunks = given.chunks > 0 ? given.chunks : schedule.fixed_chunks > 0 ? schedule.fixed_chunks : 1;
  const hp::pipeline_shape n{given.ranks, chunks, given.read.micro_batches};
  if (const hp::pipeline_status status = schedule.check(n); !status.ok())
    throw hp_tool::bad_input(hp::to_text(status, schedule.name, n));
  if (std::int64_t{3} * n.stages() * n.micro_batches > static_cast<std::int64_t>(hp::most_torch_cells))
    throw hp_tool::bad_input("the schedule has more than " + std::to_string(hp::most_torch_cells) + " actions");
  return schedule.generate(n, false);
}

inline hp::pipeline_schedule read_schedule(const draw_request& given) {
  const std::string& file = given.read.file;
  std::error_code ignored;
  if (file != "-" && !std::filesystem::exists(file, ignored))
    throw hp_tool::bad_input(hp::quoted_path(file) + " is no file and no published schedule; known: " + known_names());
  if (given.ranks > 0 || given.chunks > 0)
    throw hp_tool::bad_input("--ranks and --chunks go with a name; a table has its own");
  hp::torch_schedule read = hp::schedule_of(table_of(given.read), given.read.places(), given.read.micro_batches);
  if (read.status.code == hp::pipeline_code::sizes_are_not_positive)
    throw hp_tool::bad_input(given.read.name() + ": the table holds no action");
  if (!read.status.ok()) throw hp_tool::answer_is_no("the schedule is not safe: " + hp::to_text(read.status));
  return std::move(read.schedule);
}

inline int draw(const draw_request& given) {
  const std::string& what = given.read.file;
  if (what.empty())
    throw hp_tool::bad_input("no file and no schedule is named; '-' is standard input; known: " + known_names());
  hp_tool::hold_apart({{"--svg", given.svg}, {"--trace", given.trace}, {"--html", given.html}}, {what}, given.force);
  const hp::named_schedule* const schedule = named_in(given);
  const hp::pipeline_schedule s = schedule != nullptr ? generated(given, *schedule) : read_schedule(given);
  const hp::pipeline_costs costs = given.read.costs();
  if (!hp::costs_fit(costs, s.stages, s.micro_batches))
    throw hp_tool::bad_input(hp::to_text({.code = hp::pipeline_code::costs_do_not_fit}));
  const std::string name = schedule != nullptr ? schedule->name : what == "-" ? "" : what;
  hp::report::pipeline_drawing drawing;
  try {
    drawing = hp::report::drawing_of(s, costs, {}, name);
  } catch (const std::invalid_argument& e) {
    throw hp_tool::answer_is_no(std::string("the schedule is not safe: ") + e.what());
  }
  if (given.svg.empty() && given.trace.empty() && given.html.empty()) {
    std::fputs(hp::report::draw_pipeline_text(drawing, {.width = given.width}).c_str(), stdout);
    return 0;
  }
  // All are open before one is written.
  hp_tool::page_output page({.html = given.html, .svg = {}, .force = given.force});
  using file = std::unique_ptr<hp::atomic_file>;
  const file svg = given.svg.empty() ? nullptr : file(new hp::atomic_file(hp_tool::opened(given.svg, given.force)));
  const file trace =
      given.trace.empty() ? nullptr : file(new hp::atomic_file(hp_tool::opened(given.trace, given.force)));
  try {
    if (svg) hp::report::write_pipeline_svg(*svg, drawing);
  } catch (const std::length_error& e) {
    throw hp_tool::bad_input(e.what());
  }
  if (trace) hp::report::write_pipeline_trace(*trace, drawing);
  if (page.is_asked()) {
    hp_tool::json document = document_of({s, hp::unbounded::value, false, drawing.account}, "");
    document["pictures"] = pictures_of(drawing);
    page.write("hp sched: " + hp::report::title_of(drawing), document);
  }
  for (hp::atomic_file* const one : {svg.get(), trace.get()}) {
    if (one == nullptr) continue;
    one->commit();
    hp_tool::say_written(*one);
  }
  return 0;
}

}  // namespace sched
