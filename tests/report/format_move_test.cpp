// SPDX-License-Identifier: Apache-2.0
// The texts of moves carry their kind, axes, figures and refusals; the ratio is 1.0000 only at the bound.

#include <hyperparallel/report/format_move.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/all_layouts.hpp"

namespace hp = hyperparallel;

namespace {

constexpr const char* names[] = {"x", "y"};
constexpr int sizes[] = {2, 4};
const hp::mesh_value mesh = hp::make_mesh(names, 2, sizes, 2).mesh;

hp::layout_value layout(const char* row, const char* column) {
  const char* const entries[] = {row, column};
  return hp::layout_from_map(mesh, entries, 2).layout;
}

hp::layout_value partial(hp::layout_value l, int axis, hp::reduce_op op) {
  hp::set_partial(l, axis, op);
  return l;
}

TEST(format_move, a_plan_says_its_kind_steps_and_axes) {
  const hp::layout_value whole = layout("None", "None");
  const hp::layout_value summed = partial(whole, 0, hp::reduce_op::sum);
  const hp::shape s{64, 64};
  const auto text = [&](const hp::layout_value& from, const hp::layout_value& to) {
    return fmt::format("{}", hp::named(hp::plan_move(from, to, s), mesh));
  };
  EXPECT_EQ(text(whole, whole), "no-op: nothing is sent");
  EXPECT_EQ(text(whole, layout("x", "y")), "local-slice: nothing is sent");
  EXPECT_EQ(text(layout("x", "None"), layout("None", "y,x")), "exchange: 1 step");
  EXPECT_EQ(text(summed, whole), "all-reduce: 2 steps, x reduced");
  EXPECT_EQ(text(partial(layout("y", "None"), 0, hp::reduce_op::sum), layout("y", "x")),
            "reduce-scatter: 1 step, x reduced");
  EXPECT_EQ(text(layout("None", "y"), partial(layout("None", "y"), 0, hp::reduce_op::prod)), "fill: 1 step, x filled");
  EXPECT_EQ(text(partial(layout("y", "None"), 0, hp::reduce_op::avg), partial(whole, 0, hp::reduce_op::avg)),
            "all-gather: 1 step, x kept");
  EXPECT_EQ(fmt::format("{}", hp::plan_move(summed, whole, s)), "all-reduce: 2 steps, 0 reduced");
}

TEST(format_move, a_refusal_names_side_dim_and_axis) {
  const auto text = [&](const hp::layout_value& from, const hp::layout_value& to, const hp::shape& s) {
    return fmt::format("{}", hp::named(hp::plan_move(from, to, s), mesh));
  };
  EXPECT_EQ(text(layout("x", "None"), layout("None", "None"), {7, 8}),
            "the source refuses the shape: dim 0 of extent 7 does not divide by its 2 shards");
  EXPECT_EQ(text(layout("None", "None"), layout("None", "y"), {7, 9}),
            "the target refuses the shape: dim 1 of extent 9 does not divide by its 4 shards");
  EXPECT_EQ(text(layout("None", "None"), hp::replicated({1, {2}}, 2), {8, 8}),
            "source and target are on different meshes");
  const hp::layout_value both = partial(partial(layout("None", "None"), 0, hp::reduce_op::sum), 1, hp::reduce_op::max);
  EXPECT_EQ(text(both, layout("None", "None"), {8, 8}),
            "the reduction along axis y does not commute with that of an earlier axis");
  hp::move_plan p;
  p.code = hp::move_code::traffic_overflows;
  EXPECT_EQ(fmt::format("{}", p), "the traffic leaves 64 bits of elements");
}

TEST(format_move, steps_and_transfers) {
  const hp::layout_value summed = partial(layout("None", "None"), 0, hp::reduce_op::sum);
  const hp::move_plan p = hp::plan_move(summed, layout("None", "None"), {64, 64});
  ASSERT_EQ(p.step_count, 2);
  EXPECT_EQ(fmt::format("{}", hp::named(p.step[0], mesh)),
            "collect (None, None) partial(x: sum), x reduced, shares over x, y");
  EXPECT_EQ(fmt::format("{}", hp::named(p.step[1], mesh)), "spread -> (None, None), shares over x, y");
  const hp::move_plan q = hp::plan_move(layout("x", "None"), layout("None", "y,x"), {64, 64});
  EXPECT_EQ(fmt::format("{}", hp::named(q.step[0], mesh)), "pull (x, None) -> (None, (y, x))");
  EXPECT_EQ(fmt::format("{}", q.step[0]), "pull (0, None) -> (None, (1, 0))");
  EXPECT_EQ(fmt::format("{}", hp::transfer{3, 0, hp::box{{0, 2}, {4, 8}}}), "from 3: [0:2, 4:8]");
  EXPECT_EQ(fmt::format("{}", hp::transfer{3, 1, hp::box{{0, 2}, {4, 8}}}), "from 3: [0:2, 4:8], term 1");
  EXPECT_EQ(fmt::format("{}|{}", hp::step_kind::reduce, hp::step_kind::spread), "reduce|spread");
}

TEST(format_move, digits_are_a_table) {
  const hp::layout_value from = layout("x", "None"), to = layout("None", "y,x");
  const hp::digit_table t = hp::refine(from, to, {64, 64});
  EXPECT_EQ(fmt::format("{}", hp::named(t, mesh)),
            "dim  digit of size  in the source  in the target  which is\n"
            "---  -------------  -------------  -------------  --------\n"
            "  0              2  x              local          gathered\n"
            "  1              4  local          y              sliced\n"
            "  1              2  local          x              sliced\n");
  const hp::digit_table parts = hp::refine(layout("y", "None"), layout("x", "None"), {64, 64});
  const std::string text = fmt::format("{}", hp::named(parts, mesh));
  EXPECT_NE(text.find("y:(1)2"), std::string::npos) << text;
  EXPECT_NE(text.find("y:(2)2"), std::string::npos) << text;
  EXPECT_NE(text.find("moved"), std::string::npos) << text;
  EXPECT_NE(fmt::format("{}", hp::named(hp::refine(from, from, {64, 64}), mesh)).find("kept"), std::string::npos);
  const hp::layout_value whole = layout("None", "None");
  EXPECT_EQ(fmt::format("{}", hp::named(hp::refine(whole, whole, {64, 64}), mesh)),
            "no digits: no axis shards the tensor\n");
  hp::digit_table none;
  none.refinable = false;
  EXPECT_EQ(fmt::format("{}", hp::named(none, mesh)),
            "no digits: the cut points do not divide each other, boxes come from intervals\n");
}

TEST(format_move, certificates_of_every_small_move) {
  const hp::mesh_shape m{2, {2, 2}};
  const hp::shape s = worlds::divisible_shape(m, 2);
  int moves = 0;
  for (const hp::layout_value& from : worlds::all_layouts(m, 2))
    for (const hp::layout_value& to : worlds::all_layouts(m, 2)) {
      const hp::move_plan p = hp::plan_move(from, to, s);
      std::vector<hp::extent_t> tally(12);
      const hp::move_certificate c = hp::certify(p, tally.data());
      const std::string text = fmt::format("{}", c);
      EXPECT_EQ(text.find("nothing is received") == 0, c.steps == 0);
      if (c.steps == 0) continue;
      ++moves;
      EXPECT_NE(text.find(std::to_string(c.received_total) + " element"), std::string::npos);
      EXPECT_NE(text.find("bound " + std::to_string(c.least_total)), std::string::npos);
      EXPECT_NE(text.find("ratio 1.0000"), std::string::npos);
    }
  EXPECT_GT(moves, 0);
  const hp::move_certificate worse{10, 100'001, 100'000, 20, 3, 40, 2};
  EXPECT_EQ(fmt::format("{}", worse),
            "2 steps, 100001 elements received by all ranks, bound 100000 elements, ratio 1.0001; a rank receives at "
            "most 10 elements in 3 messages, sends at most 20 elements, peak 40 elements");
  EXPECT_EQ(fmt::format("{}", hp::sized({1024, 8192, 8192, 512, 1, 4096, 1}, 4)),
            "1 step, 32.0 KiB received by all ranks, bound 32.0 KiB, ratio 1.0000; a rank receives at most 4.0 KiB in "
            "1 message, sends at most 2.0 KiB, peak 16.0 KiB");
}

}  // namespace
