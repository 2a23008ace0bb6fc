// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/move_rows.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "redistribution/small_candidates.hpp"

namespace {

namespace hp = hyperparallel;

/// Each part goes from the source to the target, each staged block is written once, then read by the next row of its
/// part; the blocks that a row reads and writes do not overlap, nor do those of two parts.
TEST(move_rows, lead_from_the_source_to_the_target) {
  int staged = 0, two = 0;
  small_candidates::visit([&](const auto&, const auto&, const hp::shape&, hp::move_candidate, const hp::interconnect&,
                              const hp::move_parts& parts) {
    const hp::move_rows rows = hp::rows_of(parts, 4);
    std::vector<int> at(2, -1), steps(2, 0), part_of(static_cast<std::size_t>(rows.staged.size), -1);
    for (const hp::move_row& row : rows.row) {
      const std::size_t p = static_cast<std::size_t>(row.part);
      ASSERT_EQ(row.step, steps[p]++);
      ASSERT_EQ(row.from, at[p]);
      at[p] = row.to;
      const hp::move_plan& plan = parts.part[row.part];
      ASSERT_EQ(row.to < 0, row.step + 1 == plan.step_count);
      if (row.to < 0) continue;
      part_of[static_cast<std::size_t>(row.to)] = row.part;
      ASSERT_EQ(rows.staged[row.to].bytes, 4 * hp::volume(hp::target_frame(plan.step[row.step], plan.shape, 0)));
      for (int q = 0; q < 4; ++q)
        ASSERT_LE(4 * hp::volume(hp::target_frame(plan.step[row.step], plan.shape, q)), rows.staged[row.to].bytes);
      ++staged;
    }
    for (int i = 0; i < parts.count; ++i) ASSERT_EQ(steps[static_cast<std::size_t>(i)], parts.part[i].step_count);
    const auto apart = [&](int a, int b) {
      const hp::staged_block &x = rows.staged[a], &y = rows.staged[b];
      return x.offset + x.bytes <= y.offset || y.offset + y.bytes <= x.offset;
    };
    for (const hp::move_row& row : rows.row) ASSERT_TRUE(row.from < 0 || row.to < 0 || apart(row.from, row.to));
    for (int a = 0; a < rows.staged.size; ++a) {
      ASSERT_EQ(rows.staged[a].offset % hp::detail::staged_alignment, 0);
      ASSERT_LE(rows.staged[a].offset + rows.staged[a].bytes, rows.staged_bytes);
      for (int b = 0; b < a; ++b)
        ASSERT_TRUE(part_of[static_cast<std::size_t>(a)] == part_of[static_cast<std::size_t>(b)] || apart(a, b));
    }
    two += parts.count == 2 ? 1 : 0;
  });
  EXPECT_GT(staged, 1000);
  EXPECT_GT(two, 100);
}

/// Chunks take all steps one after the other through buffers that are theirs alone, and are the dim together.
TEST(move_rows, stage_a_chunk_at_a_time) {
  int chunked = 0;
  small_candidates::visit([&](const auto&, const auto&, const hp::shape&, hp::move_candidate, const hp::interconnect&,
                              const hp::move_parts& parts) {
    const hp::move_rows whole = hp::rows_of(parts, 4);
    for (const hp::extent_t most : {1, 16, 40}) {
      const hp::move_rows rows = hp::rows_of(parts, 4, most);
      if (rows.row.empty() || rows.row[0].dim < 0) {
        ASSERT_EQ(rows.staged_bytes, whole.staged_bytes);
        continue;
      }
      ++chunked;
      const hp::move_plan& plan = parts.part[0];
      const int steps = plan.step_count, chunks = rows.row.size / steps;
      ASSERT_EQ(parts.count, 1);
      ASSERT_GT(whole.staged_bytes, most);
      ASSERT_LE(chunks, hp::most_chunks);
      hp::extent_t end = 0;
      for (int i = 0; i < rows.row.size; ++i) {
        const hp::move_row& row = rows.row[i];
        ASSERT_EQ(row.step, i % steps);
        ASSERT_EQ(row.from < 0, row.step == 0);
        ASSERT_EQ(row.to < 0, row.step + 1 == steps);
        if (row.step > 0) {
          ASSERT_EQ(row.from, rows.row[i - 1].to);
          ASSERT_EQ(row.along, rows.row[i - 1].along);
        } else {
          ASSERT_EQ(row.along.begin, end);
          ASSERT_LT(row.along.begin, row.along.end);
          end = row.along.end;
        }
        if (row.to < 0) continue;
        const hp::staged_block& block = rows.staged[row.to];
        for (int q = 0; q < hp::position_count(plan.step[0].source.mesh); ++q)
          ASSERT_LE(4 * hp::volume(hp::detail::part_of_row(row, hp::target_frame(plan.step[row.step], plan.shape, q))),
                    block.bytes);
        ASSERT_LE(block.offset + block.bytes, rows.staged_bytes);
        if (row.from >= 0) {
          const hp::staged_block& read = rows.staged[row.from];
          ASSERT_TRUE(read.offset + read.bytes <= block.offset || block.offset + block.bytes <= read.offset);
        }
      }
      ASSERT_EQ(end, plan.shape.extent[rows.row[0].dim]);
    }
  });
  EXPECT_GT(chunked, 1000);
}

constexpr hp::extent_t staged_by_an_all_reduce() {
  hp::layout_value terms = hp::replicated({1, {4}}, 1), whole = terms;
  terms.partial[0] = hp::reduce_op::sum;
  const hp::move_plan plan = hp::plan_move(terms, whole, hp::shape{32});
  return hp::rows_of(&plan, 1, 4).staged_bytes;
}
static_assert(staged_by_an_all_reduce() == 128);

}  // namespace
