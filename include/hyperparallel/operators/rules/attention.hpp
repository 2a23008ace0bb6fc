// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention in its layouts, with fewer heads of keys and values than of queries.
//
// Heads are two factors, h heads of keys and values by g queries each, so that an axis on heads cuts both alike and a
// packed hidden dim (h, g, d) between heads only. Each query reads all keys: their sequence is whole. Queries may be
// sharded along theirs; a causal kernel then counts them from where its slice begins. Batch, heads and queries yield.
// Attention is linear in the values and in nothing else.

#include <hyperparallel/operators/rules/attributes.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace rules {

/// b batch, s sequence, n heads, d head, h = n · d packed, t tokens of all sequences.
enum class attention_form : unsigned char { bsh, bnsd, sbh, bsnd, tnd };

enum class attention_mask : unsigned char {
  none,
  queries,  ///< queries × keys
  batches,  ///< batch × 1 × queries × keys
  heads,    ///< batch × heads × queries × keys
};

struct attention_options {
  attention_form form = attention_form::bnsd;
  int heads = 1;
  int kv_heads = 1;
  attention_mask mask = attention_mask::none;
  bool statistics = false;     ///< a second result, log Σ exp of each query: batch × heads × queries, or tokens × heads
  bool own_value_dim = false;  ///< heads of values have another extent than those of keys, and may be sharded
};

namespace parts {

/// Factors of a tensor of attention, -1 where it has none such.
struct attention_dims {
  int batch = -1, sequence = -1, head = -1, group = -1, width = -1;
};

constexpr void add_heads(tensor_factors& t, const attention_dims& f) {
  add_dim(t, f.head);
  if (f.group >= 0) extend_dim(t, f.group);
}

constexpr void add_attention(tensor_factors& t, attention_form form, const attention_dims& f) {
  switch (form) {
    case attention_form::bsh:
    case attention_form::sbh:
      add_dim(t, form == attention_form::bsh ? f.batch : f.sequence);
      add_dim(t, form == attention_form::bsh ? f.sequence : f.batch);
      add_heads(t, f);
      extend_dim(t, f.width);
      break;
    case attention_form::bnsd:
      add_dim(t, f.batch);
      add_heads(t, f);
      add_dim(t, f.sequence);
      add_dim(t, f.width);
      break;
    case attention_form::bsnd:
    case attention_form::tnd:
      if (form == attention_form::bsnd) add_dim(t, f.batch);
      add_dim(t, f.sequence);
      add_heads(t, f);
      add_dim(t, f.width);
      break;
  }
}

constexpr int add_yielding(factor_rule& r, extent_t extent = 0) {
  const int f = add_factors(r, 1, true);
  r.factor[f].extent = extent;
  return f;
}

/// Heads, and the queries of each where there is more than one.
constexpr bool add_head_factors(factor_rule& r, int heads, int kv_heads, attention_dims& q) {
  if (kv_heads < 1 || heads < 1 || heads % kv_heads != 0) return false;
  q.head = add_yielding(r, kv_heads);
  if (heads != kv_heads) q.group = add_yielding(r, heads / kv_heads);
  return true;
}

constexpr void add_mask(tensor_factors& t, attention_mask mask, const attention_dims& q, int keys) {
  if (mask != attention_mask::queries) {
    add_dim(t, q.batch);
    if (mask == attention_mask::heads)
      add_heads(t, q);
    else
      add_dim(t);
  }
  add_dim(t, q.sequence);
  add_dim(t, keys);
}

}  // namespace parts

/// softmax(q · kᵀ + mask) · v. Operands: q, k, v, and the mask where there is one; tokens have none but `queries`. Two
/// products of two operations a point each; with an own value dim the points of both differ, and none are counted.
/// Fails with attribute_is_invalid where heads do not divide, or tokens have a mask of batches.
constexpr rule_result attention(const attention_options& o) {
  factor_rule r = rule_called("attention", refuse_partials(), o.own_value_dim ? 0 : 4);
  const bool tokens = o.form == attention_form::tnd;
  if (tokens && o.mask != attention_mask::none && o.mask != attention_mask::queries)
    return no_rule("attention", rule_code::attribute_is_invalid);
  parts::attention_dims q;
  if (!tokens) q.batch = parts::add_yielding(r);
  q.sequence = parts::add_yielding(r);
  if (!parts::add_head_factors(r, o.heads, o.kv_heads, q)) return no_rule("attention", rule_code::attribute_is_invalid);
  q.width = add_whole(r);
  parts::attention_dims kv = q;
  kv.group = -1;
  kv.sequence = add_whole(r);
  parts::add_attention(add_operand(r), o.form, q);
  parts::add_attention(add_operand(r), o.form, kv);
  if (o.own_value_dim) q.width = kv.width = add_factor(r);
  parts::add_attention(add_operand(r), o.form, kv);
  if (o.mask != attention_mask::none) parts::add_mask(add_operand(r), o.mask, q, kv.sequence);
  parts::add_attention(add_result(r), o.form, q);
  if (!o.statistics) {
    r.partials = linear_in_each(0b100u);
    return checked_rule(r);
  }
  // What does not depend on the values is no term of them, so with statistics they refuse as well.
  tensor_factors& t = add_result(r);
  if (!tokens) add_dim(t, q.batch);
  if (tokens) add_dim(t, q.sequence);
  parts::add_heads(t, q);
  if (!tokens) add_dim(t, q.sequence);
  return checked_rule(r);
}

/// Pairs of a head turned by the angles of their place. Operands: x in `form` of `heads` heads, and cosines and sines,
/// both sequence × head. Linear in x.
constexpr rule_result rope(attention_form form, int heads) {
  factor_rule r = rule_called("rope", linear_in_each(0b001u), 3);
  parts::attention_dims x;
  if (form != attention_form::tnd) x.batch = add_factor(r);
  x.sequence = parts::add_yielding(r);
  if (!parts::add_head_factors(r, heads, heads, x)) return no_rule("rope", rule_code::attribute_is_invalid);
  x.width = add_whole(r);
  parts::add_attention(add_operand(r), form, x);
  for (int table = 0; table < 2; ++table) {
    tensor_factors& t = add_operand(r);
    add_dim(t, x.sequence);
    add_dim(t, x.width);
  }
  parts::add_attention(add_result(r), form, x);
  return checked_rule(r);
}

/// One query of each sequence against keys and values that lie in blocks. Operands: queries, sequences × (h, g, d);
/// keys and values, blocks × slots × h × d; the blocks of each sequence; the length of each.
constexpr rule_result paged_attention(int heads, int kv_heads) {
  if (kv_heads < 1 || heads < 1 || heads % kv_heads != 0)
    return no_rule("paged_attention", rule_code::attribute_is_invalid);
  const bool grouped = heads != kv_heads;
  rule_result r = written("paged_attention", grouped ? "b(hgD),BShD,BShD,bL,b->b(hgD)" : "b(hD),BShD,BShD,bL,b->b(hD)",
                          {reduce_op::none, linear_in_each(0b100u), 0, true});
  r.rule.factor[1].extent = kv_heads;
  if (grouped) r.rule.factor[2].extent = heads / kv_heads;
  return r;
}

/// The `count` keys that matter most to each query: Σ over heads of weight · relu(q · k), and the places of the
/// largest. Operands: queries, batch × s × n × d; keys, batch × s × 1 × d; weights, batch × s × n. Result: batch × s ×
/// 1 × count.
constexpr rule_result lightning_indexer(extent_t count) {
  if (count < 1) return no_rule("lightning_indexer", rule_code::attribute_is_invalid);
  rule_result r = written("lightning_indexer", "bqHD,bK.D,bqH->bq.P", {reduce_op::none, refuse_partials(), 2, true});
  r.rule.factor[5].extent = count;
  return r;
}

}}}  // namespace hyperparallel::v0_2::rules
