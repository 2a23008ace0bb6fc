// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sentences from patterns, at compile time and at run time.
//
//   "dim {dim} of extent {extent} does not divide by its {shards} shards[ (axes {axes_named})]"
//
// A slot in braces is filled by whoever knows its text. Of `[first|second]` the first alternative stands whose slots all
// have a text, or nothing. Law: what is not in braces and not in a dropped alternative stands in the message as it is.

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// A text of at most `capacity` characters; what is longer ends in "...". `static_assert` takes it as a message.
struct static_message {
  static constexpr int capacity = 1020;
  char text[capacity + 4] = {};
  int length = 0;

  constexpr void add(char c) {
    if (length < capacity)
      text[length++] = c;
    else if (length == capacity)
      for (int i = 0; i < 3; ++i) text[length++] = '.';
  }
  constexpr void add(const char* begin, const char* end) {
    for (; begin != end; ++begin) add(*begin);
  }
  constexpr void add(const char* source) {
    for (; *source != '\0'; ++source) add(*source);
  }
  /// Back to the first `n` characters.
  constexpr void cut_to(int n) {
    while (length > n) text[--length] = '\0';
  }
};

constexpr const char* find_any(const char* at, const char* end, char a, char b) {
  while (at != end && *at != a && *at != b) ++at;
  return at;
}

/// Literal characters and slots of [at, end). Whether each slot has a text.
template <class AddSlot>
constexpr bool fill_run(static_message& m, const char* at, const char* end, const AddSlot& add_slot) {
  bool whole = true;
  for (; at != end; ++at) {
    if (*at != '{') {
      m.add(*at);
      continue;
    }
    const char* const close = find_any(at, end, '}', '}');
    const int before = m.length;
    add_slot(m, at + 1, close);
    whole = whole && m.length > before;
    at = close;
  }
  return whole;
}

/// Appends `pattern`. `add_slot(message, begin, end)` appends the text of the slot called [begin, end), or nothing where
/// it has none. Domain: braces and brackets are closed, brackets do not nest.
template <class AddSlot>
constexpr void fill_pattern(static_message& m, const char* pattern, const AddSlot& add_slot) {
  const char* end = pattern;
  while (*end != '\0') ++end;
  for (const char* at = pattern; at != end;) {
    if (*at != '[') {
      const char* const stop = detail::find_any(at, end, '[', '[');
      detail::fill_run(m, at, stop, add_slot);
      at = stop;
      continue;
    }
    const char* const close = detail::find_any(at, end, ']', ']');
    for (bool stands = false; at != close;) {
      const char* const stop = detail::find_any(++at, close, '|', '|');
      const int before = m.length;
      if (!stands && !(stands = detail::fill_run(m, at, stop, add_slot))) m.cut_to(before);
      at = stop;
    }
    ++at;
  }
}

}}}  // namespace hyperparallel::v0_2::detail
