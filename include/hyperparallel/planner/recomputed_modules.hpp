// SPDX-License-Identifier: Apache-2.0
#pragma once
// Modules of a layer that are computed again in backward where whole layers are not, by Megatron-LM's names (--recompute-modules).
//
//   hp::decoder_plan p{…, .modules = hp::module_bit("layernorm") | hp::module_bit("moe_act")};
//   hp::visit_modules(p.modules, [](const hp::recomputed_module& m) { … m.name … });
//
// layernorm is the norm before attention and the one before the feed-forward layer, moe_act the activation of routed experts, mla_up_proj what
// latents are projected up to, with its rotation; mlp, moe and shared_experts are these layers whole. core_attn is none here: of attention no
// kernel keeps scores. A module that a plan names stands in a layer of the model (plan_check.hpp).
//
// Law: a step takes no less time than without modules. Source: megatron/core/transformer,
// transformer_config.py. O(1).

#include <hyperparallel/graph/sharding_plan.hpp>
#include <hyperparallel/layers/decoder.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct recomputed_module {
  static constexpr int most_patterns = 3;
  const char* name;
  const char* pattern[most_patterns];  ///< of operators; null ends them
  bool (*stands_in)(const decoder& d, extent_t layer);
};

inline constexpr recomputed_module recomputed_modules[] = {
    {"layernorm", {"*.attention_norm", "*.feed_forward_norm"}, [](const decoder&, extent_t) { return true; }},
    {"moe_act", {"*.moe.experts.activation"}, [](const decoder& d, extent_t layer) { return d.is_sparse(layer); }},
    {"mla_up_proj",
     {"*.attention.*_up", "*.attention.query_rope", "*.attention.*_rotated"},
     [](const decoder& d, extent_t layer) { return d.has_latents && d.has_attention(layer) && !d.is_linear(layer); }},
    {"mlp", {"*.feed_forward.*"}, [](const decoder& d, extent_t layer) { return d.is_dense(layer); }},
    {"moe", {"*.moe.*"}, [](const decoder& d, extent_t layer) { return d.is_sparse(layer); }},
    {"shared_experts", {"*.moe.shared.*"}, [](const decoder& d, extent_t layer) {
       return d.is_sparse(layer) && d.experts.shared_width > 0;
     }}};
namespace detail {

inline constexpr unsigned all_modules = (1u << (sizeof(recomputed_modules) / sizeof(recomputed_modules[0]))) - 1;

}  // namespace detail

/// The bit of the module called so, or 0.
constexpr unsigned module_bit(const char* name) {
  unsigned bit = 1;
  for (const recomputed_module& m : recomputed_modules) {
    if (detail::same_text(m.name, name)) return bit;
    bit <<= 1;
  }
  return 0;
}

/// Calls `visit(module)` for each of these bits, in the order of the table.
template <class Visit>
constexpr void visit_modules(unsigned modules, const Visit& visit) {
  unsigned bit = 1;
  for (const recomputed_module& m : recomputed_modules) {
    if ((modules & bit) != 0) visit(m);
    bit <<= 1;
  }
}

namespace detail {

/// Whether a layer of the model has the module. O(layers).
constexpr bool stands_in(const recomputed_module& m, const decoder& d) {
  for (extent_t layer = 0; layer < d.layers; ++layer)
    if (m.stands_in(d, layer)) return true;
  return false;
}

/// Calls `visit(pattern)` for the modules' patterns that match an operator of the model's graph; parts of `moe` beside it have none. O(operators).
template <class Visit>
constexpr void visit_module_patterns(unsigned modules, const graph& g, const Visit& visit) {
  if ((modules & module_bit("moe")) != 0) modules &= ~(module_bit("moe_act") | module_bit("shared_experts"));
  visit_modules(modules, [&](const recomputed_module& m) {
    for (const char* pattern : m.pattern) {
      bool matches = false;
      for (int o = 0; pattern != nullptr && o < g.op.size && !matches; ++o)
        matches = name_matches(pattern, g.name_of_op(o));
      if (matches) visit(pattern);
    }
  });
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
