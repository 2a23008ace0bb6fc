// SPDX-License-Identifier: Apache-2.0
// An explanation of a relocation holds its form, every step and the certificate's figures, with ranks and not
// positions.

#include <hyperparallel/report/explain_relocation.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

hp::tensor_side side(const hp::mesh_shape& m, const hp::shape& s, int dim, int axis, int first_rank) {
  hp::layout_value l = hp::replicated(m, s.rank);
  hp::append_cut(l, {dim, axis, 1, m.size[axis]});
  return {l, s, {hp::position_count(m), first_rank}};
}

bool has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

TEST(explain_relocation, each_form_with_its_steps_and_figures) {
  struct {
    hp::tensor_side from, to;
    hp::relocation_form form;
    const char* said;
  } cases[] = {
      {side({1, {4}}, {8, 8}, 0, 0, 0), side({2, {2, 2}}, {8, 8}, 1, 0, 0), hp::relocation_form::one_mesh,
       "form    both sides on the mesh 2x2, the tensor as (8, 8)\n"},
      {side({1, {4}}, {8, 8}, 0, 0, 0), side({1, {2}}, {8, 8}, 1, 0, 10), hp::relocation_form::boxes,
       "form    between two meshes, in boxes of the tensor as (8, 8)\n"},
      {side({1, {2}}, {6, 4}, 1, 0, 0), side({1, {3}}, {4, 6}, 1, 0, 5), hp::relocation_form::runs,
       "form    between two meshes, in runs of the flat tensor\n"},
  };
  for (auto& c : cases)
    for (const bool partial : {false, true}) {
      if (partial && c.from.layout.mesh.axis_count < 2)
        c.from = {hp::replicated(c.from.layout.mesh, 2), c.from.shape, c.from.ranks};
      if (partial) hp::set_partial(c.from.layout, 0, hp::reduce_op::sum);
      const hp::relocation r = hp::plan_relocation(c.from, c.to);
      ASSERT_EQ(r.code, hp::relocation_code::ok);
      ASSERT_EQ(r.form, c.form);
      const std::string text = fmt::format("{}", hp::explained(r, 4));
      EXPECT_TRUE(has(text, c.said)) << text;
      std::vector<hp::extent_t> tally(static_cast<std::size_t>(hp::tally_size(r)));
      const hp::relocation_certificate k = hp::certify(r, tally.data());
      EXPECT_GT(k.received_total, 0);
      const auto figure = [&](const char* name, hp::extent_t elements) {
        EXPECT_TRUE(has(text, name + fmt::format("{}", hp::report::byte_count{elements * 4}) + "\n")) << text;
      };
      figure("received by all ranks  ", k.received_total);
      figure("least of any program   ", k.least_total);
      figure("busiest receiver       ", k.received_maximum);
      figure("busiest sender         ", k.sent_maximum);
      for (int i = 0; i < r.plan.step_count; ++i)
        EXPECT_TRUE(has(text, fmt::format("step {}  {}\n", i + 1, r.plan.step[i].kind))) << text;
      EXPECT_FALSE(has(text, fmt::format("step {}", r.plan.step_count + 1))) << text;
    }
}

TEST(explain_relocation, examples_name_ranks) {
  const hp::relocation r = hp::plan_relocation(side({1, {4}}, {8, 8}, 0, 0, 0), side({1, {2}}, {8, 8}, 1, 0, 10));
  const std::string text = fmt::format("{}", hp::explained(r, 4));
  EXPECT_TRUE(has(text, "        rank 10 takes [0:2, 0:4] from rank 0\n")) << text;
  EXPECT_TRUE(has(text, "        rank 10 takes [6:8, 0:4] from rank 3\n")) << text;
}

TEST(explain_relocation, refusals_name_the_side) {
  const hp::tensor_side good = side({1, {4}}, {8, 8}, 0, 0, 0);
  const auto text = [](const hp::tensor_side& from, const hp::tensor_side& to) {
    return fmt::format("{}", hp::plan_relocation(from, to));
  };
  EXPECT_EQ(text(side({1, {4}}, {6, 8}, 0, 0, 0), good),
            "the source refuses the shape: dim 0 of extent 6 does not divide by its 4 shards");
  EXPECT_EQ(text(good, side({1, {4}}, {6, 8}, 0, 0, 0)),
            "the target refuses the shape: dim 0 of extent 6 does not divide by its 4 shards");
  hp::tensor_side short_list = good;
  short_list.ranks.count = 3;
  EXPECT_TRUE(has(text(short_list, good), "the source has ranks that do not fit its mesh: "));
  EXPECT_TRUE(has(text(good, short_list), "the target has ranks that do not fit its mesh: "));
  EXPECT_EQ(text(good, side({1, {4}}, {8, 9}, 0, 0, 0)), "the shapes differ in their elements: 64 and 72");
  hp::tensor_side mixed{hp::replicated({2, {2, 2}}, 2), {8, 8}, {4, 0}};
  hp::set_partial(mixed.layout, 0, hp::reduce_op::sum);
  hp::set_partial(mixed.layout, 1, hp::reduce_op::max);
  EXPECT_EQ(text(mixed, good), "the source waits for reductions that do not commute, axis 1");
  EXPECT_EQ(text(good, mixed), "the target would wait for reductions that do not commute, axis 1");
  EXPECT_EQ(text(good, good), "no-op: 0 steps");
}

}  // namespace
