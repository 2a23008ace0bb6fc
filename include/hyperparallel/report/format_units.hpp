// SPDX-License-Identifier: Apache-2.0
#pragma once
// How amounts are written everywhere: a number, a space, a unit.
//
//   duration{9870000000}   9.870 ms      three decimals, the largest unit that leaves at least 1; picoseconds whole
//   byte_count{402653184}  384.0 MiB     amounts of memory and traffic are binary, one decimal; below 1 KiB whole
//   rate{196000000000}     196.0 GB/s    rates are decimal, as data sheets have them
//   percent{9420}          94.20 %       shares are held in 1/10 000
//   ratio{10230}           1.0230        likewise
//
// Law: rounding is to nearest, halves away from zero, in integers, so a text depends on its value alone.

#include <cstddef>
#include <cstdint>
#include <string>

#include <hyperparallel/hardware/units.hpp>
#include <hyperparallel/report/text_formatter.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace report {

struct duration {
  std::int64_t picoseconds = 0;
};
struct byte_count {
  std::int64_t bytes = 0;
};
struct rate {
  std::int64_t bytes_per_second = 0;
};
struct percent {
  std::int64_t parts_per_ten_thousand = 0;
};
struct ratio {
  std::int64_t parts_per_ten_thousand = 0;
};

namespace detail {

struct unit {
  std::int64_t size;
  const char* name;
};

/// `value` in the largest unit of which it holds at least one, or would once rounded in the unit below; whole units of
/// the first. Domain: units rise; value > INT64_MIN.
template <std::size_t Count>
std::string in_units(std::int64_t value, const unit (&units)[Count], int decimals) {
  const std::uint64_t size = static_cast<std::uint64_t>(value < 0 ? -value : value);
  std::uint64_t scale = 1;
  for (int d = 0; d < decimals; ++d) scale *= 10;
  int u = 0;
  std::uint64_t shown = size;  // in 1 / scale of unit u; of the first unit in wholes
  std::uint64_t next = static_cast<std::uint64_t>(units[1].size);
  constexpr int last = static_cast<int>(Count) - 1;
  while (u < last && shown >= next) {
    const std::uint64_t whole = static_cast<std::uint64_t>(units[++u].size);
    // The product stays in range: the largest unit is 2^40 or 10^12, and scale at most 10^3.
    shown = size / whole * scale + (size % whole * scale + whole / 2) / whole;
    if (u < last) next = static_cast<std::uint64_t>(units[u + 1].size / units[u].size) * scale;
  }
  const char* sign = value < 0 ? "-" : "";
  if (u == 0) return fmt::format("{}{} {}", sign, size, units[0].name);
  return fmt::format("{}{}.{:0{}} {}", sign, shown / scale, shown % scale, decimals, units[u].name);
}

inline std::string in_parts(std::int64_t value, std::int64_t unit, int decimals) {
  const std::int64_t size = value < 0 ? -value : value;
  return fmt::format("{}{}.{:0{}}", value < 0 ? "-" : "", size / unit, size % unit, decimals);
}

}  // namespace detail

inline std::string to_text(duration d) {
  constexpr detail::unit units[] = {
      {picosecond, "ps"}, {nanosecond, "ns"}, {microsecond, "us"}, {millisecond, "ms"}, {second, "s"}};
  return detail::in_units(d.picoseconds, units, 3);
}

inline std::string to_text(byte_count b) {
  constexpr detail::unit units[] = {{1, "B"}, {KiB, "KiB"}, {MiB, "MiB"}, {GiB, "GiB"}, {TiB, "TiB"}};
  return detail::in_units(b.bytes, units, 1);
}

inline std::string to_text(rate r) {
  constexpr detail::unit units[] = {
      {1, "B/s"}, {kilobyte, "kB/s"}, {megabyte, "MB/s"}, {gigabyte, "GB/s"}, {terabyte, "TB/s"}};
  return detail::in_units(r.bytes_per_second, units, 1);
}

inline std::string to_text(percent p) { return detail::in_parts(p.parts_per_ten_thousand, 100, 2) + " %"; }
inline std::string to_text(ratio r) { return detail::in_parts(r.parts_per_ten_thousand, 10000, 4); }

}}}  // namespace hyperparallel::v0_2::report
