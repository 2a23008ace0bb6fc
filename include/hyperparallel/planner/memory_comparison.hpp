// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory of a decoder's plan by a published convention, beside the library's account, part by part.
//
//   const hp::memory_comparison c = hp::compare_with_megatron_2022(llama3, plan, prices);
//   c.convention.total() + (the sum of c.difference(part) over the parts) == c.ours.total()
//
// The convention takes the layers, width and heads of the decoder and the degrees of the plan, nothing else; what it does
// not know is in the differences. It has no experts, latents, context or expert parallelism: of these it is not defined.
// Units: bytes.

#include <hyperparallel/planner/plan_memory.hpp>
#include <hyperparallel/price/megatron_2022.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class convention_code : unsigned char {
  ok,
  model_has_experts,
  model_has_latents,
  model_has_linear_attention,
  degree_is_unknown,
  too_large
};

struct memory_comparison {
  convention_code code = convention_code::ok;
  const char* degree = "";  ///< that is unknown
  memory_by_part convention{}, ours{};

  constexpr bool ok() const { return code == convention_code::ok; }
  /// What the account has more than the convention, or less.
  constexpr extent_t difference(memory_part p) const { return ours.of(p) - convention.of(p); }
  constexpr extent_t difference() const { return ours.total() - convention.total(); }
};

/// What the convention knows of a plan. Its micro-batch is that of one data rank.
constexpr megatron_plan megatron_plan_of(const decoder_plan& p) {
  return {.micro_batch = p.batch / p.micro_batches / p.dp,
          .sequence = p.sequence,
          .tp = p.tp,
          .pp = p.pp,
          .sequence_parallel = p.sequence_parallel,
          .recomputation = p.recomputed ? megatron_recomputation::full : megatron_recomputation::off};
}

/// Precondition: `estimate_plan` of these is ok. O(what partition and memory_account_of take).
constexpr memory_comparison compare_with_megatron_2022(const decoder& d, const decoder_plan& plan,
                                                       plan_prices& prices) {
  memory_comparison c;
  if (d.has_latents) c.code = convention_code::model_has_latents;
  if (d.has_linear) c.code = convention_code::model_has_linear_attention;
  if (d.has_experts) c.code = convention_code::model_has_experts;
  for (const plan_degree& degree : plan_degrees)
    if ((degree.of == &decoder_plan::cp || degree.of == &decoder_plan::ep) && plan.*degree.of > 1 && c.ok()) {
      c.code = convention_code::degree_is_unknown;
      c.degree = degree.name;
    }
  if (c.ok() && plan.adapter_rank > 0) {
    c.code = convention_code::degree_is_unknown;
    c.degree = "frozen parameters";
  }
  if (c.ok() && plan.optimizer != optimizer_kind::adamw) {
    c.code = convention_code::degree_is_unknown;
    c.degree = "optimizers other than Adam";
  }
  if (c.ok() && plan.host_states > 0) {
    c.code = convention_code::degree_is_unknown;
    c.degree = "states on the host";
  }
  if (c.ok() && ((plan.recomputed && plan.selective) || plan.modules != 0)) {
    c.code = convention_code::degree_is_unknown;
    c.degree = "recomputation of selected products";
  }
  if (!c.ok()) return c;
  c.convention =
      megatron_2022({.layers = d.layers, .hidden = d.hidden, .heads = d.attention.query_heads}, megatron_plan_of(plan));
  if (c.convention.total() == not_counted)
    c.code = convention_code::too_large;
  else
    c.ours = plan_memory(d, plan, prices);
  return c;
}

}}  // namespace hyperparallel::v0_2
