// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of tensors, operators and patterns that outlive the evaluation which found them, for error lines and tables.

#include <hyperparallel/support/fixed_string.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline constexpr int most_refusal_text = 95;

/// A name that is kept; longer ones lose their beginning, since the end tells more.
struct refusal_text {
  char text[most_refusal_text + 1] = {};
  int length = 0;

  constexpr refusal_text() = default;
  constexpr explicit refusal_text(const char* name) {
    int skip = text_length(name) - most_refusal_text;
    if (skip < 0) skip = 0;
    for (; name[skip + length] != '\0'; ++length) text[length] = name[skip + length];
  }
  friend constexpr bool operator==(const refusal_text&, const refusal_text&) = default;
};

}}  // namespace hyperparallel::v0_2
