// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include <hyperparallel/layout/tensor_map.hpp>
#include <hyperparallel/redistribution/bound.hpp>
#include <hyperparallel/redistribution/certificate.hpp>
#include <hyperparallel/transfer/redistribute.hpp>

#include "support/all_layouts.hpp"

namespace hp = hyperparallel;

namespace {

/// Number of each element of the box in the whole tensor, in row-major order of the box.
std::vector<std::uint16_t> elements(const hp::box& b, const hp::shape& s) {
  std::vector<std::uint16_t> list;
  for (hp::extent_t i = b.dim[0].begin; i < b.dim[0].end; ++i)
    for (hp::extent_t j = b.dim[1].begin; j < b.dim[1].end; ++j)
      list.push_back(static_cast<std::uint16_t>(i * s.extent[1] + j));
  return list;
}

void expect_moved(const hp::layout_value& from, const hp::layout_value& to, const hp::shape& s) {
  hp::arena_redistribution move(from, to, s, sizeof(std::uint16_t), {.threads = 1});
  const auto at = [&](const hp::layout_value& l, int r) { return hp::slice_at(l, s, hp::coordinates_of(l.mesh, r)); };
  for (int r = 0; r < move.ranks(); ++r) {
    const std::vector<std::uint16_t> mine = elements(at(from, r), s);
    std::copy(mine.begin(), mine.end(), move.source<std::uint16_t>(r).begin());
  }
  ASSERT_EQ(move.run(), hp::run_result::complete);
  for (int r = 0; r < move.ranks(); ++r) {
    const std::span<std::uint16_t> got = move.target<std::uint16_t>(r);
    ASSERT_EQ(std::vector<std::uint16_t>(got.begin(), got.end()), elements(at(to, r), s));
    ASSERT_EQ(move.received(r), 2 * hp::least_received(from, to, s, hp::coordinates_of(from.mesh, r)));
  }
}

TEST(arena_redistribution, moves_every_pair_of_a_2x2_mesh_at_its_bound) {
  const std::vector<hp::layout_value> all = worlds::all_layouts({2, {2, 2}}, 2);
  ASSERT_EQ(all.size(), 11U);
  for (const hp::layout_value& from : all)
    for (const hp::layout_value& to : all) expect_moved(from, to, {8, 12});
}

TEST(arena_redistribution, moves_pairs_whose_cuts_do_not_refine) {
  const std::vector<hp::layout_value> all = worlds::all_layouts({2, {2, 3}}, 2);
  for (const hp::layout_value& from : all)
    for (const hp::layout_value& to : all) expect_moved(from, to, {12, 12});
}

TEST(arena_redistribution, moves_padded_dims) {
  hp::layout_value from = hp::replicated({2, {2, 2}}, 2), to = from;
  hp::append_cut(from, {0, 0, 1, 2});
  hp::append_cut(from, {0, 1, 1, 2});
  from.padded = 1;
  hp::append_cut(to, {1, 1, 1, 2});
  for (int rows : {1, 3, 5, 7, 10}) expect_moved(from, to, {rows, 6});
  for (int rows : {1, 3, 5, 7, 10}) expect_moved(to, from, {rows, 6});
}

TEST(arena_redistribution, runs_again_on_new_values) {
  const std::vector<hp::layout_value> all = worlds::all_layouts({2, {2, 2}}, 2);
  hp::arena_redistribution move(all.front(), all.back(), {4, 4}, sizeof(float));
  for (int round = 0; round < 3; ++round) {
    for (int r = 0; r < move.ranks(); ++r)
      for (float& x : move.source<float>(r)) x = static_cast<float>(round);
    move.run();
    for (int r = 0; r < move.ranks(); ++r)
      for (const float x : move.target<float>(r)) ASSERT_EQ(x, static_cast<float>(round));
  }
}

/// Twelve bytes, of which a plan only has to know how many they are.
struct triple {
  std::int32_t a, b, c;
  friend bool operator==(const triple&, const triple&) = default;
};

TEST(arena_redistribution, moves_any_trivially_copyable_element_on_any_number_of_threads_with_any_stores) {
  const std::vector<hp::layout_value> all = worlds::all_layouts({2, {2, 2}}, 2);
  const hp::shape s(24, 20);
  for (const int threads : {1, 2, 5})
    for (const std::int64_t streaming_from : {std::int64_t{0}, INT64_MAX})
      for (const hp::layout_value& to : all) {
        const hp::layout_value& from = all[3];
        hp::arena_redistribution move(from, to, s, sizeof(triple),
                                      {.threads = threads, .streaming_from = streaming_from});
        ASSERT_EQ(move.threads(), threads);
        const auto number = [](std::uint16_t n) { return triple{n, -n, 7 * n}; };
        const auto at = [&](const hp::layout_value& l, int r) {
          return elements(hp::slice_at(l, s, hp::coordinates_of(l.mesh, r)), s);
        };
        for (int r = 0; r < move.ranks(); ++r)
          std::ranges::transform(at(from, r), move.source<triple>(r).begin(), number);
        ASSERT_EQ(move.run(), hp::run_result::complete);
        for (int r = 0; r < move.ranks(); ++r)
          ASSERT_TRUE(std::ranges::equal(move.target<triple>(r), at(to, r), {}, {}, number));
      }
}

TEST(arena_redistribution, tells_bytes_and_stops_when_asked) {
  hp::layout_value from = hp::replicated({1, {4}}, 2), to = from;
  hp::append_cut(from, {0, 0, 1, 4});
  hp::append_cut(to, {1, 0, 1, 4});
  hp::arena_redistribution move(from, to, {8192, 2048}, sizeof(float), {.threads = 2});  // 64 MiB
  for (int r = 0; r < move.ranks(); ++r) std::ranges::fill(move.source<float>(r), static_cast<float>(r));
  const auto cancel = [](void* self, std::int64_t finished, std::int64_t total) {
    EXPECT_EQ(total, 64 << 20);
    if (finished < total) static_cast<hp::arena_redistribution*>(self)->cancel();
  };
  ASSERT_EQ(move.run({cancel, &move, 1}), hp::run_result::cancelled);  // fresh pages: a millisecond is far too short
  EXPECT_LT(move.finished(), 64 << 20);
  ASSERT_EQ(move.run(), hp::run_result::complete);
  EXPECT_EQ(move.finished(), 64 << 20);
  for (int r = 0; r < move.ranks(); ++r)
    for (std::size_t i = 0; i < 8192 * 512; i += 511)
      ASSERT_EQ(move.target<float>(r)[i], static_cast<float>(i / 512 / 2048));
}

TEST(arena_redistribution, in_place_the_target_is_a_part_of_the_source) {
  const hp::mesh_shape m{1, {4}};
  const hp::layout_value whole = hp::replicated(m, 2);
  hp::layout_value rows = whole, columns = whole;
  hp::append_cut(rows, {0, 0, 1, 4});
  hp::append_cut(columns, {1, 0, 1, 4});
  const hp::shape s(8, 12);
  for (const hp::layout_value& to : {whole, rows}) {
    hp::arena_redistribution move(whole, to, s, sizeof(int), {}, hp::target_blocks::in_source);
    for (int r = 0; r < 4; ++r) std::iota(move.source<int>(r).begin(), move.source<int>(r).end(), 0);
    ASSERT_EQ(move.run(), hp::run_result::complete);
    for (int r = 0; r < 4; ++r) {
      const hp::box part = hp::slice_at(to, s, hp::coordinates_of(m, r));
      ASSERT_EQ(move.target<int>(r).data(), move.source<int>(r).data() + part.dim[0].begin * 12);
      ASSERT_EQ(static_cast<hp::extent_t>(move.target<int>(r).size()), hp::volume(part));
      ASSERT_EQ(move.received(r), 0);
    }
  }
  const auto in_place = [&](const hp::layout_value& from, const hp::layout_value& to) {
    hp::arena_redistribution(from, to, s, sizeof(int), {}, hp::target_blocks::in_source);
  };
  EXPECT_THROW(in_place(whole, columns), std::invalid_argument);  // a slice, but of every row a part
  EXPECT_THROW(in_place(rows, whole), std::invalid_argument);
  EXPECT_THROW(in_place(rows, columns), std::invalid_argument);
}

/// `blocks(position)` combined over the axes that `l` is partial along, element by element of a position's slice.
template <class Blocks>
std::vector<std::int64_t> combined(const hp::layout_value& l, int position, const Blocks& blocks) {
  unsigned mask = 0;
  hp::reduce_op op = hp::reduce_op::sum;
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if (l.partial[a] != hp::reduce_op::none) {
      mask |= 1u << a;
      op = l.partial[a];
    }
  const hp::axis_list along = hp::detail::axes_of(l.mesh, mask);
  std::vector<std::int64_t> value;
  for (int i = 0; i < hp::group_size(l.mesh, along); ++i) {
    const std::span<const std::int64_t> term = blocks(hp::group_member(l.mesh, along, position, i));
    if (i == 0) value.assign(term.begin(), term.end());
    for (std::size_t e = 0; i > 0 && e < term.size(); ++e)
      value[e] = op == hp::reduce_op::sum    ? value[e] + term[e]
                 : op == hp::reduce_op::prod ? value[e] * term[e]
                                             : std::max(value[e], term[e]);
  }
  return value;
}

/// What is partial means its reduced value, whatever becomes of its terms; run twice, because fills must not add up.
TEST(arena_redistribution, folds_and_fills_every_pair_with_partial_states) {
  const hp::shape s(4, 6);
  for (const hp::mesh_shape& m : {hp::mesh_shape{2, {2, 2}}, hp::mesh_shape{2, {2, 3}}})
    for (const hp::reduce_op op : {hp::reduce_op::sum, hp::reduce_op::prod, hp::reduce_op::max}) {
      const std::vector<hp::layout_value> all = worlds::partial_layouts(m, 2, {op});
      for (const hp::layout_value& from : all)
        for (const hp::layout_value& to : all) {
          if (hp::check_shape(from, s).code != hp::layout_code::ok ||
              hp::check_shape(to, s).code != hp::layout_code::ok)
            continue;
          hp::arena_redistribution move(from, to, s, hp::data_type::i64, {.threads = 1});
          const auto source = [&](int r) { return move.source<std::int64_t>(r); };
          const auto target = [&](int r) { return move.target<std::int64_t>(r); };
          std::vector<std::int64_t> value(24, -1);
          const auto slice = [&](const hp::layout_value& l, int r) {
            return elements(hp::slice_at(l, s, hp::coordinates_of(m, r)), s);
          };
          for (int r = 0; r < move.ranks(); ++r) {
            const std::vector<std::uint16_t> number = slice(from, r);
            const hp::coordinate c = hp::coordinates_of(m, r);
            int term = 1;
            for (int a = 0; a < 2; ++a) term = 2 * term + (from.partial[a] != hp::reduce_op::none ? c.at[a] : 0);
            for (std::size_t e = 0; e < number.size(); ++e) source(r)[e] = (number[e] + 3) * term % 11 + 1;
          }
          for (int r = 0; r < move.ranks(); ++r) {
            const std::vector<std::uint16_t> number = slice(from, r);
            const std::vector<std::int64_t> whole = combined(from, r, source);
            for (std::size_t e = 0; e < number.size(); ++e) value[number[e]] = whole[e];
          }
          hp::extent_t tally[18] = {};
          const hp::move_certificate c = hp::certify(move.plan(), tally);
          for (int round = 0; round < 2; ++round) {
            ASSERT_EQ(move.run(), hp::run_result::complete);
            std::int64_t received = 0;
            for (int r = 0; r < move.ranks(); ++r) {
              const std::vector<std::uint16_t> number = slice(to, r);
              const std::vector<std::int64_t> whole = combined(to, r, target);
              for (std::size_t e = 0; e < number.size(); ++e) ASSERT_EQ(whole[e], value[number[e]]);
              received += move.received(r);
            }
            ASSERT_EQ(received, 8 * c.received_total);
          }
        }
    }
}

/// Between meshes positions are those of the two sides; sums meet on their way.
TEST(arena_redistribution, moves_between_meshes_and_rank_lists) {
  const hp::shape s(8, 12);
  const hp::mesh_shape line{1, {4}}, square{2, {2, 2}};
  const std::vector<hp::layout_value> sources = worlds::partial_layouts(line, 2, {hp::reduce_op::sum}),
                                      targets = worlds::all_layouts(square, 2);
  for (const int first : {2, 4})  // overlapping and disjoint ranks
    for (const hp::layout_value& from : sources)
      for (const hp::layout_value& to : targets) {
        const hp::relocation r = hp::plan_relocation({from, s, {4, 0}}, {to, s, {4, first}});
        ASSERT_EQ(r.code, hp::relocation_code::ok);
        ASSERT_EQ(r.form, hp::relocation_form::boxes);
        hp::arena_redistribution move(hp::planned_tensor(r.plan, hp::data_type::i64), {.threads = 1});
        const bool terms = hp::is_partial(from);
        for (int p = 0; p < 4; ++p) {
          const std::vector<std::uint16_t> number = elements(hp::slice_at(from, s, hp::coordinates_of(line, p)), s);
          for (std::size_t e = 0; e < number.size(); ++e)
            move.source<std::int64_t>(p)[e] = terms ? number[e] * (p + 1) : number[e];
        }
        ASSERT_EQ(move.run(), hp::run_result::complete);
        for (int p = 0; p < 4; ++p) {
          const std::vector<std::uint16_t> number = elements(hp::slice_at(to, s, hp::coordinates_of(square, p)), s);
          for (std::size_t e = 0; e < number.size(); ++e)
            ASSERT_EQ(move.target<std::int64_t>(p)[e], terms ? number[e] * 10 : number[e]);
        }
      }
}

TEST(arena_redistribution, needs_a_type_where_terms_meet) {
  hp::layout_value whole = hp::replicated({1, {4}}, 1), terms = whole;
  terms.partial[0] = hp::reduce_op::sum;
  EXPECT_THROW(hp::arena_redistribution(terms, whole, hp::shape{8}, sizeof(float)), std::invalid_argument);
  hp::arena_redistribution move(terms, whole, hp::shape{8}, hp::data_type::f32);
  for (int r = 0; r < 4; ++r)
    for (float& x : move.source<float>(r)) x = static_cast<float>(r);
  ASSERT_EQ(move.run(), hp::run_result::complete);
  for (int r = 0; r < 4; ++r)
    for (const float x : move.target<float>(r)) EXPECT_EQ(x, 6);
  EXPECT_EQ(move.received(0), 4 * (3 * 2 + 3 * 2));  // its share of the terms, and the other shares' results
}

TEST(arena_redistribution, refuses_by_exception) {
  hp::layout_value from = hp::replicated({1, {4}}, 1), to = from;
  hp::append_cut(to, {0, 0, 1, 4});
  EXPECT_THROW(hp::arena_redistribution(from, to, hp::shape{6}, 4), std::invalid_argument);
  hp::arena_redistribution move(from, to, hp::shape{8}, 4);
  EXPECT_THROW(move.source<double>(0), std::invalid_argument);
}

}  // namespace
