// SPDX-License-Identifier: Apache-2.0
#pragma once
// What ends a subcommand of hp without what was asked for.

#include <stdexcept>

namespace hp_tool {

/// Input that cannot be used: one line on the error stream and exit status 2.
struct bad_input : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The answer is no: one line on the error stream and exit status 1. Nothing else that is thrown has that status, but for output
/// that cannot be written.
struct answer_is_no : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace hp_tool
