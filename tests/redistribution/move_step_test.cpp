// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/move_step.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/redistribution/move_plan.hpp>

#include <vector>

#include "redistribution/move_sweep.hpp"
#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

TEST(move_step, parts_of_a_box_tile_it) {
  const hp::box boxes[] = {hp::box{{3, 9}, {0, 4}}, hp::box{{0, 1}, {2, 7}}, hp::box{{5, 5}, {0, 2}}, hp::box{{0, 13}},
                           hp::box{}};
  for (const hp::box& whole : boxes)
    for (int count = 1; count <= 9; ++count) {
      hp::extent_t volume = 0, largest = 0;
      for (int i = 0; i < count; ++i) {
        const hp::box part = hp::detail::part_of(whole, i, count);
        volume += hp::volume(part);
        largest = hp::larger(largest, hp::volume(part));
        if (hp::volume(part) > 0 && whole.rank > 0) {
          ASSERT_TRUE(hp::intersection(part, whole) == part);
        }
        for (int j = 0; j < i && whole.rank > 0; ++j)
          ASSERT_EQ(hp::volume(hp::intersection(part, hp::detail::part_of(whole, j, count))), 0);
      }
      ASSERT_EQ(volume, hp::volume(whole));
      if (whole.rank == 2 && whole.dim[0].end % count == 0 && whole.dim[0].begin % count == 0) {
        ASSERT_EQ(largest, hp::volume(whole) / count);
      }
    }
}

/// How often each element of the tensor comes to `position` as term `term`.
std::vector<int> arrivals(const hp::move_step& step, const hp::shape& s, int position, int term) {
  std::vector<int> found(static_cast<std::size_t>(hp::element_count(s).value));
  const hp::box whole = hp::slice_at(hp::replicated(step.source.mesh, s.rank), s, {});
  const hp::step_receiver r = hp::receiver_of(step, s, position);
  for (hp::extent_t k = 0; k < r.transfers; ++k) {
    const hp::transfer t = hp::transfer_at(step, r, k);
    if (t.term != term) continue;
    replay::detail::elements_of(t.part, whole, s,
                                [&](hp::extent_t flat, hp::extent_t) { ++found[static_cast<std::size_t>(flat)]; });
  }
  return found;
}

bool holds(const hp::box& b, const hp::shape& s, hp::extent_t flat) {
  for (int d = s.rank - 1; d >= 0; --d) {
    const hp::extent_t at = flat % s.extent[d];
    flat /= s.extent[d];
    if (at < b.dim[d].begin || at >= b.dim[d].end) return false;
  }
  return true;
}

void expect_laws(const hp::move_plan& p) {
  const hp::move_step& first = p.step[0];
  const hp::extent_t elements = hp::element_count(p.shape).value;
  const int positions = hp::position_count(first.source.mesh), terms = hp::receiver_of(first, p.shape, 0).terms;
  std::vector<int> reduced(static_cast<std::size_t>(elements));
  for (int q = 0; q < positions; ++q)
    for (int term = 0; term < terms; ++term) {
      const std::vector<int> got = arrivals(first, p.shape, q, term);
      const hp::box frame = hp::target_frame(first, p.shape, q);
      for (hp::extent_t e = 0; e < elements; ++e) {
        const int times = got[static_cast<std::size_t>(e)];
        ASSERT_LE(times, holds(frame, p.shape, e) ? 1 : 0) << "no element comes twice, or outside the frame";
        if (first.kind != hp::step_kind::collect && first.filled == 0) {
          ASSERT_EQ(times, holds(frame, p.shape, e) ? 1 : 0) << "every element of the target comes";
        }
        if (first.kind == hp::step_kind::collect && term == 0) reduced[static_cast<std::size_t>(e)] += times;
        if (term > 0) {
          ASSERT_EQ(times, arrivals(first, p.shape, q, 0)[static_cast<std::size_t>(e)]) << "all terms come, or none";
        }
      }
    }
  if (first.kind != hp::step_kind::collect) return;
  const hp::move_step& last = p.step[1];
  const int worlds = hp::group_size(first.source.mesh, hp::detail::axes_of(first.source.mesh, p.kept));
  for (hp::extent_t e = 0; e < elements; ++e)
    ASSERT_EQ(reduced[static_cast<std::size_t>(e)], worlds) << "an element is reduced once";
  for (int q = 0; q < positions; ++q) {
    const hp::step_receiver r = hp::receiver_of(last, p.shape, q);
    for (hp::extent_t k = 0; k < r.transfers; ++k) {
      const hp::transfer t = hp::transfer_at(last, r, k);
      if (hp::volume(t.part) == 0) continue;
      const std::vector<int> has = arrivals(first, p.shape, t.sender, 0);
      const hp::box whole = hp::slice_at(hp::replicated(first.source.mesh, p.shape.rank), p.shape, {});
      replay::detail::elements_of(t.part, whole, p.shape, [&](hp::extent_t flat, hp::extent_t) {
        ASSERT_EQ(has[static_cast<std::size_t>(flat)], 1) << "only what was reduced is spread";
      });
    }
  }
}

TEST(move_step, transfers_bring_each_element_once_from_those_that_have_it) {
  long two_steps = 0;
  for (const hp::mesh_shape& m : {hp::mesh_shape{2, {2, 2}}, hp::mesh_shape{2, {2, 3}}}) {
    const hp::shape s = m.size[1] == 2 ? hp::shape{4, 4} : hp::shape{6, 6};
    const std::vector<hp::layout_value> states = worlds::partial_layouts(m, 2, {hp::reduce_op::sum});
    for (const hp::layout_value& a : states)
      for (const hp::layout_value& b : states) {
        const hp::move_plan p = hp::plan_move(a, b, s);
        if (p.step_count == 0) continue;
        if (p.step_count == 2) ++two_steps;
        expect_laws(p);
        if (HasFatalFailure()) return;
      }
  }
  EXPECT_GT(two_steps, 60);
}

TEST(move_step, dealt_boxes_too) {
  const hp::mesh_shape m{2, {2, 3}};
  for (const hp::layout_value& a : worlds::all_layouts(m, 2))
    for (const hp::layout_value& b : worlds::all_layouts(m, 2))
      for (int parts = 1; parts <= 3; ++parts) {
        hp::move_plan p;
        p.shape = {6, 6};
        p.step_count = 1;
        p.step[0].source = a;
        p.step[0].target = b;
        p.step[0].replicas.split = hp::detail::changed_axes(a, b) & ~hp::detail::cut_axes(a);
        p.step[0].replicas.parts = parts;
        expect_laws(p);
        if (HasFatalFailure()) return;
      }
}

TEST(move_step, terms_come_in_the_order_of_positions) {
  hp::layout_value sum = hp::replicated({2, {2, 3}}, 1), cut = sum;
  sum.partial[1] = hp::reduce_op::sum;
  hp::append_cut(cut, {0, 0, 1, 2});
  hp::append_cut(cut, {0, 1, 1, 3});
  const hp::move_plan p = hp::plan_move(sum, cut, hp::shape{6});
  ASSERT_EQ(p.step_count, 1);
  EXPECT_EQ(p.step[0].kind, hp::step_kind::reduce);
  for (int q = 0; q < 6; ++q) {
    const hp::step_receiver r = hp::receiver_of(p.step[0], hp::shape{6}, q);
    ASSERT_EQ(r.transfers, 3);
    for (int term = 0; term < 3; ++term) {
      const hp::transfer t = hp::transfer_at(p.step[0], r, term);
      EXPECT_EQ(t.term, term);
      EXPECT_EQ(t.sender, q / 3 * 3 + term);
      EXPECT_TRUE(t.part == hp::slice_at(cut, hp::shape{6}, hp::coordinates_of(cut.mesh, q)));
    }
  }
}

TEST(move_step, others_terms_come_from_replicas_that_reduce_nothing) {
  // Axis 0 sums, dim 0 moves from axis 1 to axis 2, on 2x2x2: only devices whose coordinates 1 and 2 are equal reduce.
  hp::layout_value a = hp::replicated({3, {2, 2, 2}}, 1), b = a;
  a.partial[0] = hp::reduce_op::sum;
  hp::append_cut(a, {0, 1, 1, 2});
  hp::append_cut(b, {0, 2, 1, 2});
  const hp::move_plan p = hp::plan_move(a, b, hp::shape{8});
  ASSERT_EQ(p.step[0].kind, hp::step_kind::collect);
  long others = 0;
  for (int q = 0; q < 8; ++q) {
    const hp::step_receiver r = hp::receiver_of(p.step[0], p.shape, q);
    for (hp::extent_t k = 0; k < r.transfers; ++k) {
      const hp::transfer t = hp::transfer_at(p.step[0], r, k);
      if (hp::volume(t.part) == 0 || t.sender == q) continue;
      const hp::coordinate from = hp::coordinates_of(a.mesh, t.sender);
      EXPECT_NE(from.at[1], from.at[2]);
      ++others;
    }
  }
  EXPECT_EQ(others, 4);
}

}  // namespace
