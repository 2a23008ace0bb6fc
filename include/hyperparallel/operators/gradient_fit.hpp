// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether what a gradient says fits its operator. Graphs and programs of distributed tensors refuse the same gradients.
//
// Law: an operand that the result's gradient goes to as it is runs over the result's factors. A gradient text names tensors that the forward operator has, and the rule that it writes over the forward
// operator's factors is the one that the backward operator's own text writes: otherwise a kernel that needs a whole dim
// could be run on a shard of it.

#include <hyperparallel/operators/backward_rule.hpp>
#include <hyperparallel/operators/operator_list.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Whether two rules say the same, numbers of factors apart.
constexpr bool same_but_for_numbers(const factor_rule& a, const factor_rule& b) {
  if (a.operand_count != b.operand_count || a.result_count != b.result_count) return false;
  int match[max_factors] = {}, used = 0;
  for (int i = 0; i < a.operand_count + a.result_count; ++i) {
    const tensor_factors& s = i < a.operand_count ? a.operand[i] : a.result[i - a.operand_count];
    const tensor_factors& t = i < a.operand_count ? b.operand[i] : b.result[i - a.operand_count];
    if (s.rank != t.rank) return false;
    for (int d = 0; d < s.rank; ++d) {
      const int x = s.term[d], y = t.term[d];
      const bool known = (used >> x & 1) != 0;
      for (int f = 0; f < max_factors && !known; ++f)
        if ((used >> f & 1) != 0 && match[f] == y) return false;
      if (known ? match[x] != y : a.factor[x].kind != b.factor[y].kind || a.factor[x].op != b.factor[y].op)
        return false;
      match[x] = y;
      used |= 1 << x;
    }
  }
  return true;
}

/// Whether `made`, the rule that a gradient text writes, is the one that the text of `backward` writes. Operators
/// without a text take any tensors of the right number.
constexpr bool writes_rule(const operator_value& backward, const factor_rule& made) {
  if (backward.text[0] == '\0')
    return made.operand_count == (backward.key == operator_value_of<ops::contract>.key ? 2 : 1) &&
           made.result_count == 1;
  operand_ranks ranks{made.operand_count};
  for (int i = 0; i < made.operand_count; ++i) ranks.rank[i] = made.operand[i].rank;
  const rule_result written = rule_from("", backward.text, {}, ranks);
  return written.status.code == rule_code::ok && detail::same_but_for_numbers(written.rule, made);
}

/// Whether the operands that the gradient of the first result goes to as it is hold floats and have its dims.
constexpr bool gradient_passes(const operator_value& of, const factor_rule& forward) {
  for (int i = 0; i < forward.operand_count; ++i) {
    if (!is_in(of.passes_gradient, i)) continue;
    const tensor_factors &x = forward.operand[i], &y = forward.result[0];
    if (x.rank != y.rank || !x.plain || !y.plain || is_in(of.indices, i)) return false;
    for (int d = 0; d < x.rank; ++d)
      if (x.term[d] != y.term[d]) return false;
  }
  return true;
}

/// The place of the first backward operator that does not fit the operator `of` with rule `forward`, -1 where all do.
/// Built-in gradients fit: `trusted` leaves their rules out. One that is not named as a type does not fit. The place
/// behind the last where the gradient does not pass as the operator says.
constexpr int unfit_backward(const operator_value& of, const gradient_writer& gradient, const factor_rule& forward,
                             bool trusted) {
  for (int n = 0; n < gradient.count; ++n) {
    if (n == max_gradient_rules) return n;  // there is no room for it
    const gradient_rule& r = gradient.rule[n];
    if (!reads_as_gradient(r.text, forward.operand_count, forward.result_count)) return n;
    if (!r.is_named || !numbers_fit(of, *r.value, r.text)) return n;
    if (!trusted && !writes_rule(*r.value, backward_rule(forward, *r.value, r.text))) return n;
  }
  return gradient_passes(of, forward) ? -1 : gradient.count;
}

}}}  // namespace hyperparallel::v0_2::detail
