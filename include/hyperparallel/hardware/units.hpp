// SPDX-License-Identifier: Apache-2.0
#pragma once
// Units of this library: times are integer picoseconds, amounts are bytes, rates are per second.
//
// Binary names (KiB …) measure capacities, decimal names (gigabyte …) measure bandwidths, as data sheets do. Write the
// number in front: `64 * GiB`, `196 * gigabyte` (bytes, or bytes per second), `50 * microsecond`.

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 {

inline constexpr std::int64_t KiB = 1024;
inline constexpr std::int64_t MiB = 1024 * KiB;
inline constexpr std::int64_t GiB = 1024 * MiB;
inline constexpr std::int64_t TiB = 1024 * GiB;

inline constexpr std::int64_t kilobyte = 1000;
inline constexpr std::int64_t megabyte = 1000 * kilobyte;
inline constexpr std::int64_t gigabyte = 1000 * megabyte;
inline constexpr std::int64_t terabyte = 1000 * gigabyte;

/// A link of `n` gigabit per second carries `n * gigabit_per_second` bytes per second.
inline constexpr std::int64_t gigabit_per_second = gigabyte / 8;

/// Operations per second.
inline constexpr std::int64_t gigaflops = 1'000'000'000;
inline constexpr std::int64_t teraflops = 1000 * gigaflops;

inline constexpr std::int64_t picosecond = 1;
inline constexpr std::int64_t nanosecond = 1000 * picosecond;
inline constexpr std::int64_t microsecond = 1000 * nanosecond;
inline constexpr std::int64_t millisecond = 1000 * microsecond;
inline constexpr std::int64_t second = 1000 * millisecond;

}}  // namespace hyperparallel::v0_2
