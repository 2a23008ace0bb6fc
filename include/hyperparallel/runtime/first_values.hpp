// SPDX-License-Identifier: Apache-2.0
#pragma once
// How parameters begin.

#include <cstdint>

#include <hyperparallel/graph/graph.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The stream of random numbers that belongs to a name.
constexpr std::uint64_t stream_of(const char* name) { return hash_of_text(name); }

/// How a parameter begins: uniform in ±√3 · deviation, or `constant` where that is not 0.
struct first_values {
  double deviation = 0;
  double constant = 0;
};

/// By the parameter's first reader. O(operators).
first_values first_values_of(const graph& g, int parameter);

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/runtime/first_values.ipp>
#endif
