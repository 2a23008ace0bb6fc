// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text in template arguments and in values.
//
//   fixed_string<N>   exactly one literal, deduced: `template <fixed_string Name>`
//   short_text        a name of at most 31 characters inside run-time values; longer text is cut and `fits` says so
//
// Both are structural aggregates with public arrays, so that they can be template arguments and raw loops can read
// them.

#include <cstddef>
#include <cstdint>

#include <hyperparallel/support/array_bound.hpp>

namespace hyperparallel { inline namespace v0_2 {

template <int N>
struct fixed_string {
  char text[detail::array_bound(N)] = {};

  constexpr fixed_string() = default;
  // Implicit on purpose: the user writes the literal where the template wants the name.
  constexpr fixed_string(const char (&literal)[detail::array_bound(N)]) {
    for (int i = 0; i < N; ++i) text[i] = literal[i];
  }
  static constexpr int size() { return N - 1; }
  friend constexpr bool operator==(const fixed_string&, const fixed_string&) = default;
};

template <std::size_t N>
fixed_string(const char (&)[N]) -> fixed_string<static_cast<int>(N)>;

struct short_text {
  static constexpr int capacity = 31;
  char text[capacity + 1] = {};

  constexpr short_text() = default;
  constexpr short_text(const char* source) {
    for (int i = 0; i < capacity && source[i] != '\0'; ++i) text[i] = source[i];
  }
  /// Its characters in braces, as EDG (nvcc, nvc++) spells a template argument.
  template <std::size_t N>
    requires(N == std::size_t{capacity} + 1)
  constexpr short_text(const char (&characters)[N]) {
    for (int i = 0; i <= capacity; ++i) text[i] = characters[i];
  }
  friend constexpr bool operator==(const short_text&, const short_text&) = default;
};

namespace detail {

/// Length of a zero-terminated text.
constexpr int text_length(const char* text) {
  int n = 0;
  while (text[n] != '\0') ++n;
  return n;
}

}  // namespace detail

/// Whether `text` would be kept whole by `short_text`.
constexpr bool fits(const char* text) { return detail::text_length(text) <= short_text::capacity; }

namespace detail {

/// Equality of two zero-terminated texts.
constexpr bool same_text(const char* a, const char* b) {
  int i = 0;
  while (a[i] != '\0' && a[i] == b[i]) ++i;
  return a[i] == b[i];
}

/// Equality of a zero-terminated text with the characters [begin, end).
constexpr bool same_text(const char* a, const char* begin, const char* end) {
  while (begin != end) {
    if (*a == '\0' || *a != *begin) return false;
    ++a;
    ++begin;
  }
  return *a == '\0';
}

/// A number of the text (FNV-1a, 64 bits). O(length).
constexpr std::uint64_t hash_of_text(const char* text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (; *text != '\0'; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3U;
  return hash;
}

/// Fewest edits that make `name` fit `pattern`, see `characters_that_differ`; with `Wildcards` `*` of the pattern stands
/// for any run of characters and `?` for one. At most 127 characters of the name are looked at. O(pattern · name).
template <bool Wildcards>
constexpr int fewest_edits(const char* pattern, const char* name) {
  constexpr int most = 127;
  int rows[3][most + 1] = {};  // by the part of the pattern so far, modulo 3: by the part of the name so far
  int width = text_length(name);
  if (width > most) width = most;
  for (int column = 0; column <= width; ++column) rows[0][column] = column;
  const auto fits = [](char p, char n) { return p == n || (Wildcards && p == '?'); };
  const auto is_run = [](char p) { return Wildcards && p == '*'; };
  int p = 0;
  for (; pattern[p] != '\0'; ++p) {
    const int* const before = rows[(p + 2) % 3];
    const int* const above = rows[p % 3];
    int* const row = rows[(p + 1) % 3];
    const bool any = is_run(pattern[p]), after_one = p > 0 && !any && !is_run(pattern[p - 1]);
    const auto take = [&](int column, int edits) { row[column] = edits < row[column] ? edits : row[column]; };
    row[0] = above[0] + (any ? 0 : 1);
    for (int column = 1; column <= width; ++column) {
      row[column] = above[column] + (any ? 0 : 1);
      take(column, row[column - 1] + (any ? 0 : 1));
      if (!any) take(column, above[column - 1] + (fits(pattern[p], name[column - 1]) ? 0 : 1));
      if (after_one && column > 1 && fits(pattern[p], name[column - 2]) && fits(pattern[p - 1], name[column - 1]))
        take(column, before[column - 2] + 1);
    }
  }
  return rows[p % 3][width];
}

/// Fewest edits that make one text the other: a character put in, left out or exchanged, or two neighbours swapped, none
/// of them edited again (distance of optimal string alignment). O(length²).
constexpr int characters_that_differ(const char* a, const char* b) { return detail::fewest_edits<false>(a, b); }

/// The first of the numbers 0 to `count - 1` of least cost; -1 of none.
template <class CostOf>
constexpr int first_of_least(int count, const CostOf& cost_of) {
  int found = -1, least = 0;
  for (int i = 0; i < count; ++i) {
    const int cost = cost_of(i);
    if (found >= 0 && cost >= least) continue;
    found = i;
    least = cost;
  }
  return found;
}

/// Number of the name that is most like `name` among `name_at(0)` to `name_at(count - 1)`, the first of equals; -1 of
/// none. O(count · length²).
template <class NameAt>
constexpr int nearest_name_of(int count, const NameAt& name_at, const char* name) {
  return first_of_least(count, [&](int i) { return characters_that_differ(name_at(i), name); });
}
constexpr int nearest_of(const char* const* texts, int count, const char* name) {
  return nearest_name_of(count, [&](int i) { return texts[i]; }, name);
}

/// `visit(i)` for 0 to `count - 1`, those whose `name_at(i)` is most like `name` first, equals in order.
/// O(count · length² · most edits).
template <class NameAt, class Visit>
constexpr void visit_by_likeness(int count, const NameAt& name_at, const char* name, const Visit& visit) {
  int visited = 0;
  for (int edits = 0; visited < count; ++edits)
    for (int i = 0; i < count; ++i) {
      if (characters_that_differ(name_at(i), name) != edits) continue;
      visit(i);
      ++visited;
    }
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
