// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/move_price.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/layout/layout.hpp>

#include "numeric_world.hpp"

namespace {

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
template <hp::map_entry... Entries>
constexpr hp::layout_value on = hp::layout<mesh, Entries...>::value;
constexpr auto none = hp::none;
constexpr hp::shape s{16, 32};

constexpr hp::extent_t price(const hp::layout_value& a, const hp::layout_value& b) {
  return hp::price_of_move(a, b, s).received;
}

// The native collectives, per device: a ring moves (p - 1) / p of the block in each of its halves.
static_assert(price(on<"dp", none, hp::partial("tp")>, on<"dp", none>) == 2 * 8 * 32 * 3 / 4);
static_assert(price(on<"dp", none, hp::partial("tp")>, on<"dp", "tp">) == 8 * 32 * 3 / 4);
static_assert(price(on<none, "tp">, on<none, none>) == 16 * 32 * 3 / 4);
// Where dp only replicates, its two devices share the work: each reduces half of what it would have to.
static_assert(price(on<none, none, hp::partial("tp")>, on<none, "tp">) == 3 * 64 + 64);
static_assert(price(on<none, none, hp::partial("tp")>, on<none, none>) == 3 * 64 + 7 * 64);
// What moves nothing: slices, fills, and partial states that stay.
static_assert(price(on<none, none>, on<"dp", "tp">) == 0);
static_assert(price(on<none, none>, on<none, none, hp::partial("tp")>) == 0);
static_assert(price(on<"dp", none, hp::partial("tp")>, on<"dp", none, hp::partial("tp")>) == 0);
static_assert(price(on<none, "tp">, on<none, none, hp::partial("tp")>) == 0);
// A sum becomes a maximum once it is reduced. Sums and maxima that wait together have no value.
static_assert(price(on<"dp", none, hp::partial("tp")>, on<"dp", none, hp::partial("tp", hp::reduce_op::max)>) ==
              2 * 8 * 32 * 3 / 4);
static_assert(!hp::price_of_move(on<none, none, hp::partial("dp"), hp::partial("tp", hp::reduce_op::max)>,
                                 on<none, none>, s)
                   .possible);

TEST(MovePrice, PartialFreePricesAreTheLowerBoundOfEveryPair) {
  for (const hp::layout_value& a : numeric::all_layouts(on<none, none>.mesh, 2))
    for (const hp::layout_value& b : numeric::all_layouts(on<none, none>.mesh, 2)) {
      if (hp::is_partial(a) || hp::is_partial(b)) continue;
      const hp::move_price p = hp::price_of_move(a, b, s);
      ASSERT_TRUE(p.possible);
      EXPECT_EQ(p.received, hp::enumerate_bound(a, b, s).maximum);
    }
}

/// Element by element: g terms have to meet, which takes g - 1 messages, c copies have to be there, which takes c - 1
/// more, and one less of them all where the first copy may be made at a device that holds a term and wants it.
TEST(MovePrice, ReducedPricesAreAtOrAboveTheElementWiseBound) {
  for (const hp::layout_value& a : numeric::all_layouts(on<none, none>.mesh, 2))
    for (const hp::layout_value& b : numeric::all_layouts(on<none, none>.mesh, 2)) {
      if (!hp::is_partial(a) || hp::is_partial(b)) continue;
      hp::extent_t terms = 1, least = 0;
      for (int axis = 0; axis < 2; ++axis)
        if (a.partial[axis] != hp::reduce_op::none) terms *= a.mesh.size[axis];
      std::vector<int> copies(16 * 32), held(16 * 32);
      const int positions = hp::position_count(a.mesh);
      for (int p = 0; p < positions; ++p) {
        const hp::coordinate c = hp::coordinates_of(a.mesh, p);
        const hp::box wanted = hp::slice_at(b, s, c);
        numeric::for_each_in(wanted, s, [&](std::size_t e) { ++copies[e]; });
        numeric::for_each_in(hp::intersection(wanted, hp::slice_at(a, s, c)), s, [&](std::size_t e) { ++held[e]; });
      }
      for (std::size_t e = 0; e < copies.size(); ++e) least += terms - 1 + copies[e] - 1 + (held[e] > 0 ? 0 : 1);
      const hp::move_price p = hp::price_of_move(a, b, s);
      ASSERT_TRUE(p.possible);
      EXPECT_GE(p.received * positions, least);
    }
}

}  // namespace
