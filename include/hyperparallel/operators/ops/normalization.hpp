// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that read along dims, and attention, as operator types: `ops::softmax<2>`, `ops::rms_norm<3>`.

#include <hyperparallel/operators/rules/attention.hpp>
#include <hyperparallel/operators/rules/normalization.hpp>

namespace hyperparallel::inline v0_2::ops {

template <int Rank, int... Dims>
struct softmax {
  static constexpr rule_result built =
      rules::softmax(Rank, sizeof...(Dims) == 0 ? rules::dim_list(-1) : rules::dim_list(Dims...));
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, int... Dims>
struct log_softmax {
  static constexpr rule_result built =
      rules::log_softmax(Rank, sizeof...(Dims) == 0 ? rules::dim_list(-1) : rules::dim_list(Dims...));
  static constexpr const factor_rule& rule = built.rule;
};

/// Over the last `Normalized` dims, with a weight and a bias where `Weights` counts them.
template <int Rank, int Normalized = 1, int Weights = 0>
struct layer_norm {
  static constexpr rule_result built = rules::layer_norm(Rank, Normalized, Weights);
  static constexpr const factor_rule& rule = built.rule;
};

/// Two results: the tensor and the reciprocal roots.
template <int Rank, int Normalized = 1, int Weights = 1>
struct rms_norm {
  static constexpr rule_result built = rules::rms_norm(Rank, Normalized, Weights);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, int Dim = -1>
struct packed_swiglu {
  static constexpr rule_result built = rules::packed_swiglu(Rank, Dim);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, reduce_op Reduction = reduce_op::none>
struct cross_entropy {
  static constexpr rule_result built = rules::cross_entropy(Rank, Reduction);
  static constexpr const factor_rule& rule = built.rule;
};

template <rules::attention_options Options>
struct attention {
  static constexpr rule_result built = rules::attention(Options);
  static constexpr const factor_rule& rule = built.rule;
};

/// Batch × heads × sequence × head, as scaled_dot_product_attention takes it.
template <int Heads, int KvHeads = Heads>
struct dot_product_attention {
  static constexpr rule_result built = rules::attention({rules::attention_form::bnsd, Heads, KvHeads});
  static constexpr const factor_rule& rule = built.rule;
};

template <rules::attention_form Form, int Heads>
struct rope {
  static constexpr rule_result built = rules::rope(Form, Heads);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Heads, int KvHeads>
struct paged_attention {
  static constexpr rule_result built = rules::paged_attention(Heads, KvHeads);
  static constexpr const factor_rule& rule = built.rule;
};

template <extent_t Count>
struct lightning_indexer {
  static constexpr rule_result built = rules::lightning_indexer(Count);
  static constexpr const factor_rule& rule = built.rule;
};

}  // namespace hyperparallel::inline v0_2::ops
