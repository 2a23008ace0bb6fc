// SPDX-License-Identifier: Apache-2.0
#pragma once
// A taskflow on a machine as one type: built, scheduled and proved by the compiler.
//
//   struct layer { template <class Flow> constexpr void operator()(Flow& f) const; };
//   using plan = hp::static_taskflow<layer, hp::machine_shape{1, {24, 24, 1, 0, 0}}>;
//   static_assert(plan::certificate.ratio() <= 10100);
//
// Law: whatever tells how the plan runs (`schedule`, `timeline`, `certificate`, ...) exists for proved plans only; for
// any other its first use is one error line that names task, event or slot. `size` and `flow` cost no proof.
//
// A builder with `static constexpr const char* operation_name(int)` has tasks named by operation and item.

#include <hyperparallel/support/diagnostic.hpp>
#include <hyperparallel/support/fixed_string.hpp>
#include <hyperparallel/support/lazy_reference.hpp>
#include <hyperparallel/taskflow/taskflow_stages.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace diag {
template <int Number, class... Names>
struct task;
template <int Number, class... Names>
struct after;
template <int>
struct item;
template <int>
struct event;
template <int>
struct slot;
template <int>
struct tier;
template <int>
struct rank;
template <int>
struct threshold;
template <int>
struct signals;
template <std::int64_t>
struct end;
template <std::int64_t>
struct capacity;

template <class Task, class Event>
struct wait_is_never_satisfied;
template <class Task, class Event, class Threshold, class Signals>
struct threshold_is_out_of_range;
template <class Task, class Event, class Signals>
struct partial_threshold_over_several_queues;
template <class Task, class After, class Slot>
struct conflict_is_not_ordered;
template <class Slot, class Tier, class End, class Capacity>
struct slot_is_outside_its_tier;
template <class Slot, class Other>
struct slots_overlap;
template <resource, class Task>
struct no_queue_of_the_class;
template <class Rank, class Task>
struct rank_is_outside_the_machine;
template <flow_code, class Task, class Event, class Slot>
struct taskflow_is_malformed;
template <verify_code, class Task>
struct schedule_is_no_plan_of_the_flow;
}  // namespace diag

namespace detail {

template <class Builder>
concept names_operations = requires { Builder::operation_name(0); };

template <class Stages, int Number>
struct operation_text {
  static constexpr const char* text = Stages::builder::operation_name(Stages::flow.task[Number].operation);
  static constexpr int length = text_length(text);
};

/// `Name<17, alias<'G','M','M'>, item<3>>`, or `Name<17>` where the builder has no names or there is no such task.
template <class Stages, int Number, template <int, class...> class Name,
          bool Named = names_operations<typename Stages::builder> && (Number >= 0)>
struct blamed_number {
  using type = Name<Number>;
};
template <class Stages, int Number, template <int, class...> class Name>
struct blamed_number<Stages, Number, Name, true> {
  using type = Name<Number, spelled<alias, operation_text<Stages, Number>>, diag::item<Stages::flow.task[Number].item>>;
};
template <class Stages, int Number>
using blamed_task = typename blamed_number<Stages, Number, diag::task>::type;
template <class Stages, int Number>
using blamed_after = typename blamed_number<Stages, Number, diag::after>::type;

/// The least threshold that `task` waits for at `event` outside 1 .. `most`: what a status does not repeat.
template <class Flow>
constexpr int blamed_threshold(const Flow& f, int task, int event, int most) {
  for (int w = f.task[task].wait_begin; w < f.task[task].wait_end; ++w)
    if (f.wait[w].event + f.task[task].first_event == event && (f.wait[w].threshold < 1 || f.wait[w].threshold > most))
      return f.wait[w].threshold;
  return 0;
}

template <class Stages, flow_code = Stages::structure.code>
struct structure_verdict {
  static constexpr flow_status status = Stages::structure;
  using type = diag::taskflow_is_malformed<status.code, blamed_task<Stages, status.task>, diag::event<status.event>,
                                           diag::slot<status.slot>>;
};
template <class Stages>
struct structure_verdict<Stages, flow_code::reference_order_is_not_executable> {
  static constexpr flow_status status = Stages::structure;
  using type = diag::wait_is_never_satisfied<blamed_task<Stages, status.task>, diag::event<status.event>>;
};
template <class Stages>
struct structure_verdict<Stages, flow_code::threshold_is_out_of_range> {
  static constexpr flow_status status = Stages::structure;
  static constexpr int signals = Stages::flow.event[status.event].signals;
  using type = diag::threshold_is_out_of_range<
      blamed_task<Stages, status.task>, diag::event<status.event>,
      diag::threshold<blamed_threshold(Stages::flow, status.task, status.event, signals)>, diag::signals<signals>>;
};
template <class Stages>
struct structure_verdict<Stages, flow_code::slot_outside_its_tier> {
  static constexpr int number = Stages::structure.slot;
  static constexpr slot at = Stages::flow.slot[number];
  static constexpr bool exists = at.tier >= 0 && at.tier < Stages::memory::tiers;
  using type = diag::slot_is_outside_its_tier<diag::slot<number>, diag::tier<at.tier>, diag::end<at.offset + at.bytes>,
                                              diag::capacity<exists ? Stages::memory::bytes[exists ? at.tier : 0] : 0>>;
};
template <class Stages>
struct structure_verdict<Stages, flow_code::rank_outside_the_machine> {
  static constexpr int number = Stages::structure.task;
  using type =
      diag::rank_is_outside_the_machine<diag::rank<Stages::flow.task[number].rank>, blamed_task<Stages, number>>;
};
template <class Stages>
struct structure_verdict<Stages, flow_code::slots_overlap> {
  using type = diag::slots_overlap<diag::slot<Stages::structure.slot>, diag::slot<Stages::structure.other>>;
};

template <class Stages, verify_code = Stages::safety.code>
struct safety_verdict {
  using type = diag::schedule_is_no_plan_of_the_flow<Stages::safety.code, blamed_task<Stages, Stages::safety.task>>;
};
template <class Stages>
struct safety_verdict<Stages, verify_code::ok> {
  using type = accepted;
};
template <class Stages>
struct safety_verdict<Stages, verify_code::partial_threshold_over_several_queues> {
  static constexpr verify_status status = Stages::safety;
  static constexpr int signals = Stages::flow.event[status.event].signals;
  using type = diag::partial_threshold_over_several_queues<blamed_task<Stages, status.task>, diag::event<status.event>,
                                                           diag::signals<signals>>;
};
template <class Stages>
struct safety_verdict<Stages, verify_code::conflict_is_not_ordered> {
  static constexpr verify_status status = Stages::safety;
  using type = diag::conflict_is_not_ordered<blamed_task<Stages, status.task>, blamed_after<Stages, status.other>,
                                             diag::slot<status.slot>>;
};

/// The first stage that complains; a stage is looked at only if those before it have nothing to say.
template <class Stages, bool = Stages::placement.code == schedule_code::ok>
struct placed_verdict : safety_verdict<Stages> {};
template <class Stages>
struct placed_verdict<Stages, false> {  // ranks are inside the machine, says the structure
  static constexpr int number = Stages::placement.task;
  using type = diag::no_queue_of_the_class<Stages::flow.task[number].kind, blamed_task<Stages, number>>;
};
template <class Stages, bool = Stages::structure.code == flow_code::ok>
struct taskflow_verdict : placed_verdict<Stages> {};
template <class Stages>
struct taskflow_verdict<Stages, false> : structure_verdict<Stages> {};

/// The stages of a plan that is proved.
template <class Stages>
struct proved_stages : Stages {
  static_assert(insist<typename taskflow_verdict<Stages>::type>::met);
};

}  // namespace detail

/// Whether `static_taskflow` of the same arguments is proved; silent when not.
template <class Builder, machine_shape Machine, schedule_options Options = schedule_options{},
          class Memory = unlimited_memory>
concept safe_taskflow = taskflow_stages<Builder, Machine, Options, Memory>::structure.code == flow_code::ok &&
                        taskflow_stages<Builder, Machine, Options, Memory>::safety.code == verify_code::ok;

/// The flow that `Builder` writes, on the frozen queues of `Machine`, inside `Memory`.
template <class Builder, machine_shape Machine, schedule_options Options = schedule_options{},
          class Memory = unlimited_memory>
struct static_taskflow {
 private:
  using stages = taskflow_stages<Builder, Machine, Options, Memory>;
  using proved = detail::proved_stages<stages>;

 public:
  // Types are written out: to deduce one would evaluate its stage.
  static constexpr machine_shape machine = Machine;
  static constexpr int queues = stages::queues;
  static constexpr taskflow_size size = stages::size;
  static constexpr HYPERPARALLEL_LAZY_REFERENCE(fixed_taskflow<size>) flow = stages::flow;

  static constexpr const fixed_schedule<size.tasks, queues>& schedule = proved::schedule;
  static constexpr HYPERPARALLEL_LAZY_REFERENCE(verify_status) safety = proved::safety;
  static constexpr const simulated<size.tasks>& timeline = proved::timeline;
  static constexpr HYPERPARALLEL_LAZY_REFERENCE(makespan_bound) bound = proved::bound;
  static constexpr std::int64_t makespan = proved::timeline.result.makespan;  ///< picoseconds
  static constexpr makespan_certificate certificate{makespan, proved::bound.value};
};

}}  // namespace hyperparallel::v0_2
