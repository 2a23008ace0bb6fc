// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of custom_shard.hpp; see support/compiled.hpp.

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/custom_shard.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY custom_shard_error::custom_shard_error(const char* what, int result_, int position_)
    : dtensor_error("custom_shard: " + std::string(what) + ": result " + std::to_string(result_) + ", position " +
                    std::to_string(position_)),
      result(result_),
      position(position_) {}

}}  // namespace hyperparallel::v0_2
