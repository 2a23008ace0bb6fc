// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions applied element by element, with the broadcasting of NumPy: dims are aligned at the right, and a dim of
// size 1, or one that is missing, is repeated.
//
// Factors of one element-wise operator yield: an operand that holds a dim whole is sliced to meet a sharded one. An
// operand that is repeated refuses to be partial, since to reduce it first moves fewer bytes; where the others are
// partial it joins by a fill.

#include <hyperparallel/operators/rules/attributes.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace rules {

namespace parts {

/// Words for an operand that is repeated: it joins, or refuses.
constexpr void repeat_operand(partial_words& w, int operand) {
  for (int i = 1; i < reduce_op_count; ++i) {
    const reduce_op op = static_cast<reduce_op>(i);
    const bool joins = hyperparallel::detail::word_of(w, operand, op).mode == partial_mode::together;
    say(w, operand, op, joins ? partial_mode::joins : partial_mode::refuses, reduce_op::none);
  }
}

}  // namespace parts

/// A function of `count` operands of the same `rank` dims, none of them repeated.
constexpr rule_result same_shape(const char* name, int rank, int count, const partial_words& words, int flops = 1) {
  if (!is_rank(rank)) return no_rule(name, rule_code::too_many_dims, rank);
  if (count < 1 || count > max_operands) return no_rule(name, rule_code::too_many_operands, count);
  factor_rule r = rule_called(name, words, flops);
  add_factors(r, rank, true);
  for (int o = 0; o < count; ++o) add_dims(add_operand(r), 0, rank);
  add_dims(add_result(r), 0, rank);
  return checked_rule(r);
}

/// A function of operands of these shapes. Fails with sizes_do_not_fit, naming the dim of the result.
constexpr rule_result broadcasting(const char* name, const shape* operand, int count, const partial_words& words,
                                   int flops = 1) {
  if (count < 1 || count > max_operands) return no_rule(name, rule_code::too_many_operands, count);
  int rank = 0;
  for (int o = 0; o < count; ++o) rank = operand[o].rank > rank ? operand[o].rank : rank;
  if (!is_rank(rank)) return no_rule(name, rule_code::too_many_dims, rank);
  extent_t extent[max_dims] = {};
  for (int d = 0; d < rank; ++d) {
    extent[d] = 1;
    for (int o = 0; o < count; ++o) {
      const int own = d - (rank - operand[o].rank);
      const extent_t n = own < 0 ? 1 : operand[o].extent[own];
      if (n != 1 && extent[d] != 1 && n != extent[d]) return no_rule(name, rule_code::sizes_do_not_fit, d);
      if (n != 1) extent[d] = n;
    }
  }
  factor_rule r = rule_called(name, words, flops);
  add_factors(r, rank, true);
  for (int o = 0; o < count; ++o) {
    tensor_factors& t = add_operand(r);
    const int missing = rank - operand[o].rank;
    bool repeats = false;
    for (int d = 0; d < rank; ++d) {
      const bool once = extent[d] == 1 || (d >= missing && operand[o].extent[d - missing] == extent[d]);
      repeats = repeats || !once;
      if (d < missing) continue;
      if (once)
        add_dim(t, d);
      else
        add_dim(t);
    }
    if (repeats) parts::repeat_operand(r.partials, o);
  }
  add_dims(add_result(r), 0, rank);
  return checked_rule(r);
}

}}}  // namespace hyperparallel::v0_2::rules
