// SPDX-License-Identifier: Apache-2.0
#pragma once
// The law of a rule on a small numeric world: wherever propagation accepts, each device's operator on its slices, after
// the slices and fills that propagation asks for, gives its slices and terms of the true result.

#include <hyperparallel/operators/propagate.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "../numeric_world.hpp"

namespace laws {

namespace hp = hyperparallel;
using numeric::tensor;

inline constexpr hp::reduce_op reductions[] = {hp::reduce_op::sum, hp::reduce_op::max,  hp::reduce_op::min,
                                               hp::reduce_op::avg, hp::reduce_op::prod, hp::reduce_op::all,
                                               hp::reduce_op::any};

struct verdict {
  int accepted = 0, refused = 0;
};

/// Operator on slices; false where they do not fit each other.
using compute = std::function<bool(std::vector<tensor>&, tensor&)>;
/// What operand `o` is on the device at the coordinate, for operators that count from where a slice begins.
using localize = std::function<void(std::size_t o, tensor& mine, const std::vector<hp::layout_value>& layout,
                                    const hp::coordinate& c)>;

/// `partial`: which operands may be so, by `op`. Result `index` is held against `whole`.
inline verdict hold(const hp::factor_rule& rule, const compute& run, const std::vector<tensor>& whole,
                    const hp::mesh_shape& m, hp::reduce_op op = hp::reduce_op::sum, unsigned partial = ~0u,
                    int index = 0, const localize& local = {}) {
  verdict v;
  EXPECT_EQ(hp::check_rule(rule).code, hp::rule_code::ok) << rule.name.text;
  std::vector<tensor> all = whole;
  tensor result;
  EXPECT_TRUE(run(all, result)) << rule.name.text;
  std::vector<std::vector<hp::layout_value>> choice;
  for (std::size_t o = 0; o < whole.size(); ++o) {
    choice.emplace_back();
    for (const hp::layout_value& l : numeric::all_layouts(m, whole[o].shape.rank, op))
      if (hp::check_shape(l, whole[o].shape).code == hp::layout_code::ok &&
          ((partial >> o & 1u) != 0 || !is_partial(l)))
        choice.back().push_back(l);
  }
  std::vector<std::size_t> at(whole.size());
  while (true) {
    std::vector<const hp::layout_value*> layout;
    for (std::size_t o = 0; o < whole.size(); ++o) layout.push_back(&choice[o][at[o]]);
    const hp::full_propagation p = hp::propagate_fully(rule, layout.data(), static_cast<int>(layout.size()));
    const bool accepted = p.status.code == hp::propagation_code::ok;
    ++(accepted ? v.accepted : v.refused);
    if (accepted) {
      const std::vector<hp::layout_value> met(p.operand, p.operand + whole.size());
      const auto adapt = [&](std::size_t o, const tensor& mine, const hp::coordinate& c) {
        tensor t = numeric::adapted(mine, whole[o].shape, *layout[o], met[o], c);
        if (local) local(o, t, met, c);
        return t;
      };
      std::vector<tensor> slices;
      const bool right = numeric::run_everywhere(run, whole, layout, adapt, slices) &&
                         numeric::is_placed(result, p.result[index], slices);
      EXPECT_TRUE(right) << rule.name.text << ", accepted case " << v.accepted << ", by " << hp::name_of(op);
      if (!right) return v;
    }
    std::size_t o = 0;
    while (o < at.size() && ++at[o] == choice[o].size()) at[o++] = 0;
    if (o == at.size()) return v;
  }
}

/// The same for every reduction; `make` gives operands fit for it (0 and 1 for truth values).
inline verdict hold_by_all(const hp::factor_rule& rule, const compute& run,
                           const std::function<std::vector<tensor>(bool truth)>& make, const hp::mesh_shape& m,
                           unsigned partial = ~0u, int index = 0) {
  verdict sum;
  for (const hp::reduce_op op : reductions) {
    const bool truth = op == hp::reduce_op::all || op == hp::reduce_op::any;
    const verdict v = hold(rule, run, make(truth), m, op, partial, index);
    sum.accepted += v.accepted;
    sum.refused += v.refused;
  }
  return sum;
}

inline tensor values(const hp::shape& s, bool truth = false, std::uint64_t seed = 1) {
  tensor t = numeric::filled(s, seed);
  if (truth)
    for (std::int64_t& x : t.element) x = (x + 9) % 2;
  return t;
}

/// Numbers in [0, bound).
inline tensor indices(const hp::shape& s, std::int64_t bound, std::uint64_t seed = 3) {
  tensor t = numeric::filled(s, seed);
  for (std::int64_t& x : t.element) x = (x + 9) % bound;
  return t;
}

/// The index of the element at row-major `offset`.
inline std::vector<std::int64_t> index_at(const hp::shape& s, std::size_t offset) {
  std::vector<std::int64_t> at(static_cast<std::size_t>(s.rank));
  auto rest = static_cast<std::int64_t>(offset);
  for (int d = s.rank - 1; d >= 0; --d) {
    at[static_cast<std::size_t>(d)] = rest % s.extent[d];
    rest /= s.extent[d];
  }
  return at;
}

/// The element at `index` of t.
inline std::int64_t& element(tensor& t, const std::vector<std::int64_t>& index) {
  std::int64_t offset = 0;
  for (int d = 0; d < t.shape.rank; ++d) offset = offset * t.shape.extent[d] + index[static_cast<std::size_t>(d)];
  return t.element[static_cast<std::size_t>(offset)];
}

/// A tensor of shape `s` of f(index).
template <class F>
tensor made(const hp::shape& s, const F& f) {
  tensor t(s);
  for (std::size_t i = 0; i < t.element.size(); ++i) t.element[i] = f(index_at(s, i));
  return t;
}

inline bool same(const hp::rule_result& r, hp::rule_code code) {
  const bool empty = r.rule.operand_count == 0 && r.rule.result_count == 0 && r.rule.factor_count == 0;
  return r.status.code == code && (code == hp::rule_code::ok) == !empty;
}

}  // namespace laws
