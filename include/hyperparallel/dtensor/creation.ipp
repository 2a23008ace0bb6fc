// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of creation.hpp; see support/compiled.hpp.

#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include <hyperparallel/dtensor/creation.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

HYPERPARALLEL_BODY double keyed_normal(const random_key& key, std::uint64_t index) {
  const double radius = 1.0 - unit_uniform({key.seed, mix_bits(key.stream)}, index);  // in (0, 1]
  const double angle = 2.0 * std::numbers::pi * unit_uniform(key, index);
  return std::sqrt(-2.0 * std::log(radius)) * std::cos(angle);
}

}}}  // namespace hyperparallel::v0_2::detail
