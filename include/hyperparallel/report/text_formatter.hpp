// SPDX-License-Identifier: Apache-2.0
#pragma once
// One rule for every formatter of the library: `to_text(value)` says what a value is, and `{}` prints exactly that.
//
// Laws: fmt::format("{}", v) == to_text(v); width, alignment and fill apply to the whole text, so "{:>12}" lines up
// columns. What has a `to_text` beside it has a formatter.

#include <concepts>
#include <string>

// g++ 12 warns at -O3 of the fill characters of fmt 9, whose bounds it loses; the warning is decided where fmt is read.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif
#include <fmt/format.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

namespace hyperparallel { inline namespace v0_2 { namespace report { namespace detail {

/// A `to_text` in the namespace of the type says what a value is.
template <class Value>
concept has_text = requires(const Value& value) {
  { to_text(value) } -> std::convertible_to<fmt::string_view>;
};

template <class Value>
struct text_formatter : fmt::formatter<fmt::string_view> {
  template <class Context>
  auto format(const Value& value, Context& context) const {
    const auto& text = to_text(value);
    return fmt::formatter<fmt::string_view>::format(fmt::string_view(text), context);
  }
};

/// `count` texts, in brackets and parted by ", ": list_text(3, of_index) → "(a, b, c)".
template <class TextOf>
std::string list_text(int count, const TextOf& text_of, const char* open = "(", const char* close = ")") {
  std::string out = open;
  for (int i = 0; i < count; ++i) {
    if (i > 0) out += ", ";
    out += text_of(i);
  }
  return out + close;
}

}}}}  // namespace hyperparallel::v0_2::report::detail

template <class Value>
  requires hyperparallel::report::detail::has_text<Value>
struct fmt::formatter<Value, char> : hyperparallel::report::detail::text_formatter<Value> {};
