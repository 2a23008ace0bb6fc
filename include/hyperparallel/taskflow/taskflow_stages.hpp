// SPDX-License-Identifier: Apache-2.0
#pragma once
// Planning at compile time, stage by stage: built, checked, scheduled, proved, simulated, bounded.
//
// Law: each stage is evaluated at most once, and none that nobody asks for; statuses are values, so a plan that cannot
// be proved can be asked why. `static_taskflow` insists on the proof.
//
// A builder is a default-constructible type that writes a flow, see builder.hpp.

#include <cstdint>

#include <hyperparallel/support/diagnostic.hpp>
#include <hyperparallel/taskflow/bounds.hpp>
#include <hyperparallel/taskflow/builder.hpp>
#include <hyperparallel/taskflow/flow_check.hpp>
#include <hyperparallel/taskflow/list_schedule.hpp>
#include <hyperparallel/taskflow/simulate.hpp>
#include <hyperparallel/taskflow/verify.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// `Build`, a structural value, as a builder type.
template <auto Build>
struct builder_of {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    Build(f);
  }
};

/// Bytes of each tier of a rank, the first one fastest.
template <std::int64_t... Bytes>
struct memory_tiers {
  static constexpr int tiers = sizeof...(Bytes);
  static constexpr std::int64_t bytes[sizeof...(Bytes) + 1] = {Bytes...};
};

/// Memory that nothing exceeds: where addresses are checked for sharing alone.
struct unlimited_memory : memory_tiers<INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX> {};

namespace detail {

template <class Hardware, class Indices>
struct memory_of;
template <class Hardware, int... Tier>
struct memory_of<Hardware, indices<Tier...>> {
  using type = memory_tiers<Hardware::device.tier[Tier].bytes...>;
};

}  // namespace detail

/// The tiers of a described device: `memory_of<hp::matrix384>`.
template <class Hardware>
using memory_of =
    typename detail::memory_of<Hardware, typename detail::make_indices<Hardware::device.tier_count>::type>::type;

/// Each stage of planning, evaluated once and only if asked for. A stage whose domain an earlier one has left is empty:
/// its status says so, and it has no times.
template <class Builder, machine_shape Machine, schedule_options Options = schedule_options{},
          class Memory = unlimited_memory>
struct taskflow_stages {
  using builder = Builder;
  using memory = Memory;
  static constexpr machine_shape machine = Machine;
  static constexpr schedule_options options = Options;
  static constexpr int queues = queue_count(Machine);
  static constexpr taskflow_size size = measure(Builder{});
  static constexpr fixed_taskflow<size> flow = build_fixed<size>(Builder{});

  /// What the other stages take for granted, addresses and capacities included.
  static constexpr flow_status structure = check_flow(flow, Machine.ranks, Memory::bytes, Memory::tiers);

 private:
  static constexpr bool sound = structure.code == flow_code::ok;

  static constexpr fixed_schedule<size.tasks, queues> evaluate_schedule() {
    if (!sound) return {};
    return schedule_fixed<queues>(flow, Machine, Options);
  }
  static constexpr schedule_status evaluate_placement() {
    if (!sound || schedule.task_count == size.tasks) return {};
    fixed_schedule<size.tasks, queues> s;
    detail::fixed_schedule_scratch<size, queues> x;
    return list_schedule(flow, Machine, Options, s, x);
  }
  static constexpr verify_status evaluate_safety() {
    if (!sound) return {verify_code::task_count_differs};
    return verify(flow, schedule);
  }
  static constexpr simulated<size.tasks> evaluate_timeline() {
    if (safety.code != verify_code::ok) return {};
    return simulate_fixed(flow, schedule, {Options.synchronisation, false});
  }
  static constexpr makespan_bound evaluate_bound() {
    if (!sound || placement.code != schedule_code::ok) return {};
    detail::fixed_schedule_scratch<size, queues> x;
    return bound_makespan(flow, Machine, Options.synchronisation, x);
  }

 public:
  static constexpr fixed_schedule<size.tasks, queues> schedule = evaluate_schedule();
  static constexpr schedule_status placement = evaluate_placement();
  static constexpr verify_status safety = evaluate_safety();
  static constexpr simulated<size.tasks> timeline = evaluate_timeline();
  static constexpr makespan_bound bound = evaluate_bound();
};

}}  // namespace hyperparallel::v0_2
