// SPDX-License-Identifier: Apache-2.0
#pragma once
// The steady clock as a number. On Linux without <chrono>, which costs a compiler a twentieth of dtensor.hpp.
// Law: later calls of any thread that happen after an earlier one give no less.

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Nanoseconds since some fixed moment of this process's machine.
std::int64_t steady_nanoseconds() noexcept;

}}}  // namespace hyperparallel::v0_2::detail

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/kernels/steady_time.ipp>
#endif
