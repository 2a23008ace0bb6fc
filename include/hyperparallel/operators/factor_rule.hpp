// SPDX-License-Identifier: Apache-2.0
#pragma once
// Factor rules: everything that sharding has to know about an operator.
//
// A factor is one loop of the operator; every dim of the operands and results runs over factors, mostly over one: a
// dim that a reshape splits runs over several, major to minor, and a dim of size 1 that broadcasts over none. An
// operator obeys its rule when, for each result and each point of its factors,
//   result[point] = op over the factors that it lacks of g(operands at that point),
// where g may read along the factors that must be whole, near the point along the permutation factors, and along no
// other; a factor that passes through and has no op is one that the results without it do not depend on. Source of the kinds: Shardy's sharding rules.

#include <hyperparallel/operators/partial_words.hpp>
#include <hyperparallel/support/fixed_string.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline constexpr int max_results = 5;
inline constexpr int max_factors = 16;
inline constexpr int max_terms = 12;
inline constexpr int max_repeats = 24;

enum class factor_kind : unsigned char {
  pass_through,      ///< an axis that shards it in an operand shards it in the results
  reduction,         ///< not in the results: an axis that shards it leaves them partial
  need_replication,  ///< every device needs it whole
  permutation,       ///< every device needs its part and a halo of its neighbours' (pad, slice, convolution)
};

struct factor {
  char letter = 0;  ///< of the text that the rule was read from
  factor_kind kind = factor_kind::pass_through;
  reduce_op op = reduce_op::none;  ///< of a reduction, or in the results that lack it: none, they do not depend on it
  bool yields = false;   ///< a tensor that holds it whole is sliced, without communication, where another is sharded
  bool blocked = false;  ///< sharding does not spread over it from one tensor to the next
  extent_t extent = 0;   ///< not 0: the only extent that it may have
  friend constexpr bool operator==(const factor&, const factor&) = default;
};

/// Where a factor occurs: a dim of an operand. No default member values, see `cut`.
struct factor_place {
  int operand;
  int dim;
  friend constexpr bool operator==(const factor_place&, const factor_place&) = default;
};

/// A dim and an earlier one that run over one factor.
struct factor_repeat {
  factor_place here, first;
  friend constexpr bool operator==(const factor_repeat&, const factor_repeat&) = default;
};

/// The factors of one tensor: dim d runs over term[first[d] .. first[d + 1]), major to minor. Each factor occurs at
/// most once.
struct tensor_factors {
  int rank = 0;
  unsigned mask = 0;  ///< bit f: some dim runs over factor f
  bool plain = true;  ///< every dim runs over exactly one factor, so term d is the factor of dim d
  int first[max_dims + 1] = {};
  int term[max_terms] = {};
  extent_t extent[max_dims] = {};  ///< not 0: of the dim, where it is not the product of its factors (pad, slice)
  friend constexpr bool operator==(const tensor_factors&, const tensor_factors&) = default;
};

/// What a rule says beside its tensors and factors.
struct rule_facts {
  short_text name;
  int operand_count = 0, result_count = 0, factor_count = 0;
  partial_words partials{};
  unsigned outside = 0;     ///< bit o: operand o is added to the reduction, not reduced with it (a bias)
  int flops_per_point = 0;  ///< floating-point operations per point of all factors
  // Derived by `checked_rule`, so that graph building need not ask the same of a rule again and again.
  /// Every dim of the operands and of the first result is exactly one factor, with an extent that an operand has. The
  /// first result depends on its own factors and on reductions alone.
  bool plain = false;
  bool keeps_first = false;            ///< the first result runs over the factors of operand 0, dim by dim
  unsigned reduced = 0, fixed = 0;     ///< factors of reductions; factors that no axis may shard
  factor_place origin[max_dims] = {};  ///< of each dim of the first result: an operand's dim of the same factor
  int repeat_count = 0;
  factor_repeat repeat[max_repeats] = {};  ///< every dim whose factor an earlier dim has
  friend constexpr bool operator==(const rule_facts&, const rule_facts&) = default;
};

struct factor_rule : rule_facts {
  tensor_factors operand[max_operands] = {};
  tensor_factors result[max_results] = {};
  hyperparallel::factor factor[max_factors] = {};
  friend constexpr bool operator==(const factor_rule&, const factor_rule&) = default;
};

enum class rule_code : unsigned char {
  ok,
  text_is_malformed,
  too_many_operands,
  too_many_results,
  too_many_dims,
  too_many_terms,
  too_many_factors,
  factor_is_used_twice_in_one_tensor,
  mask_differs_from_dims,
  term_is_no_factor,
  factor_is_in_no_tensor,
  kind_does_not_fit_the_results,
  reductions_do_not_commute,
  axis_is_out_of_range,
  axes_repeat,
  axes_differ_from_rank,
  sizes_do_not_fit,
  attribute_is_invalid,
  operand_rank_differs_from_text,
  operand_count_differs_from_text,
  last_dim_is_no_multiple,  ///< of what the operator takes; `where` is its extent
  words_of_a_group_differ,  ///< operand `where` is partial together with others, and says another reduction of the result
};

/// `where` is the character of the text, the factor, the operand or the attribute to blame.
struct rule_status {
  rule_code code = rule_code::ok;
  int where = 0;
  friend constexpr bool operator==(const rule_status&, const rule_status&) = default;
};

/// A refused rule is empty, with the name that was asked for.
struct rule_result {
  rule_status status{};
  factor_rule rule{};
};

// Writing a rule by parts. Domain of all: the rule has room (`check_rule` tells when it had not).

/// A new factor; returns its number.
constexpr int add_factor(factor_rule& r, factor_kind kind = factor_kind::pass_through, extent_t extent = 0,
                         reduce_op op = reduce_op::none) {
  if (r.factor_count < max_factors) r.factor[r.factor_count] = {0, kind, op, false, false, extent};
  return r.factor_count++;
}

constexpr tensor_factors& add_operand(factor_rule& r) {
  return r.operand[r.operand_count < max_operands ? r.operand_count++ : (r.operand_count++, max_operands - 1)];
}
constexpr tensor_factors& add_result(factor_rule& r) {
  return r.result[r.result_count < max_results ? r.result_count++ : (r.result_count++, max_results - 1)];
}

/// One more minor factor for the last dim. A tensor of too many dims stays one: `check_rule` refuses it.
constexpr void extend_dim(tensor_factors& t, int f) {
  if (t.rank < 1 || t.rank > max_dims) return;
  const int n = t.first[t.rank];
  if (n < max_terms) t.term[n] = f;
  t.first[t.rank] = n + 1;
  t.mask |= 1u << f;
  t.plain = t.plain && n + 1 - t.first[t.rank - 1] == 1;
}

constexpr bool has_factor(const tensor_factors& t, int f) { return (t.mask >> f & 1u) != 0; }

/// A dim of no factor: size 1, or broadcast.
constexpr void add_dim(tensor_factors& t) {
  if (t.rank < max_dims) t.first[t.rank + 1] = t.first[t.rank];
  ++t.rank;
  t.plain = false;
}

/// A dim of one factor.
constexpr void add_dim(tensor_factors& t, int f) {
  const bool plain = t.plain;
  add_dim(t);
  t.plain = plain;
  extend_dim(t, f);
}

namespace detail {
/// How often a tensor runs over factor `f`.
constexpr int uses_of(const tensor_factors& t, int f) {
  int n = 0;
  for (int i = 0; i < t.first[t.rank]; ++i) n += t.term[i] == f ? 1 : 0;
  return n;
}

constexpr rule_status check_tensor(const tensor_factors& t, int factors) {
  if (t.rank > max_dims) return {rule_code::too_many_dims, t.rank};
  if (t.first[t.rank] > max_terms) return {rule_code::too_many_terms, t.first[t.rank]};
  int counted = 0;
  for (int f = 0; f < factors; ++f) {
    const int uses = uses_of(t, f);
    if (uses > 1) return {rule_code::factor_is_used_twice_in_one_tensor, f};
    if ((t.mask >> f & 1u) != static_cast<unsigned>(uses)) return {rule_code::mask_differs_from_dims, f};
    counted += uses;
  }
  if (counted != t.first[t.rank] || t.mask >> factors != 0) return {rule_code::term_is_no_factor, factors};
  return {};
}
}  // namespace detail

/// Validates a rule. Conditions: counts fit the arrays; a tensor has each factor at most once; every factor is in some
/// tensor; reductions are in no result and commute with each other; a factor that passes through is in a result, and has
/// an op only if another result lacks it; operands that are partial together say one reduction of the results. Returns the first that fails, with the factor or the count. O(factors · terms).
constexpr rule_status check_rule(const factor_rule& r) {
  if (r.operand_count < 0 || r.operand_count > max_operands) return {rule_code::too_many_operands, r.operand_count};
  if (r.result_count < 1 || r.result_count > max_results) return {rule_code::too_many_results, r.result_count};
  if (r.factor_count > max_factors) return {rule_code::too_many_factors, r.factor_count};
  unsigned in_operands = 0, in_results = 0, in_all_results = ~0u;
  for (int o = 0; o < r.operand_count; ++o) {
    const rule_status s = detail::check_tensor(r.operand[o], r.factor_count);
    if (s.code != rule_code::ok) return s;
    in_operands |= r.operand[o].mask;
  }
  for (int o = 0; o < r.result_count; ++o) {
    const rule_status s = detail::check_tensor(r.result[o], r.factor_count);
    if (s.code != rule_code::ok) return s;
    in_results |= r.result[o].mask;
    in_all_results &= r.result[o].mask;
  }
  reduce_op reduction = reduce_op::none;
  for (int f = 0; f < r.factor_count; ++f) {
    const factor& x = r.factor[f];
    if (((in_operands | in_results) >> f & 1u) == 0) return {rule_code::factor_is_in_no_tensor, f};
    const bool reduces = x.kind == factor_kind::reduction, has_op = x.op != reduce_op::none;
    const bool may_have_op = x.kind == factor_kind::pass_through && (in_all_results >> f & 1u) == 0;
    if (reduces ? !has_op || (in_results >> f & 1u) != 0 : has_op && !may_have_op)
      return {rule_code::kind_does_not_fit_the_results, f};
    if (!reduces && x.kind != factor_kind::need_replication && (in_results >> f & 1u) == 0)
      return {rule_code::kind_does_not_fit_the_results, f};
    if (!has_op) continue;
    if (reduction != reduce_op::none && !commute(reduction, x.op)) return {rule_code::reductions_do_not_commute, f};
    reduction = x.op;
  }
  const int differs = detail::operand_that_differs_from_its_group(r.partials, r.operand_count);
  if (differs >= 0) return {rule_code::words_of_a_group_differ, differs};
  return {};
}

namespace detail {
/// Whether no axis may shard the factor. Domain: a checked rule.
constexpr bool is_whole(const factor_rule& r, int f) { return (r.fixed >> f & 1u) != 0; }

/// Whether intervals of the factor may be computed one after the other: it passes through to all results, so each of
/// their elements belongs to one interval. Domain: a checked rule.
constexpr bool may_be_tiled(const factor_rule& r, int f) {
  bool all = r.result_count > 0 && !is_whole(r, f) && r.factor[f].kind == factor_kind::pass_through;
  for (int i = 0; i < r.result_count; ++i) all = all && has_factor(r.result[i], f);
  return all;
}

}  // namespace detail

constexpr rule_result no_rule(const char* name, rule_code code, int where = 0) {
  rule_result r;
  r.status = {code, where};
  r.rule.name = short_text(name);
  return r;
}

namespace detail {
/// Fills the derived members. A rule that they have no room for is not called plain.
constexpr void index_places(factor_rule& r) {
  unsigned met = 0;
  factor_place first[max_factors] = {};
  const tensor_factors& result = r.result[0];
  r.plain = result.plain;
  r.keeps_first = r.operand_count > 0 && r.operand[0].rank == result.rank;
  r.repeat_count = 0;
  r.reduced = r.fixed = 0;
  for (int f = 0; f < r.factor_count; ++f) {
    const factor_kind kind = r.factor[f].kind;
    if (kind == factor_kind::reduction) r.reduced |= 1u << f;
    if (kind != factor_kind::reduction && kind != factor_kind::pass_through) r.fixed |= 1u << f;
    if (kind == factor_kind::pass_through && r.factor[f].op != reduce_op::none && (result.mask >> f & 1u) == 0)
      r.plain = false;
  }
  for (int o = 0; o < r.operand_count; ++o) {
    const tensor_factors& t = r.operand[o];
    r.plain = r.plain && t.plain;
    for (int d = 0; r.plain && d < t.rank; ++d) {
      const int f = t.term[d];
      const bool repeats = (met >> f & 1u) != 0;
      r.plain = t.extent[d] == 0 && r.factor[f].extent == 0 && !(repeats && r.repeat_count == max_repeats);
      if (!repeats) first[f] = {o, d};
      if (repeats && r.plain) r.repeat[r.repeat_count++] = {{o, d}, first[f]};
      met |= 1u << f;
    }
  }
  for (int d = 0; r.plain && d < result.rank; ++d) {
    r.plain = result.extent[d] == 0 && (met >> result.term[d] & 1u) != 0;
    r.origin[d] = first[result.term[d]];
    r.keeps_first = r.keeps_first && r.operand[0].term[d] == result.term[d];
  }
}

}  // namespace detail

/// The rule where `check_rule` accepts it, else why not.
constexpr rule_result checked_rule(const factor_rule& r) {
  const rule_status s = check_rule(r);
  if (s.code != rule_code::ok) return no_rule(r.name.text, s.code, s.where);
  rule_result result{s, r};
  detail::index_places(result.rule);
  return result;
}

}}  // namespace hyperparallel::v0_2
