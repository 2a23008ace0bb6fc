// SPDX-License-Identifier: Apache-2.0
// The type of a proved plan has what its stages have; what an unproved one says is in tests/compile_fail/taskflow.

#include <gtest/gtest.h>

#include <type_traits>

#include "flows.hpp"

namespace {

using namespace taskflow_test;

constexpr hp::machine_shape machine{2, {3, 2, 1, 0, 0}};
constexpr hp::schedule_options options{hp::priority::upward_rank, 2000};
using builder = hp::builder_of<moe_tiles{4, 2, 1}>;
using plan = hp::static_taskflow<builder, machine, options>;
using stages = hp::taskflow_stages<builder, machine, options>;

static_assert(plan::machine == machine && plan::queues == 12 && plan::size == stages::size);
static_assert(plan::safety == hp::verify_status{});
static_assert(plan::makespan == stages::timeline.result.makespan && plan::bound == stages::bound);
static_assert(plan::certificate == hp::makespan_certificate{plan::makespan, plan::bound.value});
static_assert(plan::certificate.ratio() >= 10000);

TEST(StaticTaskflow, EachStageIsThereOnce) {
  EXPECT_EQ(&plan::flow, &stages::flow);
  EXPECT_EQ(&plan::schedule, &stages::schedule);
  EXPECT_EQ(&plan::timeline, &stages::timeline);
  EXPECT_EQ(&plan::safety, &stages::safety);
  EXPECT_EQ(&plan::bound, &stages::bound);
}

/// Waits `Waits` times for one signal, in a buffer of `Bytes` bytes.
template <int Waits, int Bytes = 8, bool Named = false>
struct two_tasks {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const int written = hp::add_event(f, 0), buffer = hp::add_slot(f, 0, 0, 0, Bytes);
    hp::add_task(f, hp::resource::aic, 0, 10, 0, 4);
    hp::add_signal(f, written);
    hp::add_access(f, buffer, 0, 8, hp::access_mode::write);
    hp::add_task(f, hp::resource::aiv, 0, 10, 1, 5);
    if (Waits > 0) hp::add_wait(f, written, Waits);
    hp::add_access(f, buffer, 0, 8, hp::access_mode::read);
  }
};
struct named : two_tasks<0> {
  static constexpr const char* operation_name(int operation) { return operation == 0 ? "put" : "get"; }
};

template <class Builder, class Memory = hp::unlimited_memory, hp::machine_shape Machine = machine>
using verdict_of =
    typename hp::detail::taskflow_verdict<hp::taskflow_stages<Builder, Machine, hp::schedule_options{}, Memory>>::type;
template <class Builder, class Verdict, class Memory = hp::unlimited_memory, hp::machine_shape Machine = machine>
constexpr bool says = std::is_same_v<verdict_of<Builder, Memory, Machine>, Verdict>;

namespace no = hp::diag;
static_assert(says<two_tasks<1>, hp::accepted>);
static_assert(says<two_tasks<0>, no::conflict_is_not_ordered<no::task<1>, no::after<0>, no::slot<0>>>);
static_assert(
    says<named, no::conflict_is_not_ordered<no::task<1, hp::alias<'g', 'e', 't'>, no::item<5>>,
                                            no::after<0, hp::alias<'p', 'u', 't'>, no::item<4>>, no::slot<0>>>);
static_assert(
    says<two_tasks<3>, no::threshold_is_out_of_range<no::task<1>, no::event<0>, no::threshold<3>, no::signals<1>>>);
static_assert(
    says<two_tasks<1, 4>,
         no::taskflow_is_malformed<hp::flow_code::access_outside_its_slot, no::task<0>, no::event<-1>, no::slot<0>>>);
static_assert(says<two_tasks<1>, no::slot_is_outside_its_tier<no::slot<0>, no::tier<0>, no::end<8>, no::capacity<7>>,
                   hp::memory_tiers<7>>);
static_assert(says<two_tasks<1>, no::slot_is_outside_its_tier<no::slot<0>, no::tier<0>, no::end<8>, no::capacity<0>>,
                   hp::memory_tiers<>>);
static_assert(says<two_tasks<1>, no::no_queue_of_the_class<hp::resource::aiv, no::task<1>>, hp::unlimited_memory,
                   hp::machine_shape{1, {1, 0, 0, 0, 0}}>);
static_assert(says<two_tasks<1>, no::rank_is_outside_the_machine<no::rank<0>, no::task<0>>, hp::unlimited_memory,
                   hp::machine_shape{0, {1, 1, 0, 0, 0}}>);
static_assert(hp::safe_taskflow<two_tasks<1>, machine> && !hp::safe_taskflow<two_tasks<0>, machine>);
static_assert(!hp::safe_taskflow<two_tasks<1>, hp::machine_shape{1, {1, 0, 0, 0, 0}}>);
static_assert(!hp::safe_taskflow<two_tasks<1>, machine, hp::schedule_options{}, hp::memory_tiers<7>>);

}  // namespace
