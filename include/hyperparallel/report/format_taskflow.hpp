// SPDX-License-Identifier: Apache-2.0
#pragma once
// Taskflows and what is known of them as text: counts, verdicts, times and certificates.
//
// Law: a verdict that is not "ok" names every task, event and slot that it points at; times come with their unit.
// `verdict_text(status, flow, names)` adds the operation, item and rank of the tasks.

#include <string>

#include <hyperparallel/exec/failure.hpp>
#include <hyperparallel/report/format_units.hpp>
#include <hyperparallel/report/queue_name.hpp>
#include <hyperparallel/taskflow/bounds.hpp>
#include <hyperparallel/taskflow/exact_check.hpp>
#include <hyperparallel/taskflow/flow_check.hpp>
#include <hyperparallel/taskflow/list_schedule.hpp>
#include <hyperparallel/taskflow/macro_status.hpp>
#include <hyperparallel/taskflow/simulate.hpp>
#include <hyperparallel/taskflow/verify.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// "text (task 4, event 2)": those of the four that are not negative.
inline std::string blame_text(const char* text, int task, int other, int event, int slot) {
  std::string parts;
  const auto add = [&parts](const char* what, int number) {
    if (number >= 0) parts += (parts.empty() ? "" : ", ") + std::string(what) + " " + std::to_string(number);
  };
  add("task", task);
  add("after task", other);
  add("event", event);
  add("slot", slot);
  return parts.empty() ? text : std::string(text) + " (" + parts + ")";
}

}  // namespace detail

constexpr const char* to_text(resource kind) { return report::name_of(kind); }

/// "2 ranks x (24 AIC, 24 AIV, 1 link, 1 copy)"
inline std::string to_text(const machine_shape& m) {
  std::string pools;
  for (int k = 0; k < resource_count; ++k)
    if (m.queues[k] > 0)
      pools +=
          (pools.empty() ? "" : ", ") + std::to_string(m.queues[k]) + " " + report::name_of(static_cast<resource>(k));
  return std::to_string(m.ranks) + (m.ranks == 1 ? " rank" : " ranks") + " x (" + pools + ")";
}

inline std::string to_text(const taskflow_size& n) {
  return fmt::format("{} tasks, {} waits, {} signals, {} accesses, {} events, {} slots", n.tasks, n.waits, n.signals,
                     n.accesses, n.events, n.slots);
}

inline std::string to_text(const schedule_status& s) { return detail::blame_text(to_text(s.code), s.task, -1, -1, -1); }
inline std::string to_text(const flow_status& s) {
  return detail::blame_text(to_text(s.code), s.task, -1, s.event, s.slot);
}
inline std::string to_text(const verify_status& s) {
  return detail::blame_text(to_text(s.code), s.task, s.other, s.event, s.slot);
}
inline std::string to_text(const exact_status& s) {
  return detail::blame_text(to_text(s.code), s.task, s.other, s.event, s.slot);
}

/// "the outer flow is not safe: two conflicting uses … (instance 2, queue 3, task 4, other 0, slot 1)"
inline std::string to_text(const macro_status& s) {
  std::string said = to_text(s.code), parts;
  if (s.structure != flow_code::ok) said += std::string(": ") + to_text(s.structure);
  if (s.safety != verify_code::ok) said += std::string(": ") + to_text(s.safety);
  const auto add = [&parts](const char* what, int number) {
    if (number >= 0) parts += (parts.empty() ? " (" : ", ") + std::string(what) + " " + std::to_string(number);
  };
  add("instance", s.instance);
  add("queue", s.queue);
  add("task", s.task);
  add("other", s.other);
  add("event", s.event);
  add("slot", s.slot);
  return said + parts + (parts.empty() ? "" : ")");
}

inline std::string to_text(const simulation_result& r) {
  if (r.code != simulation_code::ok) return detail::blame_text(to_text(r.code), r.task, -1, r.event, -1);
  return "makespan " + to_text(report::duration{r.makespan});
}

inline std::string to_text(const exposure& e) {
  return to_text(report::duration{e.exposed}) + " of " + to_text(report::duration{e.busy}) + " exposed, " +
         to_text(report::percent{e.masked_share()}) + " masked";
}

/// Each bound, and the pool that sets the last.
inline std::string to_text(const makespan_bound& b) {
  const std::string pool = b.rank < 0 ? "" : fmt::format(" ({} of rank {})", report::name_of(b.kind), b.rank);
  return "bound " + to_text(report::duration{b.value}) + ": critical path " +
         to_text(report::duration{b.critical_path}) + ", work " + to_text(report::duration{b.work}) +
         ", head + work + tail " + to_text(report::duration{b.head_work_tail}) + pool;
}

inline std::string to_text(const makespan_certificate& c) {
  return to_text(report::duration{c.makespan}) + ", bound " + to_text(report::duration{c.bound}) + ", ratio " +
         to_text(report::ratio{c.ratio()});
}

namespace report {

/// Task `number` of a flow, in words: "task 12: GMM1 3 on rank 0 (AIC)".
template <class Flow>
std::string task_text(const Flow& f, int number, const program_names& names = {}) {
  if (number < 0 || number >= f.size.tasks) return "task " + std::to_string(number);
  return fmt::format("task {}: {} {} on rank {} ({})", number, operation_name(names, f.task[number].operation),
                     f.task[number].item, f.task[number].rank, name_of(f.task[number].kind));
}

/// A verdict with its tasks in words: "two conflicting uses …: task 9: … after task 4: …; slot 3".
/// `Status` is a verify_status or an exact_status.
template <class Status, class Flow>
std::string verdict_text(const Status& s, const Flow& f, const program_names& names = {}) {
  std::string out = hyperparallel::to_text(s.code);
  if (s.task >= 0) out += "; " + task_text(f, s.task, names);
  if (s.other >= 0) out += "; after " + task_text(f, s.other, names);
  if (s.event >= 0) out += "; event " + std::to_string(s.event);
  if (s.slot >= 0) out += "; " + hyperparallel::detail::slot_name(names, s.slot);
  return out;
}

}  // namespace report

}}  // namespace hyperparallel::v0_2
