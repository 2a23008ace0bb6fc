// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plan's step in time: the timeline of its queues and what a device holds meanwhile, by the clock of the plan that would run
// where that was simulated, else as it is estimated.

#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/planner/clock_timeline.hpp>
#include <hyperparallel/report/format_program.hpp>

#include "../pictures.hpp"
#include "memory_pictures.hpp"

namespace decoder_plans {

class step_pictures {
 public:
  explicit step_pictures(const answer& asked) : a(asked), prices(a.prices()) {
    if (by_clock()) {
      hp::clocked_plan c = hp::lower_plan(a.config.model, a.plan, prices, a.most_simulated());
      hp::detail::leave_on_device(c.lowered.program, a.plan.host_states);
      line = hp::timeline_of(c.lowered, prices.device());
      p = std::move(c.lowered.program);
      moves = std::move(c.lowered.pulls.moves);
      return;
    }
    p = hp::planned_program(a.config.model, a.plan);
    const hp::priced_program priced(p, prices);
    line = hp::timeline_of(p, hp::pipeline_form(p.graph, a.plan.pp), priced, prices.links());
    moves = priced.moves();
  }

  json timeline() const {
    hp_tool::numbered_texts names, groups;
    json spans = json::array();
    for (const hp::timeline_span& s : line.span) {
      json span = {row_of(s.queue),     groups.number_of(group_of(s)), names.number_of(name_of_step(s.step)),
                   seconds_of(s.start), seconds_of(s.end - s.start),   s.micro_batch + 1};
      if (!by_clock()) span.push_back(s.repetition + 1);
      spans.push_back(std::move(span));
    }
    json details = {"micro-batch"};
    if (!by_clock()) details.push_back("repetition");
    json gaps = json::array();
    for (const hp::timeline_gap& g : line.gap)
      gaps.push_back({row_of(g.queue), seconds_of(g.start), seconds_of(g.end - g.start), text_of(g)});
    return {
        {"kind", "timeline"},
        {"title", "A step in time"},
        {"about",
         by_clock()
             ? "The queues of a device, by the clock of the plan that would run. Hatched: further micro-batches, "
               "which take as long as the first."
         : a.plan.pp > 1
             ? "The queues of one stage's device, estimated; each step takes its share of the stage. What stages hand "
               "over is not in it."
             : "The queues of a device, estimated. Hatched: what takes as long as the last that is drawn."},
        {"axis", "step"},
        {"unit", "seconds"},
        {"total", seconds_of(line.total)},
        {"rows", rows},
        {"groups", groups.take()},
        {"names", names.take()},
        {"details", std::move(details)},
        {"spans", std::move(spans)},
        {"gaps", std::move(gaps)}};
  }

  /// Memory over time: of a device; of a pipeline under 1F1B, of a device of some of its stages. None on a stack, whose order of a step is not
  /// this one.
  std::vector<json> memory() const {
    if (a.stack.walked || !hp::is_1f1b(a.plan)) return {};
    if (a.plan.pp > 1)
      return memory_of_stages({p, hp::pipeline_form(p.graph, a.plan.pp), a.estimate.evaluation, line}, a);
    return {memory_of_device(line, a, by_clock(), [&](int step) { return name_of_step(step); })};
  }

 private:
  static constexpr const char* rows[] = {"computing", "communication"};

  bool by_clock() const { return a.estimate.simulated.is_clocked(); }

  const char* group_of(const hp::timeline_span& s) const {
    return s.queue == hp::resource::link ? hp::name_of(kind_of(moves, p.step[s.step].index).plan)
                                         : hp::name_of(p.step[s.step].phase);
  }

  /// "layers.attention.query (contract)", "all-gather of layers.attention.query.weight along dp".
  std::string name_of_step(int step) const {
    const hp::program_step& s = p.step[step];
    if (!s.is_move) {
      const hp::graph_operator& op = p.graph.op[p.compute[s.index].op];
      return std::string(p.graph.text_at(op.name)) + " (" + p.graph.value_of(op).name + ")";
    }
    const hp::move_kind& kind = kind_of(moves, s.index);
    const hp::program_move& m = p.move[s.index];
    std::string out = std::string(hp::name_of(kind.plan)) + " of " + p.graph.name_of_tensor(p.value[m.target].tensor);
    const std::string axes = hp::report::axes_text(p.mesh, kind.axes);
    if (!axes.empty()) out += " along " + axes;
    int together = 0;
    for (const hp::program_move& other : p.move) together += m.bucket >= 0 && other.bucket == m.bucket ? 1 : 0;
    return together > 1 ? out + ", a bucket of " + std::to_string(together) : out;
  }

  static int row_of(hp::resource queue) { return queue == hp::resource::link ? 1 : 0; }

  static std::string text_of(const hp::timeline_gap& g) {
    return std::string(rows[row_of(g.queue)]) + " of " + std::to_string(g.count) +
           (g.step < 0 ? " more micro-batches" : " more layers") + " like the last";
  }

  const answer& a;
  hp::plan_prices prices;
  hp::sharded_program p;
  hp::program_moves moves;
  hp::step_timeline line;
};

}  // namespace decoder_plans
