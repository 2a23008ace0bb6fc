// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bounds of raw arrays. Counts of the library are signed, bounds of arrays are not; g++ 12 warns of that conversion
// (-Wsign-conversion) wherever the bound depends on a template argument, although its value is a constant.

#include <cstddef>
#include <cstdint>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// The bound `count` of a raw array: `task task[array_bound(Size.tasks + 1)]`. A negative one is more than any array may have,
/// which the compiler refuses.
constexpr std::size_t array_bound(std::int64_t count) { return static_cast<std::size_t>(count); }

}}}  // namespace hyperparallel::v0_2::detail
