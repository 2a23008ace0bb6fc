// SPDX-License-Identifier: Apache-2.0
#pragma once
// The factor rule of a backward operator, which a gradient text writes over the factors of its forward operator's rule.
//
// Law: a factor has one number in both rules, so a placement of the forward operator's factors is one of the backward
// operator's; only which of them are reduced is found anew.

#include <hyperparallel/operators/gradient_writer.hpp>
#include <hyperparallel/operators/rule_text.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// The factors that `letter`, with its number, stands for in a gradient text.
constexpr const tensor_factors& factors_of(const factor_rule& forward, char letter, char number) {
  return letter == 'x' ? forward.operand[number - '0'] : forward.result[number - '0'];
}

/// The rule of `backward`; factors that it does not use keep their numbers, so it is none that `check_rule` takes where
/// there are such. Domain: `reads_as_gradient(text, …)` of the forward operator. O(length + factors).
constexpr factor_rule backward_rule(const factor_rule& forward, const operator_value& backward, const char* text) {
  factor_rule b;
  b.name = short_text(backward.name);
  b.flops_per_point = backward.flops_per_point;
  for (b.factor_count = 0; b.factor_count < forward.factor_count; ++b.factor_count)
    b.factor[b.factor_count] = forward.factor[b.factor_count];
  const char* at = text;
  for (; *at != '>'; at += at[2] == ',' ? 3 : 2) add_operand(b) = detail::factors_of(forward, at[0], at[1]);
  for (++at; *at != '\0'; ++at) add_result(b) = forward.operand[*at - '0'];
  reduce_missing_factors(b, reduce_op::sum);
  b.partials = backward.partials;
  detail::index_places(b);
  return b;
}

/// The rule of zeros in the place of the gradient of result `r`: over the result's factors; what other factors do does
/// not matter to it.
constexpr factor_rule zero_gradient_rule(const factor_rule& forward, const operator_value& fill, int r) {
  factor_rule b;
  b.name = short_text(fill.name);
  for (b.factor_count = 0; b.factor_count < forward.factor_count; ++b.factor_count)
    b.factor[b.factor_count] = forward.factor[b.factor_count];
  add_result(b) = forward.result[r];
  reduce_missing_factors(b, reduce_op::none);
  b.partials = fill.partials;
  detail::index_places(b);
  return b;
}

/// The same rule without the factors that no tensor has. O(factors · terms).
constexpr factor_rule without_unused_factors(const factor_rule& rule) {
  factor_rule r = rule;
  unsigned used = 0;
  for (int i = 0; i < r.operand_count; ++i) used |= r.operand[i].mask;
  for (int i = 0; i < r.result_count; ++i) used |= r.result[i].mask;
  int number[max_factors] = {};
  r.factor_count = 0;
  for (int f = 0; f < rule.factor_count; ++f) {
    number[f] = r.factor_count;
    if ((used >> f & 1u) != 0) r.factor[r.factor_count++] = rule.factor[f];
  }
  const auto renumber = [&](tensor_factors& t) {
    t.mask = 0;
    for (int i = 0; i < t.first[t.rank]; ++i) {
      t.term[i] = number[t.term[i]];
      t.mask |= 1u << t.term[i];
    }
  };
  for (int i = 0; i < r.operand_count; ++i) renumber(r.operand[i]);
  for (int i = 0; i < r.result_count; ++i) renumber(r.result[i]);
  return r;
}

}}}  // namespace hyperparallel::v0_2::detail
