// SPDX-License-Identifier: Apache-2.0
#pragma once
// How parameters begin.
//
// Law: a parameter begins as it was declared (`model_builder::parameter`), else as its first reader says: what is added
// at 0 (a bias), what multiplies each element at 1 (the weight of a norm), everything else uniform with the variance
// 1 / width, where width is the number of terms of one sum over the parameter's dims, or of a row's elements where
// nothing is summed or rows are gathered (an embedding). An operator of a user says it by `starts_at_one` and
// `starts_at_zero`, masks of its operands.

#include <cstdint>

#include <hyperparallel/graph/graph.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// The stream of random numbers that belongs to a name.
constexpr std::uint64_t stream_of(const char* name) { return hash_of_text(name); }

/// Uniform in constant ± √3 · deviation.
struct first_values {
  double deviation = 0;
  double constant = 0;
  friend constexpr bool operator==(const first_values&, const first_values&) = default;
};

/// Of a parameter of `g`; one that no operator reads begins at 0. O(operators).
first_values first_values_of(const graph& g, int parameter);

}}}  // namespace hyperparallel::v0_2::detail

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/world/first_values.ipp>
#endif
