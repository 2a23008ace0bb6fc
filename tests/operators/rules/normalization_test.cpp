// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/rules/normalization.hpp>

#include <hyperparallel/operators/factor_extents.hpp>

#include "laws.hpp"
#include "replay/reference_rules.hpp"

namespace {

namespace hp = hyperparallel;
namespace rules = hp::rules;
namespace reference = replay::reference;
using hp::rule_code;
using hp::shape;
using laws::tensor;
using index = std::vector<std::int64_t>;

constexpr hp::rule_result softmax(int rank, const rules::dim_list& dims = -1) {
  return rules::reads_along("softmax", rank, dims, hp::refuse_partials(), 6);
}

const hp::mesh_shape square = numeric::mesh_of({2, 2});

/// Something that reads all of a row, as a norm does, exact in integers; further operands scale and shift.
bool along_rows(std::vector<tensor>& x, tensor& y) {
  if (x[0].shape.extent[1] != 4) return false;
  for (std::size_t o = 1; o < x.size(); ++o)
    if (x[o].shape.extent[0] != 4) return false;
  y = laws::made(x[0].shape, [&](const index& at) {
    std::int64_t all = 0;
    for (hp::extent_t k = 0; k < 4; ++k) all += x[0].at(at[0], k) * x[0].at(at[0], k);
    const std::int64_t value = x[0].at(at[0], at[1]) * all;
    return (x.size() > 1 ? value * x[1].at(at[1]) : value) + (x.size() > 2 ? x[2].at(at[1]) : 0);
  });
  return true;
}

TEST(Normalization, HoldsOnNumbers) {
  const tensor x = laws::values(shape{4, 4}), w = laws::values(shape(4), false, 2),
               b = laws::values(shape(4), false, 3);
  for (const hp::rule_result& r : {softmax(2), softmax(2, 1), rules::normalize("norm", 2, 1, 0, 8)}) {
    const laws::verdict v = laws::hold(r.rule, along_rows, {x}, square);
    EXPECT_EQ(v.accepted, 5);  // rows on one axis, on the other, on both in two orders, or on none
    EXPECT_GT(v.refused, 0);
  }
  laws::hold(rules::rms_norm(2).rule, along_rows, {x, w}, square);
  laws::hold(rules::normalize("norm", 2, 1, 2, 8).rule, along_rows, {x, w, b}, square);
  EXPECT_EQ(rules::normalize("norm", 2, 1, 0, 8).rule.operand_count, 1);
}

TEST(Normalization, TheSecondResultOfRmsNormHasNoNormalizedDim) {
  const shape operands[] = {shape{4, 8, 16}, shape{8, 16}};
  const hp::rule_result r = rules::rms_norm(3, 2);
  EXPECT_EQ(hp::result_shape(r.rule, operands, 2, 0).shape, operands[0]);
  EXPECT_EQ(hp::result_shape(r.rule, operands, 2, 1).shape, (shape{4, 1, 1}));
  hp::layout_value x = hp::replicated(square, 3), w = hp::replicated(square, 2);
  hp::append_cut(x, {0, 1, 1, 2});
  const hp::layout_value* const layouts[] = {&x, &w};
  EXPECT_EQ(hp::propagate_fully(r.rule, layouts, 2).result[1], x);
}

TEST(Normalization, PackedHalvesAreNotCutApart) {
  const laws::compute run = [](std::vector<tensor>& x, tensor& y) {
    const hp::extent_t n = x[0].shape.extent[1] / 2;
    if (x[0].shape.extent[1] % 2 != 0) return false;
    y = laws::made(shape{x[0].shape.extent[0], n}, [&](const index& at) {
      const std::int64_t g = x[0].at(at[0], at[1]);
      return g * g * x[0].at(at[0], n + at[1]);
    });
    return true;
  };
  EXPECT_EQ(laws::hold(reference::packed_swiglu(2, -1).rule, run, {laws::values(shape{4, 8})}, square).accepted, 5);
  EXPECT_EQ(laws::hold(rules::written("packed_swiglu", "*(2f)->*f", {}, {1, {2}}).rule, run,
                       {laws::values(shape{4, 8})}, square)
                .accepted,
            5);
  EXPECT_EQ(laws::hold(reference::packed_swiglu(2, 1).rule, run, {laws::values(shape{4, 8})}, square).accepted, 5);
}

TEST(Normalization, ValidForAllRanksThatFit) {
  for (int rank = 1; rank <= hp::max_dims; ++rank)
    for (int n = 0; n <= rank + 1; ++n) {
      const rule_code code = n >= 1 && n <= rank ? rule_code::ok : rule_code::axes_differ_from_rank;
      EXPECT_TRUE(laws::same(rules::normalize("norm", rank, n, 2, 8), code));
      EXPECT_TRUE(laws::same(rules::rms_norm(rank, n), code));
      EXPECT_TRUE(laws::same(softmax(rank, n - 1), n - 1 < rank ? rule_code::ok : rule_code::axis_is_out_of_range));
    }
  EXPECT_TRUE(laws::same(softmax(2, {0, 0}), rule_code::axes_repeat));
  EXPECT_TRUE(laws::same(softmax(9), rule_code::too_many_dims));
  EXPECT_TRUE(laws::same(reference::packed_swiglu(2, 2), rule_code::axis_is_out_of_range));
  EXPECT_TRUE(laws::same(rules::normalize("norm", 2, 1, 8, 8), rule_code::too_many_operands));
}

static_assert(softmax(2).rule.factor[1].kind == hp::factor_kind::need_replication);

}  // namespace
