// SPDX-License-Identifier: Apache-2.0
#pragma once
// The clock of a program of several parts as a trace that Perfetto and chrome://tracing open: one process, and for each part
// a row that computes and a row of its link.
//
//   hp::atomic_file file("pipeline.json");
//   hp::report::write_parts_trace(file, lowered, hp::matrix384::device);
//   file.commit();                                        // hp trace pipeline.json --html pipeline.html
//
// A span is what a queue does for one action, from its first task to its last: "3F0" is the forward pass of micro-batch 0 in
// stage 3, "3I0" and "3W0" the two halves of a backward pass that the schedule divides, "3B0" one that it does not; "update" is norm
// and update. A hand-over is a span of its own, named by its tensor. Times are those of the first rank of each part, which all of
// its ranks share. Laws: spans of one row do not overlap; the last one ends at the makespan. O(rows).

#include <string>

#include <hyperparallel/lowering/stage_work.hpp>
#include <hyperparallel/price/clock.hpp>
#include <hyperparallel/report/trace.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace report {

namespace detail {

/// What each step of a program belongs to: "3F0".
class action_labels {
 public:
  explicit action_labels(const sharded_program& p) : p_(p), work_(work_of_steps(p)) {
    for (const program_step& s : p.step) stages_ = s.stage >= stages_ ? s.stage + 1 : stages_;
    const int actions = stages_ * p.graph.micro_batches;
    last_input_.resize(actions, -1);
    first_weight_.resize(actions, p.step.size);
    for (int i = 0; i < p.step.size; ++i) {
      if (work_[i] == stage_work::input_gradient) last_input_[action_of(i)] = i;
      if (work_[i] == stage_work::weight_gradient && first_weight_[action_of(i)] == p.step.size)
        first_weight_[action_of(i)] = i;
    }
  }

  std::string of(int step) const {
    if (work_[step] == stage_work::update) return "update";
    const bool divided =
        last_input_[action_of(step)] >= 0 && last_input_[action_of(step)] < first_weight_[action_of(step)];
    const char* const kind = work_[step] == stage_work::forward          ? "F"
                             : !divided                                  ? "B"
                             : work_[step] == stage_work::input_gradient ? "I"
                                                                         : "W";
    return std::to_string(p_.step[step].stage) + kind + std::to_string(p_.step[step].micro_batch);
  }

 private:
  int action_of(int step) const { return p_.step[step].stage * p_.graph.micro_batches + p_.step[step].micro_batch; }

  const sharded_program& p_;
  growing_array<stage_work> work_;
  int stages_ = 1;
  growing_array<int> last_input_, first_weight_;  ///< step of each action
};

/// Adds a run, whose rows take `prices`; parts are called by number, or by their `names`. Domain: the prices are ok.
template <text_sink Sink>
void add_parts(trace_writer<Sink>& writer, const lowered_program& l, const lowered_run& run, const row_prices& prices,
               int process = 0, const growing_array<short_text>& names = {}) {
  const sharded_program& p = l.program;
  const plan_timeline times = play(run.plan, prices.duration);
  const detail::action_labels labels(p);
  writer.name_process(process, names.empty() ? std::string("pipeline, ") + p.strategy.text + " in each part"
                                             : std::string("groups of ranks"));
  for (int part = 0; part < run.plan.parts(); ++part)
    for (int kind = 0; kind < resource_count; ++kind) {
      if (run.plan.machine.queues[kind] == 0) continue;
      const int row = part * resource_count + kind;
      writer.name_row(process, row,
                      (names.empty() ? "part " + std::to_string(part) : std::string(names[part].text)) + " " +
                          name_of(static_cast<resource>(kind)));
      std::string open;
      extent_t begin = 0, end = 0;
      const auto close = [&] {
        if (!open.empty() && end > begin)
          writer.span(process, row, open, name_of(static_cast<resource>(kind)), begin, end - begin, picosecond_digits,
                      "\"part\":" + std::to_string(part));
        open.clear();
      };
      for (const plan_row& r : run.plan.row) {
        if (r.part != part || static_cast<int>(r.kind) != kind) continue;
        const program_step& s = p.step[r.step];
        const bool handed = s.is_move && hyperparallel::detail::is_hand_over(p, p.move[s.index]);
        const std::string label =
            (handed
                 ? "hand-over of " + std::string(p.graph.name_of_tensor(p.value[p.move[s.index].target].tensor)) + ", "
                 : std::string()) +
            labels.of(r.step);
        if (label != open || handed) {
          close();
          open = label;
          begin = times.begin[r.first_task];
        }
        end = times.end[r.first_task];
      }
      close();
    }
}

}  // namespace detail

/// A whole trace file of a step on a device. False, with nothing written, where a step has no price there.
template <text_sink Sink>
bool write_parts_trace(Sink& sink, const lowered_program& l, const device_value& d,
                       const growing_array<short_text>& names = {}) {
  growing_array<row_prices> prices;
  for (const lowered_run& r : l.run) {
    prices.push(prices_of_rows(l, r, d));
    if (prices.last().code != cost_code::ok) return false;
  }
  trace_writer<Sink> writer(sink);
  for (int i = 0; i < l.run.size; ++i) detail::add_parts(writer, l, l.run[i], prices[i], i, names);
  writer.finish();
  return true;
}

}}}  // namespace hyperparallel::v0_2::report
