// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/rules/attention.hpp>

#include <hyperparallel/operators/factor_extents.hpp>

#include <string>

#include "laws.hpp"

namespace {

namespace hp = hyperparallel;
namespace rules = hp::rules;
using hp::reduce_op;
using hp::rule_code;
using hp::shape;
using laws::tensor;
using index = std::vector<std::int64_t>;

constexpr int head = 2;  // elements of a head

/// b batch, s sequence, n heads, d head, h = n · d packed, t tokens of all sequences.
enum class attention_form { bsh, bnsd, sbh, bsnd, tnd };

/// Attention as a text, in each form as docs/reference/operators.md writes it.
hp::factor_rule written(attention_form form, int heads, int kv_heads, bool masked = false) {
  constexpr const char* forms[][2] = {{"bq(hgD),bK(hD),bK(hD)", "->bq(hgD)"},
                                      {"b(hg)qD,bhKD,bhKD", "->b(hg)qD"},
                                      {"qb(hgD),Kb(hD),Kb(hD)", "->qb(hgD)"},
                                      {"bq(hg)D,bKhD,bKhD", "->bq(hg)D"},
                                      {"q(hg)D,KhD,KhD", "->q(hg)D"}};
  const auto& text = forms[static_cast<int>(form)];
  hp::factor_rule r = hp::rule_from("attention", (std::string(text[0]) + (masked ? ",qK" : "") + text[1]).c_str(),
                                    {reduce_op::none, hp::linear_in_each(0b100u), 4, true})
                          .rule;
  for (int f = 0; f < r.factor_count; ++f) {
    if (r.factor[f].letter == 'h') r.factor[f].extent = kv_heads;
    if (r.factor[f].letter == 'g') r.factor[f].extent = heads / kv_heads;
  }
  return r;
}

/// Extents of a tensor of attention in `form`.
shape extents(attention_form form, hp::extent_t b, hp::extent_t s, hp::extent_t n) {
  switch (form) {
    case attention_form::bsh:
      return shape{b, s, n * head};
    case attention_form::sbh:
      return shape{s, b, n * head};
    case attention_form::bnsd:
      return shape{b, n, s, head};
    case attention_form::bsnd:
      return shape{b, s, n, head};
    case attention_form::tnd:
      return shape{s, n, head};
  }
  return {};
}

struct sizes {
  hp::extent_t b, s, n;
};
/// What is left of a head when a packed dim was cut inside one: no whole number of heads.
sizes sizes_of(attention_form form, const shape& x) {
  switch (form) {
    case attention_form::bsh:
      return {x.extent[0], x.extent[1], x.extent[2] % head == 0 ? x.extent[2] / head : 0};
    case attention_form::sbh:
      return {x.extent[1], x.extent[0], x.extent[2] % head == 0 ? x.extent[2] / head : 0};
    case attention_form::bnsd:
      return {x.extent[0], x.extent[2], x.extent[1]};
    case attention_form::bsnd:
      return {x.extent[0], x.extent[1], x.extent[2]};
    case attention_form::tnd:
      return {1, x.extent[0], x.extent[1]};
  }
  return {};
}

index place(attention_form form, std::int64_t b, std::int64_t s, std::int64_t n, std::int64_t d) {
  switch (form) {
    case attention_form::bsh:
      return {b, s, n * head + d};
    case attention_form::sbh:
      return {s, b, n * head + d};
    case attention_form::bnsd:
      return {b, n, s, d};
    case attention_form::bsnd:
      return {b, s, n, d};
    case attention_form::tnd:
      return {s, n, d};
  }
  return {};
}

/// Attention in integers: the square of each score stands for its exponential, and nothing is divided.
laws::compute attend(attention_form form, hp::extent_t keys, hp::extent_t group) {
  return [=](std::vector<tensor>& x, tensor& y) {
    const sizes q = sizes_of(form, x[0].shape), k = sizes_of(form, x[1].shape), v = sizes_of(form, x[2].shape);
    if (k.s != keys || v.s != keys || q.b != k.b || k.b != v.b || k.n != v.n || q.n != k.n * group || k.n == 0)
      return false;
    const bool masked = x.size() > 3;
    if (masked && (x[3].shape.extent[0] != q.s || x[3].shape.extent[1] != keys)) return false;
    y = tensor(x[0].shape);
    for (hp::extent_t b = 0; b < q.b; ++b)
      for (hp::extent_t s = 0; s < q.s; ++s)
        for (hp::extent_t n = 0; n < q.n; ++n)
          for (hp::extent_t t = 0; t < keys; ++t) {
            std::int64_t score = masked ? x[3].at(s, t) : 0;
            for (int d = 0; d < head; ++d)
              score +=
                  laws::element(x[0], place(form, b, s, n, d)) * laws::element(x[1], place(form, b, t, n / group, d));
            for (int d = 0; d < head; ++d)
              laws::element(y, place(form, b, s, n, d)) +=
                  score * score * laws::element(x[2], place(form, b, t, n / group, d));
          }
    return true;
  };
}

TEST(Attention, HoldsOnNumbersInEveryForm) {
  const hp::mesh_shape m = numeric::mesh_of({2});
  for (const attention_form form :
       {attention_form::bsh, attention_form::bnsd, attention_form::sbh, attention_form::bsnd, attention_form::tnd})
    for (const int kv : {2, 4}) {
      const std::vector<tensor> whole{laws::values(extents(form, 2, 4, 4)),
                                      laws::values(extents(form, 2, 6, kv), false, 2),
                                      laws::values(extents(form, 2, 6, kv), false, 3)};
      for (const reduce_op op : {reduce_op::sum, reduce_op::avg}) {
        const laws::verdict v = laws::hold(written(form, 4, kv), attend(form, 6, 4 / kv), whole, m, op);
        EXPECT_GE(v.accepted, 5);
        EXPECT_GT(v.refused, v.accepted);
      }
      std::vector<tensor> masked = whole;
      masked.push_back(laws::values(shape{4, 6}, false, 4));
      EXPECT_GE(laws::hold(written(form, 4, kv, true), attend(form, 6, 4 / kv), masked, m).accepted, 6);
    }
}

TEST(Attention, AnAxisOnHeadsCutsBetweenHeadsOfKeysOnly) {
  const hp::factor_rule r = written(attention_form::bsh, 8, 2);
  const auto code = [&](int shards) {
    hp::layout_value l = hp::replicated(numeric::mesh_of({shards}), 3);
    hp::append_cut(l, {2, 0, 1, shards});
    const hp::layout_value* const qkv[] = {&l, &l, &l};
    return hp::propagate(r, qkv, 3).status.code;
  };
  EXPECT_EQ(code(2), hp::propagation_code::ok);
  EXPECT_NE(code(4), hp::propagation_code::ok);  // would cut a head of keys
  EXPECT_NE(code(8), hp::propagation_code::ok);
}

TEST(Attention, KeysAreWholeAndQueriesNeedNotBe) {
  const hp::factor_rule r = rules::attention(4, 4).rule;
  hp::layout_value cut = hp::replicated(numeric::mesh_of({2}), 4), whole = cut;
  hp::append_cut(cut, {2, 0, 1, 2});
  const hp::layout_value* const queries[] = {&cut, &whole, &whole};
  EXPECT_EQ(hp::propagate(r, queries, 3).layout, cut);
  const hp::layout_value* const keys[] = {&whole, &cut, &cut};
  EXPECT_EQ(hp::propagate(r, keys, 3).status,
            (hp::propagation_status{hp::propagation_code::dim_must_be_whole, 1, 2, 0}));
}

TEST(Attention, TheRuleIsTheTextOfItsForm) {
  hp::factor_rule text = written(attention_form::bnsd, 8, 2);
  for (int f = 0; f < text.factor_count; ++f) text.factor[f].letter = '\0';
  EXPECT_EQ(rules::attention(8, 2).rule, text);
}

TEST(Attention, ShapesAndWork) {
  const shape q = extents(attention_form::bnsd, 2, 16, 8), kv = extents(attention_form::bnsd, 2, 32, 2);
  const shape operands[] = {q, kv, kv};
  EXPECT_EQ(hp::result_shape(rules::attention(8, 2).rule, operands, 3).shape, q);
  EXPECT_EQ(hp::work_of(rules::attention(8, 2).rule, operands, 3).flops, 4 * 2 * 8 * 16 * 32 * head);
}

TEST(Attention, HeadsThatDoNotDivideAreRefused) {
  for (const int kv : {-1, 0, 3, 16}) EXPECT_TRUE(laws::same(rules::attention(8, kv), rule_code::attribute_is_invalid));
  EXPECT_TRUE(laws::same(rules::attention(0, 1), rule_code::attribute_is_invalid));
}

static_assert(rules::attention(8, 2).status.code == rule_code::ok);

}  // namespace
