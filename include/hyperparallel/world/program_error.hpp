// SPDX-License-Identifier: Apache-2.0
#pragma once
// The error of those who run a sharded program.

#include <stdexcept>

namespace hyperparallel { inline namespace v0_2 {

/// A sharded program cannot be run, or was given what does not fit it.
struct program_error : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

}}  // namespace hyperparallel::v0_2
