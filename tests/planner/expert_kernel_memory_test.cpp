// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/expert_kernel_memory.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;
using hp::extent_t;

hp::expert_kernel kernel(extent_t rows, extent_t experts, extent_t top_k, int ep, extent_t hidden = 5120,
                         extent_t width = 2048) {
  return {.rows = rows, .hidden = hidden, .width = width, .experts = experts, .top_k = top_k, .ep = ep};
}

// Forward: rows sent and there, the second product there and back; gate, up, activation. Backward: the result's gradient and its
// rows there, rows that were kept, their gradient there and back; gate, up, activation and the gradients of these.
TEST(ExpertKernelMemory, IsWhatTheKernelTouches) {
  int asked = 0;
  for (const int ep : {2, 4, 8})
    for (const extent_t experts : {8, 16, 64})
      for (const extent_t top_k : {1, 2, 8})
        for (const extent_t times : {1, 3})
          for (const extent_t hidden : {64, 5120})
            for (const extent_t width : {48, 2048}) {
              const extent_t rows = times * top_k * experts;
              const hp::expert_kernel k = kernel(rows, experts, top_k, ep, hidden, width);
              const hp::expert_kernel_memory f = memory_of_kernel(k, hp::graph_phase::forward),
                                             b = memory_of_kernel(k, hp::graph_phase::backward);
              ASSERT_TRUE(f.ok && b.ok);
              EXPECT_EQ(f.rows, 2 * rows * (4 * hidden + 3 * width));
              EXPECT_EQ(b.rows, 2 * rows * (5 * hidden + 6 * width));
              EXPECT_EQ(f.weights, 2 * experts / ep * 3 * hidden * width);
              EXPECT_EQ(b.weights, f.weights);
              EXPECT_EQ(f.gradients, 0);
              EXPECT_EQ(b.gradients, f.weights);
              EXPECT_EQ(f.products, 2);
              EXPECT_EQ(b.products, 4);
              EXPECT_EQ(f.vector_operators, 1);
              EXPECT_EQ(b.vector_operators, 1);
              ++asked;
            }
  EXPECT_EQ(asked, 216);
}

// As 910B3 devices report it, with the constants of the report: "Mega kernel memory report" of HyperParallel, commit cc5e1924.
TEST(ExpertKernelMemory, IsWhatDevicesReport) {
  struct row {
    extent_t rows;
    bool backward;
    double mebibytes;
  };
  for (const row& r : {row{1024, false, 669.48}, row{2048, false, 721.48}, row{4096, false, 825.48},
                       row{1024, true, 1191.56}, row{2048, true, 1265.56}, row{4096, true, 1413.56}}) {
    const hp::expert_kernel_memory m =
        memory_of_kernel(kernel(r.rows, 16, 8, 2), r.backward ? hp::graph_phase::backward : hp::graph_phase::forward);
    const extent_t constants = 15'077'472 + 4096 + (r.backward ? 99'615'744 : 95'421'440) + 40'320 * m.products +
                               3936 * m.vector_operators + ((r.backward ? 48 : 32) << 20);
    EXPECT_NEAR(static_cast<double>(m.total() + constants) / (1 << 20) / r.mebibytes, 1.0, 0.3e-4);
  }
}

TEST(ExpertKernelMemory, IsNoneWhereTheLayerIsNotDealtEvenly) {
  EXPECT_TRUE(memory_of_kernel(kernel(1024, 16, 8, 2), hp::graph_phase::forward).ok);
  EXPECT_FALSE(memory_of_kernel(kernel(24, 16, 8, 2), hp::graph_phase::forward).ok);
  EXPECT_FALSE(memory_of_kernel(kernel(1024, 16, 8, 3), hp::graph_phase::forward).ok);
  EXPECT_FALSE(memory_of_kernel(kernel(1024, 16, 17, 2), hp::graph_phase::forward).ok);
  EXPECT_FALSE(memory_of_kernel(kernel(0, 16, 8, 2), hp::graph_phase::forward).ok);
  EXPECT_FALSE(memory_of_kernel(kernel(1024, 16, 8, 0), hp::graph_phase::forward).ok);
}

}  // namespace
