// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/padded_move.hpp>

#include <vector>

#include <gtest/gtest.h>

#include "../support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

/// Flat places of a box in a row-major shape, in order.
std::vector<hp::extent_t> places_of(const hp::box& b, const hp::shape& s) {
  std::vector<hp::extent_t> all;
  if (hp::volume(b) == 0) return all;
  hp::extent_t at[hp::max_dims];
  for (int d = 0; d < s.rank; ++d) at[d] = b.dim[d].begin;
  for (;;) {
    hp::extent_t flat = 0;
    for (int d = 0; d < s.rank; ++d) flat = flat * s.extent[d] + at[d];
    all.push_back(flat);
    int d = s.rank - 1;
    for (; d >= 0 && ++at[d] == b.dim[d].end; --d) at[d] = b.dim[d].begin;
    if (d < 0) return all;
  }
}

/// Of every box of every small shape, for every end: each element that is there once, no other, in at most as many boxes
/// as there are dims.
TEST(padded_move, visits_what_is_there_once) {
  int boxes = 0;
  for (const hp::shape& s :
       {hp::shape(12), hp::shape(3, 4), hp::shape(2, 3, 4), hp::shape(2, 2, 3, 2), hp::shape(1, 4, 3)})
    for (int first = 0; first < s.rank; ++first) {
      hp::extent_t period = 1;
      for (int d = first; d < s.rank; ++d) period *= s.extent[d];
      for (hp::extent_t limit = 1; limit < period; ++limit) {
        const hp::move_padding padding{period, limit};
        for (unsigned corner = 0; corner < 1U << (2 * s.rank); ++corner) {
          hp::box b;
          b.rank = s.rank;
          for (int d = 0; d < s.rank; ++d)
            b.dim[d] = {static_cast<hp::extent_t>(corner >> (2 * d) & 1U),
                        s.extent[d] - static_cast<hp::extent_t>(corner >> (2 * d + 1) & 1U)};
          std::vector<int> seen(static_cast<std::size_t>(hp::element_count(s).value));
          int visits = 0;
          hp::detail::visit_what_is_there(b, s, padding, [&](const hp::box& part) {
            ++visits;
            for (const hp::extent_t place : places_of(part, s)) ++seen[static_cast<std::size_t>(place)];
          });
          std::vector<int> expected(seen.size());
          for (const hp::extent_t place : places_of(b, s))
            expected[static_cast<std::size_t>(place)] = place % period < limit ? 1 : 0;
          ASSERT_EQ(seen, expected);
          ASSERT_LE(visits, s.rank);
          boxes += visits;
        }
      }
    }
  EXPECT_GT(boxes, 1000);
}

/// A block of the longer tensor without what is not there is the tensor's own, element for element.
TEST(padded_move, blocks_of_the_longer_tensor_are_the_tensors_own) {
  int pairs = 0;
  for (const hp::mesh_shape& m : {hp::mesh_shape{1, {6}}, hp::mesh_shape{2, {2, 3}}, hp::mesh_shape{2, {4, 2}}}) {
    std::vector<hp::layout_value> layouts = worlds::all_layouts(m, 2);
    for (hp::layout_value& l : layouts) l.padded = 3;
    for (const hp::shape& s : {hp::shape(7, 5), hp::shape(4, 9), hp::shape(1, 13), hp::shape(8, 3)})
      for (const hp::layout_value& source : layouts)
        for (const hp::layout_value& target : layouts) {
          const hp::detail::extended_pair e = hp::detail::extend(source, target, s);
          if (!e.exists) continue;
          ++pairs;
          ASSERT_EQ(hp::check_shape(e.source, e.shape).code, hp::layout_code::ok);
          ASSERT_EQ(hp::check_shape(e.target, e.shape).code, hp::layout_code::ok);
          const hp::extent_t outer = hp::element_count(e.shape).value / e.padding.period;
          ASSERT_EQ(outer * e.padding.limit, hp::element_count(s).value);
          for (int p = 0; p < hp::position_count(m); ++p)
            for (const bool at_source : {true, false}) {
              const hp::coordinate at = hp::coordinates_of(m, p);
              std::vector<hp::extent_t> there;
              for (const hp::extent_t place :
                   places_of(hp::slice_at(at_source ? e.source : e.target, e.shape, at), e.shape))
                if (place % e.padding.period < e.padding.limit)
                  there.push_back(place / e.padding.period * e.padding.limit + place % e.padding.period);
              ASSERT_EQ(there, places_of(hp::slice_at(at_source ? source : target, s, at), s));
            }
        }
  }
  EXPECT_GT(pairs, 200);
}

TEST(padded_move, needs_one_padded_dim_whose_chunks_end_alike) {
  const hp::mesh_shape m{2, {3, 2}};
  hp::layout_value whole = hp::replicated(m, 2), rows = whole, all = whole, both = whole;
  hp::append_cut(rows, {0, 0, 1, 3});
  hp::append_cut(all, {0, 0, 1, 3});
  hp::append_cut(all, {0, 1, 1, 2});
  hp::append_cut(both, {0, 0, 1, 3});
  hp::append_cut(both, {1, 1, 1, 2});
  rows.padded = all.padded = both.padded = 3;
  EXPECT_TRUE(hp::detail::extend(rows, whole, hp::shape(7, 4)).exists);
  EXPECT_TRUE(hp::detail::extend(all, whole, hp::shape(7, 4)).exists);
  EXPECT_FALSE(hp::detail::extend(rows, whole, hp::shape(6, 4)).exists) << "it divides";
  EXPECT_FALSE(hp::detail::extend(all, rows, hp::shape(7, 4)).exists) << "chunks of 2 and of 3 end at other places";
  EXPECT_TRUE(hp::detail::extend(all, rows, hp::shape(11, 4)).exists) << "chunks of 2 and of 4";
  EXPECT_FALSE(hp::detail::extend(both, whole, hp::shape(7, 5)).exists) << "two dims do not divide";
  hp::layout_value waiting = whole;
  waiting.partial[0] = hp::reduce_op::sum;
  EXPECT_TRUE(hp::detail::extend(waiting, rows, hp::shape(7, 4)).exists);
  EXPECT_FALSE(hp::detail::extend(rows, waiting, hp::shape(7, 4)).exists) << "an axis becomes partial";
}

}  // namespace
