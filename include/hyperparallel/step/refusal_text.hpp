// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of tensors, operators and patterns that outlive the evaluation which found them, for error lines and tables.

#include <hyperparallel/support/fixed_string.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline constexpr int most_refusal_text = 95;
namespace detail {

inline constexpr int most_quoted_text = 35;

}  // namespace detail

/// A name that is kept; longer ones lose their beginning, since the end tells more.
struct refusal_text {
  char text[most_refusal_text + 1] = {};
  int length = 0;

  constexpr refusal_text() = default;
  constexpr explicit refusal_text(const char* name) {
    int skip = detail::text_length(name) - most_refusal_text;
    if (skip < 0) skip = 0;
    for (; name[skip + length] != '\0'; ++length) text[length] = name[skip + length];
  }
  friend constexpr bool operator==(const refusal_text&, const refusal_text&) = default;
};

namespace detail {

/// Names that are kept, joined by commas; the first that does not fit is dots, and so are all behind it.
struct refusal_list {
  refusal_text joined{};
  bool is_cut = false;

  constexpr void add(const char* name) {
    constexpr int dots = 5;  // of ", ..."
    if (is_cut) return;
    is_cut = joined.length + 2 + text_length(name) > most_refusal_text - dots;
    if (joined.length > 0) append(", ");
    append(is_cut ? "..." : name);
  }
  friend constexpr bool operator==(const refusal_list&, const refusal_list&) = default;

 private:
  constexpr void append(const char* text) {
    for (int i = 0; text[i] != '\0'; ++i) joined.text[joined.length++] = text[i];
  }
};

/// The text of traits like those of `spelled` as one template argument: compilers print it in quotes, clang at most
/// `most_quoted_text` characters of it.
template <class Traits>
constexpr auto quoted_text() {
  fixed_string<Traits::length + 1> quoted;
  for (int i = 0; i < Traits::length; ++i) quoted.text[i] = Traits::text[i];
  return quoted;
}

/// The same with at most `most_quoted_text` characters: three dots stand for the middle of what is longer, and the longer
/// part is kept of its end.
template <class Traits>
constexpr auto quoted_name() {
  constexpr bool whole = Traits::length <= most_quoted_text;
  constexpr int head = (most_quoted_text - 3) / 3, tail = most_quoted_text - 3 - head;
  fixed_string<(whole ? Traits::length : most_quoted_text) + 1> quoted;
  for (int i = 0; i < quoted.size(); ++i)
    quoted.text[i] = whole || i < head ? Traits::text[i]
                     : i < head + 3    ? '.'
                                       : Traits::text[Traits::length - tail + i - head - 3];
  return quoted;
}

/// `Name<"dp, tp">` of the text, in error lines.
template <template <fixed_string> class Name, class Traits>
using quoted = Name<detail::quoted_text<Traits>()>;

}  // namespace detail

}}  // namespace hyperparallel::v0_2
