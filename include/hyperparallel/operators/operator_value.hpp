// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operator as a value: what graphs, the partitioner and accounts know of it; and the list that a program names its
// operators by. Types write them (operator_list.hpp), kernels are bound to them where programs run.

#include <hyperparallel/operators/local_work.hpp>
#include <hyperparallel/operators/partial_algebra.hpp>

namespace hyperparallel { inline namespace v0_2 {

class gradient_writer;

/// What computes an operator: the matrix core or the vector core.
enum class compute_unit : unsigned char { matrix, vector };

/// The place of an operator in a program's list.
enum class operator_id : int {};

/// Whether extents of an instance fit each other beyond its rule: what the created dims have, and what the operands have
/// for them. `no_such_text`: the operator knows no such rule. `not_a_multiple`: the last dim of operand 0, of extent `made`,
/// is no multiple of `there`.
struct instance_fit {
  enum class verdict : unsigned char { fits, no_such_text, extent_differs, not_a_multiple };
  verdict is = verdict::fits;
  extent_t made = 0, there = 0;
};

namespace detail {

// Functions that an operator does not have. They are called, not compared with null: that is no constant expression
// where code is sanitized.
constexpr void says_no_gradient(gradient_writer&) {}
constexpr bool has_gradient_for_any(const factor_rule&) { return true; }

}  // namespace detail

/// What an instance of an operator says beside its operands; each operator gives them their meaning.
struct operator_attributes {
  extent_t integer[2] = {};
  double real[5] = {};
  reduce_op reduction = reduce_op::sum;  ///< of factors that results lack
};

/// Where an operator of attention has its queries and keys among its operands; each has its sequence as second dim.
struct attention_operands {
  int queries = -1, keys = -1;
  bool backward = false;
  constexpr bool exist() const { return queries >= 0; }
};

/// States of an update: its operands are the parameter, the gradient, states and last the clip factor, and its results what
/// takes the place of parameter and states.
struct parameter_states {
  int moments = 0;  ///< the last states
  int master = -1;  ///< the operand that is the exact parameter, where operand 0 is it rounded
  constexpr bool exist() const { return moments > 0; }
  constexpr bool has_master() const { return master >= 0; }
};

/// Keys of the operators that do an attention's work where its keys travel around a ring: `block` on one block of keys,
/// and `merge` where results of two blocks are not added but joined.
struct ring_operators {
  std::uint64_t block = 0, merge = 0;
  constexpr bool exist() const { return block != 0; }
};

/// Keys of the operators that make operands 0 to 2 of a loss of the same logits, and of the one that makes the gradient of
/// these: from the loss's gradient, the logits, operands 0 and 1, and the labels, which are operand 3.
struct logits_operators {
  std::uint64_t largest = 0, exponentials = 0, picked = 0, gradient = 0;
  constexpr bool exist() const { return gradient != 0; }
};

namespace detail {

constexpr instance_fit fits_any(const factor_rule&, const extent_t*, const operator_attributes&) { return {}; }

}  // namespace detail

/// Masks have bit i for operand i, or result i.
struct operator_value {
  const char* name = "";
  const char* text = "";  ///< of the factor rule, see rule_text.hpp; empty: each instance brings its own
  compute_unit unit = compute_unit::vector;
  int flops_per_point = 0;  ///< of the box of all loops; by convention of the cost model
  partial_words partials = refuse_partials();
  unsigned indices = 0;            ///< operands that hold numbers of rows, experts, labels
  char index_below = '\0';         ///< the factor whose extent these numbers are below; '\0': of none
  bool index_or_negative = false;  ///< a negative number stands for no row
  unsigned gathered = 0;           ///< operands of which no more is read than the first result has: rows of a table
  unsigned index_results = 0;      ///< results that hold numbers
  unsigned statistics = 0;         ///< results of at least 32 bits: what sums depend on
  unsigned constant = 0;           ///< results that do not change with the operands, so that no gradient passes
  unsigned starts_at_one = 0;      ///< operands that begin at 1 where they are parameters: what multiplies each element
  unsigned starts_at_zero = 0;     ///< operands that begin at 0 where they are parameters: what is added
  unsigned passes_gradient = 0;    ///< operands of the first result's dims that its gradient goes to as it is
  unsigned without_gradient = 0;   ///< results whose gradients nothing reads: a loss that depends on one is refused
  bool is_product = false;       ///< an einsum of two operands: has the formats, tiles and adapters of a matrix product
  bool accumulates = false;      ///< adds operand 1 to operand 0, in its place: a sum over micro-batches
  attention_operands attends{};  ///< of attention alone
  bool adds = false;             ///< the sum of all its operands, however many: some of them may be added first
  bool adds_bias = false;        ///< adds operand 1, a layer's bias: what strategies say of `output` holds for its dims
  bool is_norm_term = false;     ///< makes of one gradient its term of the norm of all
  int balanced_by = -1;          ///< a router's bias, an operand: with it each of the index results is chosen as often
  bool counts_choices = false;   ///< counts how often each number stands in operand 0: what such a bias follows
  parameter_states states{};     ///< of an update that has some
  ring_operators ring{};         ///< of an attention that has them; a type says `ring_block` and `ring_merge`
  logits_operators logits{};     ///< of a loss in parts; a type says the same names, but `logits_gradient`
  std::uint64_t key = 0;         ///< of its type: two operators are the same where this is
  bool has_flops = false;        ///< the cost is `flops`; else it is `flops_per_point` times the points
  extent_t (*flops)(const local_work&) = nullptr;
  bool has_scratch = false;                                       ///< it has `scratch_bytes`
  extent_t (*scratch_bytes)(const local_work&) = nullptr;         ///< that it writes and reads again while it computes
  void (*gradient)(gradient_writer&) = detail::says_no_gradient;  ///< says the backward operators
  bool (*has_gradient_for)(const factor_rule&) = detail::has_gradient_for_any;  ///< whether these serve the rule
  /// Whether an instance whose factors have these extents is one of the operator.
  instance_fit (*fits)(const factor_rule&, const extent_t*, const operator_attributes&) = detail::fits_any;
};

/// The operators of a program: built-in ones, then a user's. Lives as long as its types.
struct operator_list {
  const operator_value* const* item = nullptr;
  int count = 0;

  constexpr bool has(operator_id op) const { return static_cast<int>(op) >= 0 && static_cast<int>(op) < count; }
  /// Domain: `has(op)`.
  constexpr const operator_value& operator[](operator_id op) const { return *item[static_cast<int>(op)]; }
  /// The place of an operator; `has` is false of the answer where it is not in the list. O(count).
  constexpr operator_id id_of(const operator_value& o) const { return id_of_key(o.key); }
  constexpr operator_id id_of_key(std::uint64_t key) const {
    int i = 0;
    while (i < count && item[i]->key != key) ++i;
    return static_cast<operator_id>(i);
  }
};

constexpr bool is_in(unsigned mask, int i) { return (mask >> i & 1u) != 0; }

namespace detail {

/// Whether two tensors run over the same factors in the same order.
constexpr bool same_factors(const tensor_factors& a, const tensor_factors& b) {
  if (a.rank != b.rank) return false;
  for (int d = 0; d < a.rank; ++d)
    if (a.term[d] != b.term[d]) return false;
  return true;
}

/// Whether every tensor runs over the dims of operand 0 in order and none need be whole: results lie where operands
/// that lie alike do, in any layout.
constexpr bool is_pointwise(const factor_rule& r) {
  const auto like_first = [&r](const tensor_factors& t) { return t.plain && same_factors(t, r.operand[0]); };
  bool all = r.operand_count > 0 && r.fixed == 0;
  for (int i = 0; i < r.operand_count; ++i) all = all && like_first(r.operand[i]);
  for (int i = 0; i < r.result_count; ++i) all = all && like_first(r.result[i]);
  return all;
}

/// Whether operands that lie alike, pending sums or not, give results that lie like them: a pointwise operator that is
/// linear in all its operands together.
constexpr bool passes_sums_together(const factor_rule& r) {
  for (int i = 0; i < r.operand_count; ++i)
    if (word_of(r.partials, i, reduce_op::sum).mode != partial_mode::together) return false;
  return is_pointwise(r);
}

/// Whether operand `i` alone may wait for a sum, and the results then do.
constexpr bool passes_sums_of(const factor_rule& r, int i) {
  return word_of(r.partials, i, reduce_op::sum).mode == partial_mode::each;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
