// SPDX-License-Identifier: Apache-2.0
// The stages against the functions that they call, their statuses for plans that cannot be proved, and what nobody asks
// for.

#include <gtest/gtest.h>

#include <type_traits>

#include <hyperparallel/hardware/presets.hpp>

#include "flows.hpp"

namespace {

using namespace taskflow_test;

constexpr moe_tiles tiles{3, 1, 2};
constexpr hp::machine_shape machine{1, {3, 2, 1, 0, 0}};
constexpr hp::schedule_options options{hp::priority::reference_order, 2000};
using stages = hp::taskflow_stages<hp::builder_of<tiles>, machine, options, hp::memory_tiers<8 * 8192>>;

static_assert(stages::queues == 6 && stages::size == hp::measure(tiles) && stages::flow.size == stages::size);
static_assert(stages::structure == hp::flow_status{} && stages::placement == hp::schedule_status{});
static_assert(stages::safety == hp::verify_status{});
constexpr auto schedule = hp::schedule_fixed<6>(stages::flow, machine, options);
constexpr auto timeline = hp::simulate_fixed(stages::flow, schedule, {2000, false});
static_assert(stages::timeline.result == timeline.result && stages::timeline.communication == timeline.communication);
constexpr hp::makespan_bound bound() {
  hp::detail::fixed_schedule_scratch<stages::size, 6> x;
  return hp::bound_makespan(stages::flow, machine, 2000, x);
}
static_assert(stages::bound == bound() && stages::bound.value <= stages::timeline.result.makespan);

TEST(TaskflowStages, TheScheduleIsThatOfTheScheduler) {
  for (int t = 0; t < stages::size.tasks; ++t) {
    EXPECT_EQ(stages::schedule.order[t], schedule.order[t]);
    EXPECT_EQ(stages::schedule.queue[t], schedule.queue[t]);
    EXPECT_EQ(stages::schedule.queue_task[t], schedule.queue_task[t]);
    EXPECT_EQ(stages::timeline.line.end[t], timeline.line.end[t]);
  }
}

// A byte too few.
using cramped = hp::taskflow_stages<hp::builder_of<tiles>, machine, options, hp::memory_tiers<8 * 8192 - 1>>;
static_assert(cramped::structure == hp::flow_status{hp::flow_code::slot_outside_its_tier, -1, -1, 7});
static_assert(cramped::safety.code != hp::verify_code::ok);
static_assert(cramped::placement == hp::schedule_status{} && cramped::schedule.task_count == 0);
static_assert(cramped::bound == hp::makespan_bound{} && cramped::timeline.result.makespan == 0);

// No link.
using unlinked = hp::taskflow_stages<hp::builder_of<tiles>, hp::machine_shape{1, {3, 2, 0, 0, 0}}>;
static_assert(unlinked::structure == hp::flow_status{});
static_assert(unlinked::placement == hp::schedule_status{hp::schedule_code::no_queue_of_the_class, 0});
static_assert(unlinked::safety.code == hp::verify_code::task_count_differs);
static_assert(unlinked::bound == hp::makespan_bound{} && unlinked::timeline.result.makespan == 0);

/// Two tasks whose order matters and is left open; no flow can be filled when `Asked` is false.
template <bool Asked>
struct race {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const int buffer = hp::add_slot(f, 0, 0, 0, 8);
    hp::add_task(f, hp::resource::aic, 0, 10, 0, 0);
    hp::add_access(f, buffer, 0, 8, hp::access_mode::write);
    hp::add_task(f, hp::resource::aiv, 0, 10, 1, 0);
    hp::add_access(f, buffer, 0, 8, hp::access_mode::read);
    if constexpr (Flow::stores && !Asked) static_assert(sizeof(Flow) == 0, "the filling pass was asked for");
  }
};
using racing = hp::taskflow_stages<race<true>, machine>;
static_assert(racing::structure == hp::flow_status{});
static_assert(racing::safety == hp::verify_status{hp::verify_code::conflict_is_not_ordered, 1, 0, -1, 0});
static_assert(racing::timeline.result.makespan == 0 && racing::bound.value == 10);

// The size alone costs no filling pass.
static_assert(hp::taskflow_stages<race<false>, machine>::size.tasks == 2);

static_assert(
    std::is_same_v<hp::memory_of<hp::matrix384>,
                   hp::memory_tiers<hp::matrix384::device.tier[0].bytes, hp::matrix384::device.tier[1].bytes>>);

}  // namespace
