// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators that read and write at indices as operator types: `ops::embedding<2>`, `ops::gather<3, -1>`.

#include <hyperparallel/operators/rules/creation.hpp>
#include <hyperparallel/operators/rules/expert.hpp>
#include <hyperparallel/operators/rules/indexing.hpp>
#include <hyperparallel/operators/rules/scattering.hpp>

namespace hyperparallel::inline v0_2::ops {

/// Indices of `Rank` dims, and a table.
template <int Rank>
struct embedding {
  static constexpr rule_result built = rules::embedding(Rank);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, int Dim>
struct gather {
  static constexpr rule_result built = rules::gather(Rank, Dim);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, int Dim, int IndexRank = 1>
struct index_select {
  static constexpr rule_result built = rules::index_select(Rank, Dim, IndexRank);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, int IndexRank, int Depth>
struct gather_nd {
  static constexpr rule_result built = rules::gather_nd(Rank, IndexRank, Depth);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, int Dim, extent_t Depth>
struct one_hot {
  static constexpr rule_result built = rules::one_hot(Rank, Dim, Depth);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, int SetRank>
struct isin {
  static constexpr rule_result built = rules::isin(Rank, SetRank);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank>
struct nonzero {
  static constexpr rule_result built = rules::nonzero(Rank);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank>
struct masked_select {
  static constexpr rule_result built = rules::masked_select(Rank);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, int Dim>
struct scatter {
  static constexpr rule_result built = rules::scatter(Rank, Dim);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, int Dim>
struct scatter_add {
  static constexpr rule_result built = rules::scatter_add(Rank, Dim);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, int IndexRank>
struct scatter_update {
  static constexpr rule_result built = rules::scatter_update(Rank, IndexRank);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, int MaskRank, int SourceRank>
struct masked_scatter {
  static constexpr rule_result built = rules::masked_scatter(Rank, MaskRank, SourceRank);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, extent_t Samples>
struct multinomial {
  static constexpr rule_result built = rules::multinomial(Rank, Samples);
  static constexpr const factor_rule& rule = built.rule;
};

/// Scores to the chosen experts and their weights.
template <extent_t Chosen>
struct choose_experts {
  static constexpr rule_result built = rules::choose_experts(Chosen);
  static constexpr const factor_rule& rule = built.rule;
};

template <extent_t Experts, extent_t Groups, extent_t Slots>
struct dispatch {
  static constexpr rule_result built = rules::dispatch(Experts, Groups, Slots);
  static constexpr const factor_rule& rule = built.rule;
};

/// The weighted sum of the rows that a token chose. The parameter has one value; it puts the work off to the first use.
template <int = 0>
struct combine {
  static constexpr rule_result built = rules::combine();
  static constexpr const factor_rule& rule = built.rule;
};

}  // namespace hyperparallel::inline v0_2::ops
