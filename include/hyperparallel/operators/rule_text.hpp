// SPDX-License-Identifier: Apache-2.0
#pragma once
// Factor rules from text: an einsum whose letters are the factors. Graphs and distributed tensors read the same language.
//
//   "mk,kn->mn"    contraction: k vanishes, so it is a reduction
//   "bsH->bsH"     a capital letter is whole on every device
//   "egc2f->egcf"  a digit is a factor of that extent, whole as well
//   "(ab)c->abc"   a dim of two factors, major first
//   ".n->mn"       a dim of no factor: size 1, broadcast
//   "tE->t,t"      two results; "a,->a" has a number as second operand
//   "*k,kn->*n"    `*` stands for the dims that are left, once a tensor, the same run of factors everywhere
//   "*->*"         of several operands: the last part is repeated for those that it does not name
//
// The last two need the ranks of the operands. Factors are numbered in the order in which they first stand.

#include <hyperparallel/operators/factor_rule.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What the text of a rule does not say.
struct rule_traits {
  reduce_op reduction = reduce_op::sum;
  partial_words partials{};
  int flops_per_point = 0;
  bool yields = false;  ///< of every factor that passes through: whole operands are sliced to meet sharded ones
};

/// Products and their partial sums: linear in each of two operands, a multiplication and an addition per point.
inline constexpr rule_traits contraction{reduce_op::sum, linear_in_each(0b11u), 2, false};

/// How many operands there are, and the rank of each. Domain: at most `max_operands`, none of more than `max_dims` dims.
struct operand_ranks {
  int count = -1;  ///< -1: whatever the text says, which then has no `*`
  int rank[max_operands] = {};
  friend constexpr bool operator==(const operand_ranks&, const operand_ranks&) = default;
};

namespace detail {

constexpr bool is_factor_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '1' && c <= '9');
}

/// Reads the text of a rule from left to right.
class rule_reader {
 public:
  constexpr rule_reader(const char* text, const operand_ranks& ranks) : text_(text), ranks_(ranks) {}

  factor_rule rule;

  /// Operands, results and factors; kinds of factors as their letters say.
  constexpr rule_status run() {
    rule_status s = read_operands();
    if (s.code == rule_code::ok && (text_[at_] != '-' || text_[at_ + 1] != '>')) s = malformed();
    if (s.code != rule_code::ok) return s;
    for (at_ += 2;;) {
      if (rule.result_count == max_results) return {rule_code::too_many_results, at_ - 1};
      s = read_tensor(add_result(rule), -1);
      if (s.code != rule_code::ok) return s;
      if (text_[at_] != ',') break;
      ++at_;
    }
    return text_[at_] == '\0' ? rule_status{} : malformed();
  }

 private:
  constexpr rule_status malformed() const { return {rule_code::text_is_malformed, at_}; }

  constexpr rule_status read_operands() {
    if (ranks_.count == 0)
      return text_[0] == '-' ? rule_status{} : rule_status{rule_code::operand_count_differs_from_text, 0};
    for (int part = 0;;) {
      if (rule.operand_count == max_operands) return {rule_code::too_many_operands, at_ - 1};
      const int number = rule.operand_count;
      const int rank = ranks_.count < 0 ? -1 : ranks_.rank[number];
      const rule_status s = read_tensor(add_operand(rule), rank);
      if (s.code != rule_code::ok) return s;
      if (rank >= 0 && rule.operand[number].rank != rank) return {rule_code::operand_rank_differs_from_text, number};
      const bool more = text_[at_] == ',';
      if (rule.operand_count == ranks_.count)
        return more ? rule_status{rule_code::operand_count_differs_from_text, number + 1} : rule_status{};
      if (more) {
        part = ++at_;
      } else {
        if (ranks_.count < 0 || text_[at_] != '-') return {};
        at_ = part;
      }
    }
  }

  /// One part, up to its comma, the arrow or the end. `rank` is that of the operand, or -1.
  constexpr rule_status read_tensor(tensor_factors& t, int rank) {
    bool group = false, opened = false;  // opened: a parenthesis whose dim is not there yet
    for (bool starred = false;; ++at_) {
      const char c = text_[at_];
      if (c == '\0' || c == ',' || c == '-') return group ? malformed() : rule_status{};
      if (c == '*' && !group && !starred) {
        starred = true;
        const rule_status s = read_star(t, rank);
        if (s.code != rule_code::ok) return s;
      } else if (c == '(' && !group) {
        group = opened = true;
      } else if (c == ')' && group && !opened) {
        group = false;
      } else if (c == '.' && !group) {
        if (t.rank == max_dims) return {rule_code::too_many_dims, at_};
        add_dim(t);
      } else if (is_factor_letter(c)) {
        const int f = factor_of(c);
        if (f >= max_factors) return {rule_code::too_many_factors, at_};
        if (t.first[t.rank] == max_terms) return {rule_code::too_many_terms, at_};
        if (group && !opened) {
          extend_dim(t, f);
          continue;
        }
        if (t.rank == max_dims) return {rule_code::too_many_dims, at_};
        add_dim(t, f);
        opened = false;
      } else {
        return malformed();
      }
    }
  }

  /// Dims for a `*`: factors of their own, the same for every `*` of the rule. Their number is what the rank of the first
  /// operand with a `*` leaves.
  constexpr rule_status read_star(tensor_factors& t, int rank) {
    if (star_ < 0) {
      if (rank < 0) return malformed();
      star_ = rank - t.rank - dims_after(at_ + 1);
      if (star_ < 0) return {rule_code::operand_rank_differs_from_text, rule.operand_count - 1};
    }
    for (int i = 0; i < star_; ++i) {
      if (i == star_factors_) {
        if (rule.factor_count == max_factors) return {rule_code::too_many_factors, at_};
        star_factor_[star_factors_++] = add_factor(rule);
      }
      if (t.first[t.rank] == max_terms) return {rule_code::too_many_terms, at_};
      if (t.rank == max_dims) return {rule_code::too_many_dims, at_};
      add_dim(t, star_factor_[i]);
    }
    return {};
  }

  /// Dims that the rest of a part writes.
  constexpr int dims_after(int i) const {
    int n = 0;
    for (bool group = false; text_[i] != '\0' && text_[i] != ',' && text_[i] != '-'; ++i) {
      if (text_[i] == '(') group = true;
      if (text_[i] == ')') group = false;
      if (text_[i] == ')' || (!group && text_[i] != '(')) ++n;
    }
    return n;
  }

  /// The factor of a letter, added when new.
  constexpr int factor_of(char letter) {
    for (int f = 0; f < rule.factor_count && f < max_factors; ++f)
      if (rule.factor[f].letter == letter) return f;
    const bool digit = letter >= '0' && letter <= '9';
    const bool whole = digit || (letter >= 'A' && letter <= 'Z');
    const int f =
        add_factor(rule, whole ? factor_kind::need_replication : factor_kind::pass_through, digit ? letter - '0' : 0);
    if (f < max_factors) rule.factor[f].letter = letter;
    return f;
  }

  const char* text_;
  const operand_ranks& ranks_;
  int at_ = 0;
  int star_ = -1;  ///< dims of each `*`; -1 before the first
  int star_factors_ = 0;
  int star_factor_[max_dims] = {};
};

/// Kinds of the factors that need not be whole: one of the operands that a result lacks is reduced there by `op`; one
/// that no result has is a reduction.
constexpr void reduce_missing_factors(factor_rule& r, reduce_op op) {
  unsigned in_operands = 0, in_results = 0, in_all_results = ~0u;
  for (int o = 0; o < r.operand_count; ++o) in_operands |= r.operand[o].mask;
  for (int t = 0; t < r.result_count; ++t) {
    in_results |= r.result[t].mask;
    in_all_results &= r.result[t].mask;
  }
  for (int f = 0; f < r.factor_count; ++f) {
    factor& x = r.factor[f];
    if (x.kind == factor_kind::need_replication || x.kind == factor_kind::permutation) continue;
    const bool read = (in_operands >> f & 1u) != 0, made = (in_results >> f & 1u) != 0;
    x.kind = read && !made ? factor_kind::reduction : factor_kind::pass_through;
    x.op = read && (in_all_results >> f & 1u) == 0 ? op : reduce_op::none;
  }
}

}  // namespace detail

/// The rule that `text` writes, "operand,operand->result,result". A small letter of the operands that a result lacks is
/// reduced there by `traits.reduction`; one that no result has is a reduction. One that is in no operand is created by
/// the operator.
/// Fails with the first reason of `rule_code`, naming the character, or the operand. O(length · factors).
constexpr rule_result rule_from(const char* name, const char* text, const rule_traits& traits,
                                const operand_ranks& ranks = {}) {
  if (ranks.count > max_operands) return no_rule(name, rule_code::too_many_operands, ranks.count);
  detail::rule_reader reader(text, ranks);
  const rule_status s = reader.run();
  if (s.code != rule_code::ok) return no_rule(name, s.code, s.where);
  factor_rule& rule = reader.rule;
  rule.name = short_text(name);
  rule.partials = traits.partials;
  rule.flops_per_point = traits.flops_per_point;
  detail::reduce_missing_factors(rule, traits.reduction);
  for (int f = 0; f < rule.factor_count; ++f)
    if (rule.factor[f].kind == factor_kind::pass_through) rule.factor[f].yields = traits.yields;
  return checked_rule(rule);
}

}}  // namespace hyperparallel::v0_2
