// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/rules/contraction.hpp>

#include <hyperparallel/operators/rule_text.hpp>

#include "laws.hpp"

namespace {

namespace hp = hyperparallel;
namespace rules = hp::rules;
using hp::shape;
using laws::tensor;

/// The rule that a text writes, but for letters and name.
hp::factor_rule of_text(const char* text, const hp::factor_rule& like) {
  hp::factor_rule r = hp::rule_from(like.name.text, text, hp::contraction).rule;
  for (int f = 0; f < r.factor_count; ++f) r.factor[f].letter = 0;
  r.flops_per_point = like.flops_per_point;
  return r;
}

TEST(Contraction, ProductsOfMatricesAndVectors) {
  const auto same = [](const hp::rule_result& r, const char* text) {
    EXPECT_EQ(r.rule, of_text(text, r.rule)) << text;
  };
  same(rules::matmul(2, 2), "ab,bc->ac");
  same(rules::matmul(2, 2, false, true), "ab,cb->ac");
  same(rules::matmul(1, 1), "a,a->");
  same(rules::matmul(1, 2), "a,ab->b");
  same(rules::matmul(2, 1), "ab,b->a");
  for (const bool b : {false, true}) {  // a transposed operand has the same two factors, the other way round
    const hp::factor_rule r = rules::matmul(2, 2, true, b).rule, plain = rules::matmul(2, 2, false, b).rule;
    EXPECT_EQ(r.operand[0].term[0], plain.operand[0].term[1]);
    EXPECT_EQ(r.operand[0].term[1], plain.operand[0].term[0]);
    EXPECT_EQ(r.operand[1], plain.operand[1]);
    EXPECT_EQ(r.result[0], plain.result[0]);
  }
}

bool batched_matmul(std::vector<tensor>& x, tensor& y) {
  const shape a = x[0].shape, b = x[1].shape;
  if (a.extent[a.rank - 1] != b.extent[b.rank - 2]) return false;
  shape s = a.rank > b.rank ? a : b;
  for (int d = 0; d + 2 < s.rank; ++d) {
    const int i = d - (s.rank - a.rank), j = d - (s.rank - b.rank);
    const hp::extent_t p = i < 0 ? 1 : a.extent[i], q = j < 0 ? 1 : b.extent[j];
    if (p != q && p != 1 && q != 1) return false;
    s.extent[d] = p > q ? p : q;
  }
  s.extent[s.rank - 2] = a.extent[a.rank - 2];
  s.extent[s.rank - 1] = b.extent[b.rank - 1];
  y = laws::made(s, [&](const std::vector<std::int64_t>& at) {
    const auto own = [&](const shape& t, std::int64_t row, std::int64_t column) {
      std::vector<std::int64_t> o(at.end() - t.rank, at.end());
      for (int d = 0; d + 2 < t.rank; ++d)
        if (t.extent[d] == 1) o[static_cast<std::size_t>(d)] = 0;
      o[o.size() - 2] = row;
      o[o.size() - 1] = column;
      return o;
    };
    std::int64_t sum = 0;
    for (hp::extent_t k = 0; k < a.extent[a.rank - 1]; ++k)
      sum += laws::element(x[0], own(a, at[at.size() - 2], k)) * laws::element(x[1], own(b, k, at.back()));
    return sum;
  });
  return true;
}

TEST(Contraction, BatchedProductsHoldOnNumbers) {
  const hp::mesh_shape m = numeric::mesh_of({2, 2});
  const shape shapes[][2] = {{shape{2, 2, 4}, shape{2, 4, 2}},
                             {shape{2, 2, 4}, shape{4, 2}},
                             {shape{4, 2}, shape{2, 2, 2}},
                             {shape{1, 2, 4}, shape{2, 4, 2}}};
  for (const auto& s : shapes)
    for (const hp::reduce_op op : {hp::reduce_op::sum, hp::reduce_op::avg}) {
      const hp::rule_result r = rules::matmul(s[0], s[1]);
      ASSERT_EQ(r.status.code, hp::rule_code::ok);
      EXPECT_GT(laws::hold(r.rule, batched_matmul, {laws::values(s[0]), laws::values(s[1], false, 2)}, m, op).accepted,
                10);
    }
  EXPECT_EQ(rules::matmul(shape{2, 2, 4}, shape{2, 4, 2}).rule, rules::matmul(3, 3).rule);
}

bool linear_map(std::vector<tensor>& x, tensor& y) {
  const shape a = x[0].shape, w = x[1].shape;
  if (a.extent[1] != w.extent[1] || (x.size() == 3 && x[2].shape.extent[0] != w.extent[0])) return false;
  y = laws::made(shape{a.extent[0], w.extent[0]}, [&](const std::vector<std::int64_t>& at) {
    std::int64_t sum = x.size() == 3 ? x[2].at(at[1]) : 0;
    for (hp::extent_t k = 0; k < a.extent[1]; ++k) sum += x[0].at(at[0], k) * x[1].at(at[1], k);
    return sum;
  });
  return true;
}

TEST(Contraction, ABiasIsAddedOnce) {
  const std::vector<tensor> whole{laws::values(shape{4, 4}), laws::values(shape{4, 4}, false, 2),
                                  laws::values(shape(4), false, 3)};
  for (const hp::reduce_op op : laws::reductions)
    EXPECT_GT(laws::hold(rules::linear(2, true).rule, linear_map, whole, numeric::mesh_of({2, 2}), op).accepted, 5);
  laws::hold(rules::linear(2).rule, linear_map, {whole[0], whole[1]}, numeric::mesh_of({2, 2}));
}

TEST(Contraction, ValidForAllRanksThatFit) {
  for (int a = 0; a <= 9; ++a)
    for (int b = 0; b <= 9; ++b)
      for (const bool t : {false, true}) {
        const bool fits = a >= 1 && b >= 1 && a <= 8 && b <= 8;
        EXPECT_TRUE(laws::same(rules::matmul(a, b, t, t), fits ? hp::rule_code::ok : hp::rule_code::too_many_dims));
      }
  EXPECT_TRUE(laws::same(rules::matmul(shape{3, 2, 4}, shape{2, 4, 2}), hp::rule_code::sizes_do_not_fit));
  EXPECT_TRUE(laws::same(rules::linear(9), hp::rule_code::too_many_dims));
}

static_assert(rules::matmul(3, 2).status.code == hp::rule_code::ok);

}  // namespace
