// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rules that the reference's operators ask for and no function of the library applies.

#include <hyperparallel/operators/rules/attributes.hpp>

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

}  // namespace replay::reference
