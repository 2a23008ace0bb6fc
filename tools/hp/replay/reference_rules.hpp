// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rules that the reference's operators ask for and no function of the library applies.

#include <hyperparallel/operators/rules/scattering.hpp>
#include <hyperparallel/operators/rules/slicing.hpp>

#include "reading.hpp"

namespace replay::reference {

namespace rules = hp::rules;

/// `rules::expand` where only the rank of the operand is known: -1 keeps a dim, any other extent asks for a whole dim, of that
/// extent or of size 1. Fails as well where a dim that is not there should be kept.
constexpr hp::rule_result expand(int rank, const hp::shape& to) {
  if (!rules::is_rank(rank) || !rules::is_rank(to.rank))
    return hp::no_rule("expand", hp::rule_code::too_many_dims, rank);
  if (to.rank < rank) return hp::no_rule("expand", hp::rule_code::axes_differ_from_rank, to.rank);
  hp::factor_rule r = rules::rule_called("expand", hp::moves_elements(0b1u), 0);
  hp::tensor_factors &x = hp::add_operand(r), &y = hp::add_result(r);
  for (int d = 0; d < to.rank; ++d) {
    const bool given = d >= to.rank - rank, kept = to.extent[d] == -1;
    if ((kept && !given) || (!kept && to.extent[d] < 1))
      return hp::no_rule("expand", hp::rule_code::attribute_is_invalid, d);
    if (kept) {
      const int f = hp::add_factor(r);
      hp::add_dim(x, f);
      hp::add_dim(y, f);
      continue;
    }
    if (given) hp::add_dim(x, rules::add_whole(r));
    hp::add_dim(y, hp::add_factor(r, hp::factor_kind::pass_through, to.extent[d]));
  }
  return hp::checked_rule(r);
}

/// Each element of `dim` as often as its own count says: where a slice lands depends on all counts before it.
constexpr hp::rule_result repeat_interleave_by_counts(int rank, int dim) {
  const rules::chosen_dims c = rules::choose(dim, rank);
  if (c.status.code != hp::rule_code::ok) return rules::refused("repeat_interleave", c.status);
  hp::factor_rule r = rules::rule_called("repeat_interleave", hp::moves_elements(0b1u), 0);
  rules::add_factors(r, rank);
  rules::set_kind(r, 0, c.mask, hp::factor_kind::need_replication);
  const int repeated = rules::add_whole(r);
  rules::add_dims(hp::add_operand(r), 0, rank);
  hp::tensor_factors& y = hp::add_result(r);
  for (int d = 0; d < rank; ++d) hp::add_dim(y, rules::has(c.mask, d) ? repeated : d);
  return hp::checked_rule(r);
}

/// `rules::repeat_interleave` of the flattened tensor: its first dim may stay sharded, others where all before them are cut to pieces.
constexpr hp::rule_result repeat_interleave_flat(const hp::shape& from, hp::extent_t times) {
  if (!rules::is_rank(from.rank)) return hp::no_rule("repeat_interleave", hp::rule_code::too_many_dims, from.rank);
  if (times < 1) return hp::no_rule("repeat_interleave", hp::rule_code::attribute_is_invalid);
  hp::factor_rule r = rules::rule_called("repeat_interleave", hp::moves_elements(0b1u), 0);
  hp::add_dim(hp::add_result(r));
  hp::tensor_factors& x = hp::add_operand(r);
  for (int d = 0; d < from.rank; ++d) {
    const int f = hp::add_factor(r, hp::factor_kind::pass_through, from.extent[d]);
    hp::add_dim(x, f);
    hp::extend_dim(r.result[0], f);
  }
  hp::extend_dim(r.result[0], rules::add_whole(r, times));
  return hp::checked_rule(r);
}

/// One entry between the brackets of x[…].
struct index_entry {
  enum class form : unsigned char { range, one, fresh };
  form is = form::range;
  hp::extent_t begin = 0;
  hp::extent_t end = rules::to_the_end;
  hp::extent_t step = 1;
  friend constexpr bool operator==(const index_entry&, const index_entry&) = default;
};

/// x[begin:end:step]
constexpr index_entry range(hp::extent_t begin = 0, hp::extent_t end = rules::to_the_end, hp::extent_t step = 1) {
  return {index_entry::form::range, begin, end, step};
}
/// x[at]: the dim vanishes.
constexpr index_entry one(hp::extent_t at) { return {index_entry::form::one, at, at, 1}; }
/// x[None]: a new dim of size 1.
constexpr index_entry fresh() { return {index_entry::form::fresh, 0, 0, 1}; }

/// Dims of operand and result for one dim of `n` elements of which a range is taken.
constexpr hp::rule_status add_range(hp::factor_rule& r, hp::tensor_factors& x, hp::tensor_factors& y, hp::extent_t n,
                                    const index_entry& e) {
  if (e.step < 1) return {hp::rule_code::attribute_is_invalid, x.rank};
  const rules::taken t = rules::take(n, e.begin, e.end, e.step);
  if (t.extent == 0 && n != 0) return {hp::rule_code::attribute_is_invalid, x.rank};
  const int f = hp::add_factor(r, t.whole ? hp::factor_kind::pass_through : hp::factor_kind::permutation);
  hp::add_dim(x, f);
  hp::add_dim(y, f);
  if (!t.whole) y.extent[y.rank - 1] = t.extent;
  return {};
}

/// x[entry, entry, …]; dims without an entry are taken whole. Fails with axes_differ_from_rank (more entries than
/// dims), axis_is_out_of_range (no such element), attribute_is_invalid (an empty range, or a step below 1), naming the
/// dim.
constexpr hp::rule_result index(const hp::shape& from, const index_entry* entry, int count) {
  hp::factor_rule r = rules::rule_called("index", hp::moves_elements(0b1u), 0);
  hp::tensor_factors &x = hp::add_operand(r), &y = hp::add_result(r);
  for (int i = 0; i < count || x.rank < from.rank; ++i) {
    const index_entry e = i < count ? entry[i] : range();
    if (e.is == index_entry::form::fresh) {
      if (y.rank == hp::max_dims) return hp::no_rule("index", hp::rule_code::too_many_dims, y.rank + 1);
      hp::add_dim(y);
      continue;
    }
    if (x.rank == from.rank) return hp::no_rule("index", hp::rule_code::axes_differ_from_rank, x.rank);
    if (y.rank == hp::max_dims) return hp::no_rule("index", hp::rule_code::too_many_dims, y.rank + 1);
    const hp::extent_t n = from.extent[x.rank];
    if (e.is == index_entry::form::one) {
      if (e.begin < -n || e.begin >= n) return hp::no_rule("index", hp::rule_code::axis_is_out_of_range, x.rank);
      hp::add_dim(x, rules::add_whole(r));
      continue;
    }
    const hp::rule_status s = add_range(r, x, y, n, e);
    if (s.code != hp::rule_code::ok) return rules::refused("index", s);
  }
  return hp::checked_rule(r);
}

/// [begin, end) by steps, of every dim. Fails with axes_differ_from_rank and like `index`.
constexpr hp::rule_result slice(const hp::shape& from, const hp::shape& begin, const hp::shape& end,
                                const hp::shape& step) {
  if (begin.rank != from.rank || end.rank != from.rank || step.rank != from.rank)
    return hp::no_rule("slice", hp::rule_code::axes_differ_from_rank, begin.rank);
  index_entry entry[hp::max_dims];
  for (int d = 0; d < from.rank; ++d) entry[d] = range(begin.extent[d], end.extent[d], step.extent[d]);
  hp::rule_result r = index(from, entry, from.rank);
  r.rule.name = hp::short_text("slice");
  return r;
}

/// A value of the shape that the entries take, written into x at their place: x[entry, …] = value. Operands x and
/// value.
constexpr hp::rule_result assign(const hp::shape& to, const index_entry* entry, int count) {
  hp::rule_result r = index(to, entry, count);
  r.rule.name = hp::short_text("assign");
  if (r.status.code != hp::rule_code::ok) return r;
  const hp::tensor_factors whole = r.rule.operand[0];
  hp::add_operand(r.rule) = r.rule.result[0];
  r.rule.result[0] = whole;
  r.rule.partials = hp::moves_elements(0b11u, hp::partial_mode::together);
  return hp::checked_rule(r.rule);
}

/// `rules::scatter` of one number for all: it is in every term, so sums and products refuse it. Operands: x, index.
constexpr hp::rule_result scatter_number(int rank, int dim) {
  hp::rule_result r = rules::scatter(rank, dim);
  if (r.status.code != hp::rule_code::ok) return r;
  r.rule.operand_count = 2;
  r.rule.operand[2] = {};
  r.rule.partials = hp::partial_algebra::overwrites;
  return hp::checked_rule(r.rule);
}

/// silu(gate) · up of a dim that holds the gate's half before the up's: its major factor is the 2, which is whole.
constexpr hp::rule_result packed_swiglu(int rank, int dim) {
  const rules::chosen_dims c = rules::choose(dim, rank);
  if (c.status.code != hp::rule_code::ok) return rules::refused("packed_swiglu", c.status);
  hp::factor_rule r = rules::rule_called("packed_swiglu", hp::refuse_partials(), 2);
  rules::add_factors(r, rank);
  const int halves = rules::add_whole(r, 2);
  hp::tensor_factors& x = hp::add_operand(r);
  for (int d = 0; d < rank; ++d) {
    hp::add_dim(x, rules::has(c.mask, d) ? halves : d);
    if (rules::has(c.mask, d)) hp::extend_dim(x, d);
  }
  rules::add_dims(hp::add_result(r), 0, rank);
  return hp::checked_rule(r);
}

}  // namespace replay::reference
