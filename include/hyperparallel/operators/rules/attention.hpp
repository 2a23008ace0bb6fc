// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention with fewer heads of keys and values than of queries.
//
// Heads are two factors, h heads of keys and values by g queries each, so that an axis on heads cuts both alike, between
// heads of keys only. Each query reads all keys: their sequence is whole. Queries may be sharded along theirs; a causal
// kernel then counts them from where their slice begins. Batch, heads and queries yield. Attention is linear in the
// values and in nothing else.

#include <hyperparallel/operators/rules/attributes.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace rules {

/// softmax(q · kᵀ) · v. Operands: q, k, v, each batch × heads × sequence × head. Two products of two operations a point
/// each. Fails with attribute_is_invalid where heads do not divide.
constexpr rule_result attention(int heads, int kv_heads) {
  if (kv_heads < 1 || heads < 1 || heads % kv_heads != 0) return no_rule("attention", rule_code::attribute_is_invalid);
  const bool grouped = heads != kv_heads;
  rule_result r = written("attention", grouped ? "b(hg)qD,bhKD,bhKD->b(hg)qD" : "bhqD,bhKD,bhKD->bhqD",
                          {reduce_op::none, linear_in_each(0b100u), 4, true});
  r.rule.factor[1].extent = kv_heads;
  if (grouped) r.rule.factor[2].extent = heads / kv_heads;
  return r;
}

}}}  // namespace hyperparallel::v0_2::rules
