// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/kernel.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace {

namespace hp = hyperparallel;

// A call is a record that a plan can hold in bulk, and a captureless lambda is a kernel.
static_assert(std::is_trivially_copyable_v<hp::kernel_call> && std::is_aggregate_v<hp::kernel_call>);
static_assert(std::is_convertible_v<decltype([](const hp::kernel_call&) {}), hp::kernel>);
static_assert(hp::program_names{}.operations == 0 && hp::program_names{}.slot == nullptr);

TEST(Kernel, TheCallReachesTheFunctionWhole) {
  int sum = 0;
  const hp::kernel k = [](const hp::kernel_call& c) {
    *static_cast<int*>(c.user) = c.rank + 10 * c.task + 100 * c.operation + 1000 * c.item;
  };
  k({1, 2, 3, 4, &sum});
  EXPECT_EQ(sum, 4321);
}

TEST(Kernel, AKernelThatIsToldToStopLeavesANote) {
  hp::run_condition run;
  run.why = hp::detail::run_end::running;
  const hp::kernel_call c{0, 0, 0, 0, nullptr, &run};
  EXPECT_FALSE(c.stopping());
  EXPECT_FALSE(run.noticed);
  run.why = hp::detail::run_end::cancelled;
  EXPECT_FALSE(run.noticed);
  EXPECT_TRUE(c.stopping());
  EXPECT_TRUE(run.noticed);
  EXPECT_FALSE((hp::kernel_call{0, 0, 0, 0, nullptr}).stopping()) << "a call outside any run";
}

}  // namespace
