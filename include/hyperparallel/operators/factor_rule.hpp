// SPDX-License-Identifier: Apache-2.0
#pragma once
// Factor rules: everything that sharding has to know about an operator.
//
// A factor is one loop of the operator; every dim of the operands and of the result runs over one factor. An operator
// obeys its rule when, for each point of the result's factors,
//   result[point] = op over the reduction factors of g(operands at that point),
// where g may read along the factors that must be whole, and along no other. Linearity says which partial sums pass.
// As text, an einsum whose letters are the factors: "mk,kn->mn". Source: redistribution-sota §2.2.

#include <hyperparallel/layout/layout_value.hpp>
#include <hyperparallel/support/fixed_string.hpp>

namespace hyperparallel {

inline constexpr int max_operands = 4;
inline constexpr int max_factors = 12;

enum class factor_kind : unsigned char {
  pass_through,      ///< in the result: an axis that shards it shards the result
  reduction,         ///< not in the result: an axis that shards it leaves the result partial
  need_replication,  ///< every device needs it whole
};

struct factor {
  char letter = 0;
  factor_kind kind = factor_kind::pass_through;
  reduce_op op = reduce_op::none;  ///< of a reduction
  extent_t extent = 0;             ///< not 0: the only extent that it may have
  friend constexpr bool operator==(const factor&, const factor&) = default;
};

/// The factor of each dim of one tensor.
struct dim_factors {
  int rank = 0;
  unsigned mask = 0;  ///< bit f: some dim runs over factor f
  int factor[max_dims] = {};
  friend constexpr bool operator==(const dim_factors&, const dim_factors&) = default;
};

struct factor_rule {
  short_text name;
  int operand_count = 0;
  int factor_count = 0;
  dim_factors operand[max_operands] = {};
  dim_factors result{};
  hyperparallel::factor factor[max_factors] = {};
  unsigned linear_in = 0;  ///< bit o: the result is linear in operand o; elsewhere partial operands are refused
  bool jointly = false;    ///< linear in those operands together (a sum), not in each with the others fixed (a product)
  int flops_per_point = 0;  ///< floating-point operations per point of all factors
  friend constexpr bool operator==(const factor_rule&, const factor_rule&) = default;
};

enum class rule_code : unsigned char {
  ok,
  text_is_malformed,
  too_many_operands,
  too_many_dims,
  too_many_factors,
  factor_is_used_twice_in_one_tensor,
  mask_differs_from_dims,
  result_factor_is_in_no_operand,
  kind_does_not_fit_the_result,
  reductions_differ,
  linear_rule_reduces_by_another_operation,
};

/// `where` is the character of the text, or the factor, to blame.
struct rule_status {
  rule_code code = rule_code::ok;
  int where = 0;
  friend constexpr bool operator==(const rule_status&, const rule_status&) = default;
};

struct rule_result {
  rule_status status{};
  factor_rule rule{};
};

/// What the text of a rule does not say.
struct rule_traits {
  reduce_op reduction = reduce_op::sum;
  unsigned linear_in = 0;
  bool jointly = false;
  int flops_per_point = 0;
};

/// Products and their partial sums: linear in each of two operands, a multiplication and an addition per point.
inline constexpr rule_traits contraction{reduce_op::sum, 0b11u, false, 2};

namespace detail {

/// How often `dims` runs over factor `f`.
constexpr int uses_of(const dim_factors& dims, int f) {
  int n = 0;
  for (int d = 0; d < dims.rank; ++d) n += dims.factor[d] == f ? 1 : 0;
  return n;
}

/// Factor of `letter`, added when new; max_factors when there is no room.
constexpr int factor_of_letter(factor_rule& r, char letter) {
  int f = 0;
  while (f < r.factor_count && r.factor[f].letter != letter) ++f;
  if (f < r.factor_count || f == max_factors) return f;
  const bool digit = letter >= '0' && letter <= '9';
  const bool whole = digit || (letter >= 'A' && letter <= 'Z');
  r.factor[f] = {letter, whole ? factor_kind::need_replication : factor_kind::reduction, reduce_op::none,
                 digit ? letter - '0' : 0};
  ++r.factor_count;
  return f;
}

constexpr rule_result no_rule(rule_code code, int where) {
  rule_result r;
  r.status = {code, where};
  return r;
}

constexpr bool is_factor_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '1' && c <= '9');
}

}  // namespace detail

/// Whether a rule is one: each tensor runs over a factor at most once, the result's factors come from operands, kinds
/// agree with the result, all reductions are one operation, and that is a sum where the rule is linear. O(factors ·
/// dims).
constexpr rule_status check_rule(const factor_rule& r) {
  if (r.operand_count < 1 || r.operand_count > max_operands) return {rule_code::too_many_operands, r.operand_count};
  if (r.factor_count > max_factors) return {rule_code::too_many_factors, r.factor_count};
  reduce_op reduction = reduce_op::none;
  for (int f = 0; f < r.factor_count; ++f) {
    int in_operands = 0;
    for (int o = 0; o < r.operand_count; ++o) {
      const int uses = detail::uses_of(r.operand[o], f);
      if (uses > 1) return {rule_code::factor_is_used_twice_in_one_tensor, f};
      if ((r.operand[o].mask >> f & 1u) != static_cast<unsigned>(uses)) return {rule_code::mask_differs_from_dims, f};
      in_operands += uses;
    }
    const int in_result = detail::uses_of(r.result, f);
    if (in_result > 1) return {rule_code::factor_is_used_twice_in_one_tensor, f};
    if (in_operands == 0) return {rule_code::result_factor_is_in_no_operand, f};
    const factor& x = r.factor[f];
    const bool fits_result =
        x.kind == factor_kind::need_replication || (x.kind == factor_kind::reduction) == (in_result == 0);
    if (!fits_result || (x.kind == factor_kind::reduction) != (x.op != reduce_op::none))
      return {rule_code::kind_does_not_fit_the_result, f};
    if (x.kind != factor_kind::reduction) continue;
    if (reduction != reduce_op::none && reduction != x.op) return {rule_code::reductions_differ, f};
    reduction = x.op;
    if (r.linear_in != 0 && x.op != reduce_op::sum) return {rule_code::linear_rule_reduces_by_another_operation, f};
  }
  return {};
}

/// The rule that `text` writes, "operand,operand->result" with one character a dim. A small letter that vanishes is a
/// reduction; a capital letter is a factor that every device needs whole; a digit 1 to 9 is one of that extent.
/// Fails with the first reason of `rule_code`. O(length · factors).
constexpr rule_result rule_from(const char* name, const char* text, const rule_traits& traits) {
  rule_result r;
  factor_rule& rule = r.rule;
  rule.name = short_text(name);
  rule.linear_in = traits.linear_in;
  rule.jointly = traits.jointly;
  rule.flops_per_point = traits.flops_per_point;
  dim_factors* dims = &rule.operand[0];
  rule.operand_count = 1;
  int i = 0;
  for (; text[i] != '\0'; ++i) {
    if (text[i] == ',' && dims != &rule.result) {
      if (rule.operand_count == max_operands) return detail::no_rule(rule_code::too_many_operands, i);
      dims = &rule.operand[rule.operand_count++];
    } else if (text[i] == '-' && text[i + 1] == '>' && dims != &rule.result) {
      dims = &rule.result;
      ++i;
    } else if (detail::is_factor_letter(text[i])) {
      const int f = detail::factor_of_letter(rule, text[i]);
      if (f == max_factors) return detail::no_rule(rule_code::too_many_factors, i);
      if (dims->rank == max_dims) return detail::no_rule(rule_code::too_many_dims, i);
      dims->factor[dims->rank++] = f;
      dims->mask |= 1u << f;
    } else {
      return detail::no_rule(rule_code::text_is_malformed, i);
    }
  }
  if (dims != &rule.result) return detail::no_rule(rule_code::text_is_malformed, i);
  for (int f = 0; f < rule.factor_count; ++f) {
    if (rule.factor[f].kind != factor_kind::reduction) continue;
    if (detail::uses_of(rule.result, f) > 0)
      rule.factor[f].kind = factor_kind::pass_through;
    else
      rule.factor[f].op = traits.reduction;
  }
  r.status = check_rule(rule);
  return r.status.code == rule_code::ok ? r : detail::no_rule(r.status.code, r.status.where);
}

}  // namespace hyperparallel
