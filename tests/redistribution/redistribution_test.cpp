// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/redistribution.hpp>

#include <gtest/gtest.h>

#include "redistribution/frozen_pairs.hpp"

namespace {

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"cp", 2}, hp::axis{"tp", 4}> {};
struct other : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using x = hp::layout<mesh, "dp", hp::none, hp::axes("cp", "tp")>;
using y = hp::layout<mesh, hp::none, "cp", "tp">;
using tokens = hp::tensor<hp::bf16, 8, 4096, 7168>;
using move = hp::redistribution<x, y, tokens>;

static_assert(move::bytes_received == move::lower_bound && move::steps == 1);
static_assert(move::peak_bytes == 2 * (tokens::elements / 16 + tokens::elements / 8));
static_assert(hp::redistribution<x, x, tokens>::kind == hp::plan_kind::no_op);
static_assert(hp::local_shape_of<x, tokens> == hp::shape{4, 4096, 896});

static_assert(hp::redistributable<x, y, tokens> && hp::places<x, tokens>);
static_assert(!hp::redistributable<x, hp::layout<other, "dp", hp::none, "tp">, tokens>, "meshes differ");

// Terms meet: a native pair is named so, and its busiest rank receives no more than the average must.
using terms = hp::layout<mesh, "dp", "cp", hp::none, hp::partial("tp")>;
using scattered = hp::redistribution<terms, hp::layout<mesh, "dp", "cp", "tp">, tokens>;
static_assert(scattered::kind == hp::plan_kind::reduce_scatter && scattered::steps == 1);
static_assert(scattered::bytes_received == scattered::lower_bound);
static_assert(scattered::bytes_received == 2 * (tokens::elements / 4) * 3 / 4);
using reduced = hp::redistribution<terms, hp::layout<mesh, "dp", "cp", hp::none>, tokens>;
static_assert(reduced::kind == hp::plan_kind::all_reduce && reduced::steps == 2);
static_assert(reduced::bytes_received == 2 * scattered::bytes_received);
static_assert(reduced::certificate.received_total == reduced::certificate.least_total);
static_assert(reduced::certificate.sent_maximum == reduced::certificate.received_maximum);
// A shard is a term beside identities: becoming partial moves nothing.
using filled =
    hp::redistribution<x, hp::layout<mesh, "dp", hp::none, hp::none, hp::partial("cp"), hp::partial("tp")>, tokens>;
static_assert(filled::kind == hp::plan_kind::fill && filled::steps == 0 && filled::bytes_received == 0);
static_assert(!hp::redistributable<
              hp::layout<mesh, hp::none, hp::none, hp::none, hp::partial("cp", hp::reduce_op::max), hp::partial("tp")>,
              hp::layout<mesh, "dp", hp::none, hp::none>, tokens>);
static_assert(!hp::places<x, hp::tensor<hp::bf16, 8, 4096, 7170>> && !hp::places<x, hp::tensor<hp::bf16, 8, 4096>>);
static_assert(!hp::redistributable<x, y, hp::tensor<hp::bf16, 8, 4096, 7170>>);

TEST(redistribution, bytes_are_elements_at_the_tensors_type) {
  const hp::redistribution_plan p = hp::plan_redistribution(x::value, y::value, tokens::shape);
  EXPECT_EQ(move::bytes_received, 2 * p.received_maximum);
  EXPECT_EQ(move::lower_bound, 2 * p.lower_bound);
  EXPECT_EQ(move::messages, p.messages);
  EXPECT_EQ((hp::redistribution<x, y, hp::tensor<hp::f32, 8, 4096, 7168>>::bytes_received), 2 * move::bytes_received);
}

TEST(redistribution, the_program_finds_what_the_compiler_found) {
  for (int i = 0; i < frozen::pair_count; ++i) {
    frozen::pair input = frozen::pairs[i];
    // The optimizer must not see the constant through the copy.
    asm volatile("" : : "r"(&input) : "memory");
    EXPECT_TRUE(frozen::examine(input) == frozen::compiled.of[i]) << "pair " << i;
  }
}

TEST(redistribution, the_frozen_table_holds_every_outcome) {
  bool kinds[6] = {}, refused = false, interval = false;
  for (const frozen::findings& f : frozen::compiled.of) {
    if (f.plan != hp::plan_code::ok || f.from.code != hp::layout_code::ok) {
      refused = true;
      continue;
    }
    kinds[static_cast<int>(f.kind)] = true;
    interval = interval || !f.refined;
  }
  EXPECT_TRUE(refused && interval);
  EXPECT_TRUE(
      kinds[static_cast<int>(hp::plan_kind::local_slice)] && kinds[static_cast<int>(hp::plan_kind::all_to_all)] &&
      kinds[static_cast<int>(hp::plan_kind::collective_permute)] && kinds[static_cast<int>(hp::plan_kind::exchange)]);
}

}  // namespace
