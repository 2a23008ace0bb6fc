// SPDX-License-Identifier: Apache-2.0
#pragma once
// The proof that a plan asks for before it runs the first time, and the words for those who do without.
//
//   hp::taskflow_world world(flow, schedule);                  // proved here, once; throws unsafe_plan_error
//   hp::taskflow_world world(hp::proved_plan<my_taskflow>{});  // a static_taskflow: the compiler has proved it
//   hp::taskflow_world world(hp::unchecked, flow, schedule);   // runs without a proof
//
// The proof is `check_flow`, then the local rule of verify.hpp. Law: the rule may refuse a safe plan, it never accepts
// an unsafe one. Complexity: that of the two, once for each executor; runs cost nothing more.

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <hyperparallel/exec/bound_plan.hpp>
#include <hyperparallel/taskflow/flow_check.hpp>
#include <hyperparallel/taskflow/owned.hpp>
#include <hyperparallel/taskflow/verify.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Says that a plan runs without proof: a race of its tasks is the caller's to exclude.
struct unchecked_t {
  explicit unchecked_t() = default;
};
inline constexpr unchecked_t unchecked{};

/// The plan of a `static_taskflow`, whose type holds the proof: nothing is proved again.
template <class Taskflow, execution_options Options = execution_options{}>
struct proved_plan : constant_plan<Taskflow::flow, Taskflow::schedule, Options> {
  static_assert(Taskflow::safety.code == verify_code::ok, "the taskflow is not proved");
};

/// A plan that is not proved safe. One of the statuses says why.
struct unsafe_plan_error : bind_error {
  flow_status flow;
  verify_status safety;
  unsafe_plan_error(const std::string& what, const flow_status& f, const verify_status& s)
      : bind_error("the plan is not proved safe: " + what + "; hp::unchecked runs it without proof"),
        flow(f),
        safety(s) {}
};

namespace detail {

template <class Flow>
std::string task_in_words(const Flow& f, int number, const program_names& names) {
  if (number < 0 || number >= f.size.tasks) return "task " + std::to_string(number);
  return to_text(named_task{number, f.task[number].rank, operation_name(names, f.task[number].operation)});
}

template <class Flow>
std::string reason_of(const Flow& f, const flow_status& s, const program_names& names) {
  std::string text = to_text(s.code);
  if (s.task >= 0) text += ", " + task_in_words(f, s.task, names);
  if (s.event >= 0) text += ", event " + std::to_string(s.event);
  if (s.slot >= 0) text += ", " + slot_name(names, s.slot);
  if (s.other >= 0) text += " and " + slot_name(names, s.other);
  return text;
}

template <class Flow>
std::string reason_of(const Flow& f, const verify_status& s, const program_names& names) {
  if (s.code == verify_code::conflict_is_not_ordered)
    return task_in_words(f, s.task, names) + " and " + task_in_words(f, s.other, names) + " use " +
           slot_name(names, s.slot) + ", one of them writes, and no wait of the first follows the second";
  std::string text = to_text(s.code);
  if (s.task >= 0) text += ", " + task_in_words(f, s.task, names);
  if (s.other >= 0) text += " after " + task_in_words(f, s.other, names);
  if (s.event >= 0) text += ", event " + std::to_string(s.event);
  if (s.slot >= 0) text += ", " + slot_name(names, s.slot);
  return text;
}

/// Whether the schedule has the order that the rule follows; one that is put together by hand may have none.
template <class Schedule>
bool has_order(const Schedule& s) {
  if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(s.order)>>)
    return s.order != nullptr || s.task_count == 0;
  else
    return true;
}

}  // namespace detail

/// Throws unsafe_plan_error unless the plan is proved safe on tiers without limit: task, event, slot, and the order that
/// is missing. Domain: a bound_plan can be made of it.
template <class Flow, class Schedule>
void prove_plan(const Flow& f, const Schedule& s, const program_names& names = {}) {
  int tiers = 0;
  for (int i = 0; i < f.size.slots; ++i)
    if (f.slot[i].tier >= tiers) tiers = f.slot[i].tier + 1;
  const std::vector<std::int64_t> unlimited(detail::at(tiers), std::numeric_limits<std::int64_t>::max());
  detail::owned_flow_scratch x(f.size);
  const flow_status whole = check_flow(f, s.machine.ranks, unlimited.data(), tiers, x);
  if (whole.code != flow_code::ok) throw unsafe_plan_error(detail::reason_of(f, whole, names), whole, {});
  if (!detail::has_order(s)) throw unsafe_plan_error("the schedule has no order", {}, {});
  detail::owned_verify_scratch y(f.size, queue_count(s.machine));
  const verify_status safe = verify(f, s, y);
  if (safe.code != verify_code::ok) throw unsafe_plan_error(detail::reason_of(f, safe, names), {}, safe);
}

namespace detail {

/// Bound, then proved. Throws bind_error.
template <class Flow, class Schedule>
bound_plan bound_and_proved(const Flow& f, const Schedule& s, const program_names& names) {
  bound_plan p(f, s);
  prove_plan(f, s, names);
  return p;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
