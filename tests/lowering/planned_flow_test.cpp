// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <hyperparallel/lowering/planned_flow.hpp>

namespace hp = hyperparallel;

namespace {

/// n tasks, each after the one before it, alternating between the classes.
struct chain {
  int n;
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const int first = f.size.events;
    for (int i = 0; i < n; ++i) hp::add_event(f, 0);
    const int slot = hp::add_slot(f, 0, 0, 0, 64);
    for (int i = 0; i < n; ++i) {
      hp::add_task(f, i % 2 == 0 ? hp::resource::aic : hp::resource::aiv, 0, 100, 0, i);
      if (i > 0) hp::add_wait(f, first + i - 1);
      hp::add_signal(f, first + i);
      hp::add_access(f, slot, 0, 64, hp::access_mode::write);
    }
  }
};

constexpr hp::machine_shape two{1, {1, 1, 0, 0, 0}};

TEST(planned_flow, plans_proves_and_times_a_chain) {
  for (int n : {1, 2, 17, 1000}) {
    hp::planned_flow p(chain{n}, two, {hp::priority::upward_rank, 7});
    ASSERT_EQ(p.scheduled().code, hp::schedule_code::ok);
    EXPECT_EQ(p.verify().code, hp::verify_code::ok);
    const std::int64_t length = 100 * n + 7 * (n - 1);
    EXPECT_EQ(p.simulate().result.makespan, length);
    EXPECT_EQ(p.bound().value, length);
    EXPECT_EQ(p.timeline().end[n - 1], length);
  }
}

TEST(planned_flow, an_empty_flow_is_a_plan) {
  hp::planned_flow p(chain{0}, two, {});
  EXPECT_EQ(p.scheduled().code, hp::schedule_code::ok);
  EXPECT_EQ(p.verify().code, hp::verify_code::ok);
  EXPECT_EQ(p.simulate().result.makespan, 0);
}

TEST(planned_flow, says_which_task_finds_no_queue) {
  hp::planned_flow p(chain{3}, {1, {1, 0, 0, 0, 0}}, {});
  EXPECT_EQ(p.scheduled(), (hp::schedule_status{hp::schedule_code::no_queue_of_the_class, 1}));
}

}  // namespace
