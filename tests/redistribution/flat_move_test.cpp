// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/flat_move.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "replay/relocation_replay.hpp"
#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

TEST(flat_move, stretches_come_in_flat_order_and_fill_the_block_once) {
  const hp::mesh_shape m{2, {2, 2}};
  const hp::shape from{6, 4}, to{4, 6};
  for (hp::layout_value a : worlds::all_layouts(m, 2))
    for (hp::layout_value b : worlds::all_layouts(m, 2)) {
      a.padded = b.padded = 3;
      const hp::move_step step{hp::step_kind::pull, a, b, {}, 0, 0, 0, {4, 0}, {4, 2}};
      const hp::flat_step f{step, from, to};
      for (int q = 0; q < 4; ++q) {
        hp::flat_receiver r = hp::receiver_of(f, q);
        hp::extent_t next = 0;
        for (hp::flat_transfer t; hp::next_transfer(f, r, t); next += t.length) {
          ASSERT_EQ(t.target_offset, next);
          ASSERT_GT(t.length, 0);
          const std::vector<hp::extent_t> held =
              replay::detail::elements_in(hp::slice_at(a, from, hp::coordinates_of(m, t.sender)), from);
          const std::vector<hp::extent_t> own =
              replay::detail::elements_in(hp::slice_at(b, to, hp::coordinates_of(m, q)), to);
          for (hp::extent_t i = 0; i < t.length; ++i)
            ASSERT_EQ(held.at(static_cast<std::size_t>(t.source_offset + i)),
                      own.at(static_cast<std::size_t>(next + i)));
        }
        ASSERT_EQ(next, r.own.length * r.own.runs);
      }
    }
}

TEST(flat_move, replicas_take_turns_so_that_none_is_much_busier_than_receivers) {
  // Ranks 0 and 1 have all of (6, 24); of (12, 12) in rows over four ranks they keep their own, the others read theirs.
  const hp::layout_value all = hp::replicated({1, {2}}, 2);
  hp::layout_value rows = hp::replicated({1, {4}}, 2);
  hp::append_cut(rows, {0, 0, 1, 4});
  const hp::move_step step{hp::step_kind::pull, all, rows, {}, 0, 0, 0, {2, 0}, {4, 0}};
  const hp::shape from{6, 24}, to{12, 12};
  const hp::flat_step f{step, from, to};
  hp::extent_t sent[2] = {};
  for (int q = 0; q < 4; ++q) {
    hp::flat_receiver r = hp::receiver_of(f, q);
    for (hp::flat_transfer t; hp::next_transfer(f, r, t);)
      if (t.sender != q) sent[t.sender] += t.length;
  }
  EXPECT_EQ(sent[0], 36);
  EXPECT_EQ(sent[1], 36);
}

/// The same at compile time: what rank 1 of two pulls when (6, 4) in rows becomes (4, 6) in columns.
constexpr hp::extent_t pulled_by_the_compiler() {
  hp::layout_value rows = hp::replicated({1, {2}}, 2), columns = rows;
  hp::append_cut(rows, {0, 0, 1, 2});
  hp::append_cut(columns, {1, 0, 1, 2});
  const hp::move_step step{hp::step_kind::pull, rows, columns, {}, 0, 0, 0, {2, 0}, {2, 0}};
  const hp::shape from{6, 4}, to{4, 6};
  const hp::flat_step f{step, from, to};
  hp::flat_receiver r = hp::receiver_of(f, 1);
  hp::extent_t n = 0;
  for (hp::flat_transfer t; hp::next_transfer(f, r, t);)
    if (t.sender != 1) n += t.length;
  return n;
}
static_assert(pulled_by_the_compiler() == 6);

}  // namespace
