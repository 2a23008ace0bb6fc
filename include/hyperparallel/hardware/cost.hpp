// SPDX-License-Identifier: Apache-2.0
#pragma once
// A predicted time, and the exact arithmetic behind it.
//
// Every price of hardware/ is a sum of latencies and of terms amount·factor / (divisor·rate·efficiency). Each term is
// formed in 128-bit integers and rounded once, to the nearest picosecond, so that a constant expression, every compiler
// and every run give the same number (floating point would depend on contraction).
//
// Law: a price never wraps. When it leaves 64 bits it is `longest_time` with code `overflow`; when its input is outside
// the domain it is 0 with the code that says why. Sums and maxima keep the first complaint.

#include <hyperparallel/hardware/units.hpp>
#include <hyperparallel/support/integer.hpp>

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 {

/// Saturated time: about 106 days.
inline constexpr std::int64_t longest_time = INT64_MAX;

enum class cost_code : unsigned char {
  ok,
  amount_is_negative,
  rate_is_not_positive,
  efficiency_is_not_in_0_to_1,
  count_is_not_positive,
  count_exceeds_the_device,
  latency_is_negative,
  algorithm_does_not_serve_the_collective,
  ranks_are_not_connected,
  hardware_is_refused,  ///< by `check_hardware`: nothing was priced
  program_is_refused,   ///< what was to be priced is none
  overflow,
};

struct time_cost {
  cost_code code = cost_code::ok;
  std::int64_t picoseconds = 0;
  constexpr bool ok() const { return code == cost_code::ok; }
  friend constexpr bool operator==(const time_cost&, const time_cost&) = default;
};

/// A share in (0, 1] of a peak rate, in parts per million: integral, so that values holding it are structural. One that
/// has no value is 0, which no price takes.
struct efficiency {
  std::int64_t parts_per_million = 0;
  friend constexpr bool operator==(const efficiency&, const efficiency&) = default;
};

inline constexpr efficiency full_efficiency{1'000'000};

/// 864 → 0.864.
constexpr efficiency per_mille(int thousandths) { return {std::int64_t{thousandths} * 1000}; }

/// a + b, one after the other.
constexpr time_cost then(time_cost a, time_cost b) {
  if (a.code != cost_code::ok) return a;
  if (b.code != cost_code::ok) return b;
  const checked_extent sum = checked_add(a.picoseconds, b.picoseconds);
  if (sum.overflow) return {cost_code::overflow, longest_time};
  return {cost_code::ok, sum.value};
}

/// max(a, b), both at once.
constexpr time_cost slower(time_cost a, time_cost b) {
  if (a.code != cost_code::ok) return a;
  if (b.code != cost_code::ok) return b;
  return a.picoseconds < b.picoseconds ? b : a;
}

/// min(a, b): a choice between two ways; a way that cannot be priced loses against one that can.
constexpr time_cost faster(time_cost a, time_cost b) {
  if (b.code != cost_code::ok) return a;
  if (a.code != cost_code::ok) return b;
  return b.picoseconds < a.picoseconds ? b : a;
}

/// `steps` latencies in a row. Domain: steps ≥ 0, latency ≥ 0.
constexpr time_cost latencies(std::int64_t steps, std::int64_t latency) {
  if (steps < 0) return {cost_code::amount_is_negative, 0};
  if (latency < 0) return {cost_code::latency_is_negative, 0};
  const checked_extent total = checked_multiply(steps, latency);
  if (total.overflow) return {cost_code::overflow, longest_time};
  return {cost_code::ok, total.value};
}

namespace detail {

__extension__ typedef unsigned __int128 wide_unsigned;

/// amount · parts / 1 000 000, rounded down. Domain: amount ≥ 0, parts in [0, 1 000 000].
constexpr std::int64_t millionths(std::int64_t amount, std::int64_t parts) {
  return static_cast<std::int64_t>(static_cast<wide_unsigned>(amount) * static_cast<wide_unsigned>(parts) / 1'000'000);
}

/// A product of non-negative factors in 128 bits that remembers whether it left them: then `value` says nothing.
struct wide_product {
  wide_unsigned value = 1;
  bool overflow = false;
};

/// Sets `value` to value · by; whether that leaves 128 bits.
constexpr bool wide_multiply_overflows(wide_unsigned& value, wide_unsigned by) {
#if defined(HYPERPARALLEL_EDG)
  const bool overflows = by > 1 && value > ~wide_unsigned{0} / by;
  value *= by;
  return overflows;
#else
  return __builtin_mul_overflow(value, by, &value);
#endif
}

constexpr wide_product product(std::int64_t a, std::int64_t b, std::int64_t c = 1, std::int64_t d = 1) {
  wide_product p{static_cast<wide_unsigned>(a) * static_cast<wide_unsigned>(b), false};
  p.overflow = wide_multiply_overflows(p.value, static_cast<wide_unsigned>(c));
  p.overflow = wide_multiply_overflows(p.value, static_cast<wide_unsigned>(d)) || p.overflow;
  return p;
}

/// numerator / denominator to the nearest integer, halves up. An overflow of the denominator alone means a time of 0.
constexpr time_cost nearest(wide_product numerator, wide_product denominator) {
  if (numerator.overflow) return {cost_code::overflow, longest_time};
  if (denominator.overflow) return {cost_code::ok, 0};
  wide_unsigned quotient = numerator.value / denominator.value;
  const wide_unsigned rest = numerator.value % denominator.value;
  if (rest >= denominator.value - rest) ++quotient;
  if (quotient > static_cast<wide_unsigned>(INT64_MAX)) return {cost_code::overflow, longest_time};
  return {cost_code::ok, static_cast<std::int64_t>(quotient)};
}

}  // namespace detail

/// Time of (amount · factor / divisor) units at `rate` units per second, of which `share` is reached.
/// Domain: amount, factor ≥ 0; divisor, rate > 0; 0 < share ≤ 1. Exact to half a picosecond. Reports `overflow` where
/// the time, or amount · factor · 10^18 after cancelling against rate and share, leaves its integer. O(1).
constexpr time_cost work_time(std::int64_t amount, std::int64_t factor, std::int64_t divisor, std::int64_t rate,
                              efficiency share = full_efficiency) {
  if (amount < 0 || factor < 0) return {cost_code::amount_is_negative, 0};
  if (divisor < 1) return {cost_code::count_is_not_positive, 0};
  if (rate < 1) return {cost_code::rate_is_not_positive, 0};
  if (share.parts_per_million < 1 || share.parts_per_million > full_efficiency.parts_per_million)
    return {cost_code::efficiency_is_not_in_0_to_1, 0};
  if (amount == 0 || factor == 0) return {};
  // Cancelled only where it would not fit otherwise: the quotient is the same.
  const detail::wide_product above = detail::product(amount, factor, second, full_efficiency.parts_per_million);
  const detail::wide_product below = detail::product(rate, divisor, share.parts_per_million);
  if (!above.overflow && !below.overflow) return detail::nearest(above, below);
  const std::int64_t rate_divisor = greatest_common_divisor(second, rate);
  const std::int64_t share_divisor =
      greatest_common_divisor(full_efficiency.parts_per_million, share.parts_per_million);
  return detail::nearest(
      detail::product(amount, factor, second / rate_divisor, full_efficiency.parts_per_million / share_divisor),
      detail::product(rate / rate_divisor, divisor, share.parts_per_million / share_divisor));
}

}}  // namespace hyperparallel::v0_2
