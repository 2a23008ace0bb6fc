// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/mesh_change.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;

struct first_half : hp::on_ranks<hp::device_matrix<hp::axis{"tp", 4}>, 0, 1, 2, 3> {};
struct second_half : hp::on_ranks<hp::device_matrix<hp::axis{"tp", 4}>, 4, 5, 6, 7> {};
struct square : hp::device_matrix<hp::axis{"x", 2}, hp::axis{"y", 2}> {};
struct line : hp::device_matrix<hp::axis{"z", 4}> {};
using matrix = hp::tensor<hp::bf16, 64, 32>;
constexpr auto none = hp::none;

// Between pipeline stages nobody holds anything: every rank receives its whole slice.
using handover = hp::mesh_change<hp::layout<first_half, "tp", none>, hp::layout<second_half, none, "tp">, matrix>;
static_assert(handover::steps == 1 && handover::bytes_received == 2 * 64 * 32 / 4);
static_assert(handover::bytes_received == handover::lower_bound);

// Another matrix over the same ranks that means the same: a view.
using view = hp::mesh_change<hp::layout<square, hp::axes("x", "y"), none>, hp::layout<line, "z", none>, matrix>;
static_assert(view::kind == hp::plan_kind::no_op && view::steps == 0 && view::bytes_received == 0);

// So is a reshape that keeps every slice in its place, and one that does not is at the bound.
using flat = hp::tensor<hp::bf16, 64 * 32>;
using reshaped = hp::mesh_change<hp::layout<line, "z", none>, hp::layout<line, "z">, matrix, flat>;
static_assert(reshaped::bytes_received == 0);
using turned = hp::mesh_change<hp::layout<line, none, "z">, hp::layout<line, "z">, matrix, flat>;
static_assert(turned::bytes_received == 2 * 64 * 32 / 4 * 3 / 4 && turned::bytes_received == turned::lower_bound);

// Terms of one stage meet on their way to the next: all three other terms and the own one are received.
using summed =
    hp::mesh_change<hp::layout<first_half, none, none, hp::partial("tp")>, hp::layout<second_half, "tp", none>, matrix>;
static_assert(summed::kind == hp::plan_kind::reduction && summed::steps == 1);
static_assert(summed::certificate.received_total == summed::certificate.least_total);
static_assert(summed::bytes_received == 4 * (2 * 64 * 32 / 4));

static_assert(hp::mesh_changeable<hp::layout<line, "z", none>, hp::layout<square, "x", "y">, matrix>);
static_assert(
    !hp::mesh_changeable<hp::layout<line, "z", none>, hp::layout<line, "z">, matrix, hp::tensor<hp::bf16, 64>>);
static_assert(
    !hp::mesh_changeable<hp::layout<line, "z", none>, hp::layout<line, "z">, matrix, hp::tensor<hp::f32, 1024>>);
static_assert(
    !hp::mesh_changeable<hp::layout<line, "z", none>, hp::layout<square, "x", "y">, hp::tensor<hp::bf16, 6, 4>>);

TEST(mesh_change, the_program_finds_what_the_compiler_found) {
  hp::tensor_side from = hp::detail::side_on_ranks<hp::layout<line, none, "z">, matrix>;
  hp::tensor_side to = hp::detail::side_on_ranks<hp::layout<line, "z">, flat>;
  asm volatile("" : : "r"(&from), "r"(&to) : "memory");
  const hp::relocation r = hp::plan_relocation(from, to);
  hp::extent_t tally[64] = {};
  ASSERT_LE(hp::tally_size(r), 64);
  EXPECT_TRUE(hp::certify(r, tally) == turned::certificate);
}

}  // namespace
