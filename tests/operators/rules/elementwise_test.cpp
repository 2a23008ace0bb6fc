// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/rules/elementwise.hpp>

#include <algorithm>

#include "../functions_of_elements.hpp"
#include "laws.hpp"

namespace {

namespace hp = hyperparallel;
namespace rules = hp::rules;
using hp::shape;
using laws::tensor;

/// f of elements, repeated as NumPy does; false where the local shapes do not fit each other.
template <class F>
laws::compute each(const F& f) {
  return [f](std::vector<tensor>& x, tensor& y) {
    shape s;
    for (const tensor& t : x) s.rank = std::max(s.rank, t.shape.rank);
    for (int d = 0; d < s.rank; ++d) s.extent[d] = 1;
    for (const tensor& t : x)
      for (int d = 0; d < t.shape.rank; ++d) {
        hp::extent_t& n = s.extent[d + s.rank - t.shape.rank];
        if (n != 1 && t.shape.extent[d] != 1 && n != t.shape.extent[d]) return false;
        n = std::max(n, t.shape.extent[d]);
      }
    y = laws::made(s, [&](const std::vector<std::int64_t>& at) {
      std::vector<std::int64_t> v;
      for (tensor& t : x) {
        std::vector<std::int64_t> own(at.end() - t.shape.rank, at.end());
        for (int d = 0; d < t.shape.rank; ++d)
          if (t.shape.extent[d] == 1) own[static_cast<std::size_t>(d)] = 0;
        v.push_back(laws::element(t, own));
      }
      return f(v);
    });
    return true;
  };
}

hp::partial_words words_of(const std::string& name) {
  for (const elements::function_words& f : elements::all)
    if (f.name == name) return f.words;
  return {};
}

using values = std::vector<std::int64_t>;

TEST(Elementwise, RulesOfOneShapeHoldOnNumbers) {
  const hp::mesh_shape m = numeric::mesh_of({2, 2});
  const auto pair = [](bool truth) {
    return std::vector<tensor>{laws::values(shape{4, 4}, truth, 1), laws::values(shape{4, 4}, truth, 2)};
  };
  const auto one = [](bool truth) { return std::vector<tensor>{laws::values(shape{4, 4}, truth, 1)}; };
  const auto hold2 = [&](const char* name, auto f) {
    return laws::hold_by_all(rules::same_shape(name, 2, 2, words_of(name)).rule, each(f), pair, m);
  };
  EXPECT_GT(hold2("sum", [](const values& v) { return v[0] + v[1]; }).accepted, 18 * 2);
  hold2("subtract", [](const values& v) { return v[0] - v[1]; });
  hold2("multiply", [](const values& v) { return v[0] * v[1]; });
  hold2("maximum", [](const values& v) { return std::max(v[0], v[1]); });
  hold2("greater", [](const values& v) { return v[0] > v[1] ? 1 : 0; });
  hold2("logical_and", [](const values& v) { return v[0] != 0 && v[1] != 0 ? 1 : 0; });
  hold2("masked_fill", [](const values& v) { return v[1] > 0 ? 1 : v[0]; });
  laws::hold_by_all(rules::same_shape("negate", 2, 1, words_of("negate")).rule,
                    each([](const values& v) { return -v[0]; }), one, m);
  laws::hold_by_all(rules::same_shape("square", 2, 1, words_of("square")).rule,
                    each([](const values& v) { return v[0] * v[0]; }), one, m);
  laws::hold_by_all(rules::same_shape("relu", 2, 1, words_of("relu")).rule,
                    each([](const values& v) { return std::max<std::int64_t>(0, v[0]); }), one, m);
}

TEST(Elementwise, BroadcastRulesHoldOnNumbers) {
  const hp::mesh_shape m = numeric::mesh_of({2, 2});
  const shape shapes[][2] = {{shape{4, 4}, shape(4)},    {shape{4, 1}, shape{1, 4}}, {shape{4, 4}, shape{1, 4}},
                             {shape{1, 1}, shape{4, 4}}, {shape{4, 4}, shape()},     {shape{2, 1, 4}, shape{4, 1}}};
  for (const auto& s : shapes) {
    const auto make = [&](bool truth) {
      return std::vector<tensor>{laws::values(s[0], truth, 1), laws::values(s[1], truth, 2)};
    };
    const auto hold2 = [&](const char* name, auto f) {
      const hp::rule_result r = rules::broadcasting(name, s, 2, words_of(name));
      ASSERT_EQ(r.status.code, hp::rule_code::ok);
      EXPECT_GT(laws::hold_by_all(r.rule, each(f), make, m).accepted, 0);
    };
    hold2("sum", [](const values& v) { return v[0] + v[1]; });
    hold2("multiply", [](const values& v) { return v[0] * v[1]; });
    hold2("minimum", [](const values& v) { return std::min(v[0], v[1]); });
  }
  const shape three[] = {shape{4, 1}, shape{4, 4}, shape(4)};
  const auto make = [&](bool truth) {
    return std::vector<tensor>{laws::values(three[0], true, 1), laws::values(three[1], truth, 2),
                               laws::values(three[2], truth, 3)};
  };
  laws::hold_by_all(rules::broadcasting("where", three, 3, words_of("where")).rule,
                    each([](const values& v) { return v[0] != 0 ? v[1] : v[2]; }), make, numeric::mesh_of({2}));
}

TEST(Elementwise, ShapesThatDoNotFitAreRefused) {
  for (hp::extent_t a = 1; a < 4; ++a)
    for (hp::extent_t b = 1; b < 4; ++b) {
      const shape s[] = {shape{2, a}, shape(b)};
      const bool fits = a == b || a == 1 || b == 1;
      const hp::rule_result r = rules::broadcasting("multiply", s, 2, words_of("multiply"));
      EXPECT_TRUE(laws::same(r, fits ? hp::rule_code::ok : hp::rule_code::sizes_do_not_fit));
      EXPECT_EQ(r.status.where, fits ? 0 : 1);
    }
}

TEST(Elementwise, ValidForAllRanks) {
  for (const elements::function_words& f : elements::all)
    for (int rank = 0; rank <= hp::max_dims; ++rank)
      EXPECT_EQ(rules::same_shape(f.name, rank, f.operands, f.words).status.code, hp::rule_code::ok);
  EXPECT_TRUE(laws::same(rules::same_shape("sum", 9, 2, {}), hp::rule_code::too_many_dims));
  const shape s[] = {shape{2}, shape{2}, shape{2}};
  EXPECT_TRUE(laws::same(rules::broadcasting("f", s, 0, {}), hp::rule_code::too_many_operands));
}

constexpr shape pair[] = {shape{8, 4}, shape{1, 4}};
static_assert(rules::broadcasting("sum", pair, 2, hp::partial_algebra::adds).status.code == hp::rule_code::ok);
static_assert(hp::detail::word_of(rules::broadcasting("sum", pair, 2, hp::partial_algebra::adds).rule.partials, 1,
                                  hp::reduce_op::sum)
                  .mode == hp::partial_mode::joins);

TEST(Elementwise, RunTimeEqualsCompileTime) {
  constexpr hp::rule_result constant = rules::broadcasting("sum", pair, 2, hp::partial_algebra::adds);
  EXPECT_EQ(rules::broadcasting("sum", pair, 2, hp::partial_algebra::adds).rule, constant.rule);
}

}  // namespace
