// SPDX-License-Identifier: Apache-2.0
#pragma once
// Choosing one of several compiled schedules from a router's token histogram.
//
// Schedules differ in capacity: the rows that the fullest expert may get, as a multiple of its balanced share. A
// capacity that is too small drops rows, one that is too large runs tiles without any; so several are compiled, and
// each step takes the smallest that holds its histogram.
//
// Laws: a histogram lands in the smallest bucket whose capacity holds its greatest count; in the last one always, if
// its limit is `dropless_limit`. Choosing costs one bit width, one look into a table and one comparison, whatever the
// number of buckets: rows are cut into cells of an eighth of an octave, the table says which bucket holds a cell's
// least rows, and no cell has more than one capacity inside.

#include <cstdint>

#include <hyperparallel/support/array_bound.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Capacities of `Buckets` schedules in 1/1000 of the balanced count, rising; 1000 holds a balanced histogram alone.
template <int Buckets>
struct histogram_buckets {
  std::int64_t limit[array_bound(Buckets)] = {};
  friend constexpr bool operator==(const histogram_buckets&, const histogram_buckets&) = default;
};

/// The limit that holds all rows in one of `entries` experts.
constexpr std::int64_t dropless_limit(int entries) { return std::int64_t{1000} * entries; }

enum class bucket_code : unsigned char {
  ok,
  balanced_count_is_not_positive,
  limit_is_out_of_range,
  limits_do_not_rise,
  limits_are_too_close,
  negative_count,
  no_bucket_holds_it,
};

/// `bucket` is the chosen one, or the one at fault.
struct bucket_choice {
  bucket_code code = bucket_code::ok;
  int bucket = -1;
  friend constexpr bool operator==(const bucket_choice&, const bucket_choice&) = default;
};

constexpr const char* to_text(bucket_code c) {
  switch (c) {
    case bucket_code::ok:
      return "ok";
    case bucket_code::balanced_count_is_not_positive:
      return "the balanced count is not positive";
    case bucket_code::limit_is_out_of_range:
      return "a bucket's capacity is no row, or more than 2^40";
    case bucket_code::limits_do_not_rise:
      return "a bucket's capacity is not above that of the one before";
    case bucket_code::limits_are_too_close:
      return "two capacities are in one eighth of an octave";
    case bucket_code::negative_count:
      return "a count is negative";
    case bucket_code::no_bucket_holds_it:
      return "no bucket holds the greatest count";
  }
  return "unknown";
}

inline constexpr std::int64_t most_bucket_rows = std::int64_t{1} << 40;
inline constexpr int bucket_cells = 312;  ///< cell_of(most_bucket_rows) is the last but seven

/// Eight cells an octave: rows below 16 have one each. Monotone; 0 <= rows <= most_bucket_rows.
constexpr int cell_of(std::int64_t rows) {
  if (rows < 16) return static_cast<int>(rows);
  const int shift = 60 - __builtin_clzll(static_cast<unsigned long long>(rows));
  return 8 * shift + static_cast<int>(rows >> shift);
}

/// The least rows of a cell.
constexpr std::int64_t least_of_cell(int cell) {
  if (cell < 16) return cell;
  return std::int64_t{cell % 8 + 8} << (cell / 8 - 1);
}

template <int Buckets>
struct bucket_selector {
  bucket_choice status{};                        ///< ok, or why there is no selector
  std::int64_t rows[array_bound(Buckets)] = {};  ///< capacity of each bucket
  short first[bucket_cells] = {};  ///< cell -> the smallest bucket that holds its least rows, `Buckets` for none
};

/// `balanced`: rows of each expert if the router spread them evenly; capacities are rounded down, but to one row at
/// least. Domain: any. Complexity: O(cells + buckets), once.
template <int Buckets>
constexpr bucket_selector<Buckets> select_from(const histogram_buckets<Buckets>& b, std::int64_t balanced) {
  bucket_selector<Buckets> s;
  if (balanced <= 0) return {{bucket_code::balanced_count_is_not_positive}};
  for (int i = 0; i < Buckets; ++i) {
    std::int64_t scaled = 0;
    if (b.limit[i] <= 0 || __builtin_mul_overflow(b.limit[i], balanced, &scaled) || scaled / 1000 > most_bucket_rows)
      return {{bucket_code::limit_is_out_of_range, i}};
    s.rows[i] = scaled < 1000 ? 1 : scaled / 1000;
    if (i == 0) continue;
    if (s.rows[i] <= s.rows[i - 1]) return {{bucket_code::limits_do_not_rise, i}};
    // A capacity that is the last of its cell parts nothing inside.
    if (cell_of(s.rows[i - 1] + 1) == cell_of(s.rows[i] + 1) && cell_of(s.rows[i - 1]) == cell_of(s.rows[i]))
      return {{bucket_code::limits_are_too_close, i}};
  }
  for (int cell = 0, i = 0; cell < bucket_cells; ++cell) {
    while (i < Buckets && s.rows[i] < least_of_cell(cell)) ++i;
    s.first[cell] = static_cast<short>(i);
  }
  s.status = {bucket_code::ok, 0};
  return s;
}

/// The bucket for a histogram whose greatest count is `rows`. Failure: the selector's own, a negative count, or more
/// rows than the last bucket holds. O(1).
template <int Buckets>
constexpr bucket_choice bucket_index(const bucket_selector<Buckets>& s, std::int64_t rows) {
  if (s.status.code != bucket_code::ok) return s.status;
  if (rows < 0) return {bucket_code::negative_count};
  if (rows > s.rows[Buckets - 1]) return {bucket_code::no_bucket_holds_it};
  const int found = s.first[cell_of(rows)];
  return {bucket_code::ok, rows > s.rows[found] ? found + 1 : found};
}

/// The bucket for the rows that each of `entries` experts gets. O(entries).
template <int Buckets, class Count>
constexpr bucket_choice bucket_index(const bucket_selector<Buckets>& s, const Count* count, int entries) {
  std::int64_t greatest = 0;
  for (int e = 0; e < entries; ++e) {
    const std::int64_t rows = static_cast<std::int64_t>(count[e]);
    if (rows < 0) return {bucket_code::negative_count};
    if (greatest < rows) greatest = rows;
  }
  return bucket_index(s, greatest);
}

}}  // namespace hyperparallel::v0_2
