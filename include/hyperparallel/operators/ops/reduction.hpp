// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reductions and functions of order as operator types: `ops::reduce_sum<3, false, -1>` over the last of three dims.

#include <hyperparallel/operators/rules/ordering.hpp>
#include <hyperparallel/operators/rules/reduction.hpp>

namespace hyperparallel::inline v0_2::ops {

/// The named reduction over `Dims`; all, where none is listed.
template <fixed_string Name, int Rank, bool Keep, int... Dims>
struct reduction {
  static constexpr rule_result built = rules::reduce(Name.text, Rank, {Dims...}, Keep);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, bool Keep, int... Dims>
using reduce_sum = reduction<"sum", Rank, Keep, Dims...>;
template <int Rank, bool Keep, int... Dims>
using reduce_mean = reduction<"mean", Rank, Keep, Dims...>;
template <int Rank, bool Keep, int... Dims>
using reduce_prod = reduction<"prod", Rank, Keep, Dims...>;
template <int Rank, bool Keep, int... Dims>
using reduce_max = reduction<"max", Rank, Keep, Dims...>;
template <int Rank, bool Keep, int... Dims>
using reduce_min = reduction<"min", Rank, Keep, Dims...>;
template <int Rank, bool Keep, int... Dims>
using reduce_all = reduction<"all", Rank, Keep, Dims...>;
template <int Rank, bool Keep, int... Dims>
using reduce_any = reduction<"any", Rank, Keep, Dims...>;
template <int Rank, bool Keep, int... Dims>
using reduce_var = reduction<"var", Rank, Keep, Dims...>;
template <int Rank, bool Keep, int... Dims>
using reduce_logsumexp = reduction<"logsumexp", Rank, Keep, Dims...>;

/// Largest values along a dim and their places.
template <int Rank, int Dim, bool Keep = false>
struct max_with_index {
  static constexpr rule_result built = rules::indexed_reduction("max", Rank, Dim, Keep);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, int Dim, bool Keep = false>
struct min_with_index {
  static constexpr rule_result built = rules::indexed_reduction("min", Rank, Dim, Keep);
  static constexpr const factor_rule& rule = built.rule;
};

/// Places only; of all elements where no dim is listed.
template <int Rank, bool Keep, int... Dims>
struct argmax {
  static constexpr rule_result built = rules::index_of("argmax", Rank, {Dims...}, Keep);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, bool Keep, int... Dims>
struct argmin {
  static constexpr rule_result built = rules::index_of("argmin", Rank, {Dims...}, Keep);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, int Dim>
struct cumsum {
  static constexpr rule_result built = rules::cumsum(Rank, Dim);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, int Dim>
struct cumprod {
  static constexpr rule_result built = rules::cumprod(Rank, Dim);
  static constexpr const factor_rule& rule = built.rule;
};

/// Sorted elements and where each was.
template <int Rank, int Dim = -1>
struct sort {
  static constexpr rule_result built = rules::sort(Rank, Dim);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, int Dim = -1>
struct argsort {
  static constexpr rule_result built = rules::argsort(Rank, Dim);
  static constexpr const factor_rule& rule = built.rule;
};

/// The largest along a dim and where they were.
template <int Rank, int Dim, extent_t Count>
struct topk {
  static constexpr rule_result built = rules::topk(Rank, Dim, Count);
  static constexpr const factor_rule& rule = built.rule;
};

}  // namespace hyperparallel::inline v0_2::ops
