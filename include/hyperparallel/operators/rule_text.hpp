// SPDX-License-Identifier: Apache-2.0
#pragma once
// Factor rules from text: an einsum whose letters are the factors.
//
//   "mk,kn->mn"    contraction: k vanishes, so it is a reduction
//   "bsH->bsH"     a capital letter is whole on every device
//   "egc2f->egcf"  a digit is a factor of that extent, whole as well
//   "(ab)c->abc"   a dim of two factors, major first
//   ".n->mn"       a dim of no factor: size 1, broadcast
//   "tE->t,t"      two results

#include <hyperparallel/operators/factor_rule.hpp>

namespace hyperparallel::inline v0_2 {

/// What the text of a rule does not say.
struct rule_traits {
  reduce_op reduction = reduce_op::sum;
  partial_words partials{};
  int flops_per_point = 0;
  bool yields = false;  ///< of every factor that passes through: whole operands are sliced to meet sharded ones
};

/// Products and their partial sums: linear in each of two operands, a multiplication and an addition per point.
inline constexpr rule_traits contraction{reduce_op::sum, linear_in_each(0b11u), 2, false};

namespace detail {

constexpr bool is_factor_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '1' && c <= '9');
}

/// Factor of `letter`, added when new.
constexpr int factor_of_letter(factor_rule& r, char letter) {
  for (int f = 0; f < r.factor_count && f < max_factors; ++f)
    if (r.factor[f].letter == letter) return f;
  const bool digit = letter >= '0' && letter <= '9';
  const bool whole = digit || (letter >= 'A' && letter <= 'Z');
  const int f =
      add_factor(r, whole ? factor_kind::need_replication : factor_kind::pass_through, digit ? letter - '0' : 0);
  if (f < max_factors) r.factor[f].letter = letter;
  return f;
}

}  // namespace detail

/// The rule that `text` writes, "operand,operand->result,result". A small letter that is not in the results is a
/// reduction by `traits.reduction`; one that is in no operand is created by the operator.
/// Fails with the first reason of `rule_code`, naming the character. O(length · factors).
constexpr rule_result rule_from(const char* name, const char* text, const rule_traits& traits) {
  factor_rule rule;
  rule.name = short_text(name);
  rule.partials = traits.partials;
  rule.flops_per_point = traits.flops_per_point;
  tensor_factors* tensor = &add_operand(rule);
  bool results = false, group = false, opened = false;  // opened: a parenthesis whose dim is not there yet
  int i = 0;
  for (; text[i] != '\0'; ++i) {
    const char c = text[i];
    if (c == ',' && !group) {
      if ((results ? rule.result_count : rule.operand_count) == (results ? max_results : max_operands))
        return no_rule(name, results ? rule_code::too_many_results : rule_code::too_many_operands, i);
      tensor = results ? &add_result(rule) : &add_operand(rule);
    } else if (c == '-' && text[i + 1] == '>' && !results && !group) {
      results = true;
      tensor = &add_result(rule);
      ++i;
    } else if (c == '(' && !group) {
      group = opened = true;
    } else if (c == ')' && group && !opened) {
      group = false;
    } else if (c == '.' && !group) {
      if (tensor->rank == max_dims) return no_rule(name, rule_code::too_many_dims, i);
      add_dim(*tensor);
    } else if (detail::is_factor_letter(c)) {
      const int f = detail::factor_of_letter(rule, c);
      if (f >= max_factors) return no_rule(name, rule_code::too_many_factors, i);
      if (tensor->first[tensor->rank] == max_terms) return no_rule(name, rule_code::too_many_terms, i);
      if (group && !opened) {
        extend_dim(*tensor, f);
        continue;
      }
      if (tensor->rank == max_dims) return no_rule(name, rule_code::too_many_dims, i);
      add_dim(*tensor, f);
      opened = false;
    } else {
      return no_rule(name, rule_code::text_is_malformed, i);
    }
  }
  if (!results || group) return no_rule(name, rule_code::text_is_malformed, i);
  unsigned in_results = 0;
  for (int t = 0; t < rule.result_count; ++t) in_results |= rule.result[t].mask;
  for (int f = 0; f < rule.factor_count; ++f) {
    factor& x = rule.factor[f];
    if (x.kind != factor_kind::pass_through) continue;
    x.yields = traits.yields;
    if ((in_results >> f & 1u) == 0) {
      x.kind = factor_kind::reduction;
      x.op = traits.reduction;
      x.yields = false;
    }
  }
  return checked_rule(rule);
}

}  // namespace hyperparallel::inline v0_2
