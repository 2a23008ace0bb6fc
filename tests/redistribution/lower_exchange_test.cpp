// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <hyperparallel/layout/layout.hpp>
#include <hyperparallel/redistribution/lower_exchange.hpp>
#include <hyperparallel/taskflow/list_schedule.hpp>
#include <hyperparallel/taskflow/verify.hpp>

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"x", 2}, hp::axis{"y", 2}> {};
using rows = hp::layout<mesh, hp::axes("x", "y"), hp::none>;
using columns = hp::layout<mesh, hp::none, hp::axes("y", "x")>;

constexpr hp::shape shape{8, 12};
constexpr hp::exchange_flow move{
    rows::value, columns::value, shape, hp::plan_redistribution(rows::value, columns::value, shape), 2, 5};
constexpr auto size = hp::measure(move);
constexpr auto flow = hp::build_fixed<size>(move);
constexpr hp::machine_shape machine{4, {0, 0, 1, 0, 0}};
constexpr auto schedule = hp::schedule_fixed<4>(flow, machine);

static_assert(size.tasks == 4 && size.slots == 8);
static_assert(hp::verify(flow, schedule).code == hp::verify_code::ok);

TEST(lower_exchange, a_receiver_reads_each_of_its_senders_and_writes_its_own_block) {
  for (int p = 0; p < 4; ++p) {
    const hp::task& t = flow.task[p];
    EXPECT_EQ(t.rank, p);
    EXPECT_EQ(t.access_end - t.access_begin, 5);  // four senders, itself included, and the target
    EXPECT_EQ(flow.access[t.access_end - 1].slot, 4 + p);
    EXPECT_EQ(t.duration, 18 * 2 * 5);  // 18 of its 24 elements come from others
  }
}

TEST(lower_exchange, blocks_of_one_rank_do_not_overlap) {
  for (int p = 0; p < 4; ++p) {
    EXPECT_GE(flow.slot[4 + p].offset, flow.slot[p].offset + flow.slot[p].bytes);
    EXPECT_GE(flow.slot[p].bytes, 24 * 2);
  }
}

}  // namespace
