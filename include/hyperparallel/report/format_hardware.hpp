// SPDX-License-Identifier: Apache-2.0
#pragma once
// Devices, links and prices as text. Capacities are binary, bandwidths decimal, as in hardware/units.hpp.
//
// Law: every field that a price depends on is printed, and a verdict that is not "ok" names the tier or level.

#include <string>

#include <hyperparallel/hardware/device.hpp>
#include <hyperparallel/hardware/topology.hpp>
#include <hyperparallel/report/format_units.hpp>

namespace hyperparallel {

constexpr const char* to_text(cost_code c) {
  switch (c) {
    case cost_code::ok:
      return "ok";
    case cost_code::amount_is_negative:
      return "an amount is negative";
    case cost_code::rate_is_not_positive:
      return "a rate is not positive";
    case cost_code::efficiency_is_not_in_0_to_1:
      return "an efficiency is not above 0 and at most 1";
    case cost_code::count_is_not_positive:
      return "a count is not positive";
    case cost_code::count_exceeds_the_device:
      return "more cores or queues than the device has";
    case cost_code::latency_is_negative:
      return "a latency is negative";
    case cost_code::algorithm_does_not_serve_the_collective:
      return "the algorithm does not serve the collective";
    case cost_code::ranks_are_not_connected:
      return "no link level joins the ranks";
    case cost_code::overflow:
      return "the time leaves 64 bits of picoseconds";
  }
  return "unknown";
}

inline std::string to_text(const time_cost& t) {
  return t.ok() ? to_text(report::duration{t.picoseconds}) : std::string(to_text(t.code));
}

inline std::string to_text(const efficiency& e) { return to_text(report::percent{(e.parts_per_million + 50) / 100}); }

constexpr const char* to_text(memory_kind k) {
  constexpr const char* names[] = {"HBM", "DRAM", "storage"};
  return names[static_cast<int>(k)];
}

inline std::string to_text(const memory_tier& t) {
  return fmt::format("{} {} at {} ({} reached), latency {}", to_text(t.kind),
                     t.bytes == capacity_not_stated ? "of unstated size" : to_text(report::byte_count{t.bytes}),
                     to_text(report::rate{t.bandwidth}), to_text(t.reached), to_text(report::duration{t.latency}));
}

inline std::string to_text(const device_value& d) {
  std::string out = fmt::format("{} AIC, {} AIV", d.aic, d.aiv);
  constexpr const char* formats[number_format_count] = {"bf16", "fp16", "fp32", "int8"};
  for (int n = 0; n < number_format_count; ++n)
    if (d.matrix_flops[n] > 0)
      out += fmt::format(", {} {:.1f} Tflop/s", formats[n], static_cast<double>(d.matrix_flops[n]) * 1e-12);
  for (int t = 0; t < d.tier_count; ++t) out += "; " + to_text(d.tier[t]);
  return out;
}

inline std::string to_text(const device_status& s) {
  switch (s.code) {
    case device_code::ok:
      return "ok";
    case device_code::has_no_core:
      return "the device lacks an AIC or an AIV";
    case device_code::tier_count_is_out_of_range:
      return "the number of memory tiers is not in 1 .. 4";
    case device_code::tier_is_not_valid:
      return fmt::format("memory tier {} is not valid or faster than the one before", s.tier);
    case device_code::efficiency_is_not_in_0_to_1:
      return "an efficiency is not above 0 and at most 1";
    case device_code::latency_is_negative:
      return "a latency is negative";
  }
  return "unknown";
}

inline std::string to_text(const link_level& l) {
  return fmt::format("{} over {}: {}, latency {}", l.name.text,
                     l.group == unbounded_group ? "all ranks" : std::to_string(l.group) + " ranks",
                     to_text(report::rate{l.bandwidth}), to_text(report::duration{l.latency}));
}

inline std::string to_text(const topology_value& t) {
  std::string out;
  for (int l = 0; l < t.level_count; ++l) out += (l > 0 ? "; " : "") + to_text(t.level[l]);
  return out;
}

inline std::string to_text(const topology_status& s) {
  switch (s.code) {
    case topology_code::ok:
      return "ok";
    case topology_code::level_count_is_out_of_range:
      return "the number of link levels is not in 1 .. 6";
    case topology_code::group_does_not_nest:
      return fmt::format("the group of link level {} does not nest", s.level);
    case topology_code::bandwidth_is_not_positive:
      return fmt::format("the bandwidth of link level {} is not positive", s.level);
    case topology_code::latency_is_negative:
      return fmt::format("the latency of link level {} is negative", s.level);
  }
  return "unknown";
}

}  // namespace hyperparallel

template <>
struct fmt::formatter<hyperparallel::time_cost> : hyperparallel::report::text_formatter<hyperparallel::time_cost> {};
template <>
struct fmt::formatter<hyperparallel::efficiency> : hyperparallel::report::text_formatter<hyperparallel::efficiency> {};
template <>
struct fmt::formatter<hyperparallel::memory_tier> : hyperparallel::report::text_formatter<hyperparallel::memory_tier> {
};
template <>
struct fmt::formatter<hyperparallel::device_value>
    : hyperparallel::report::text_formatter<hyperparallel::device_value> {};
template <>
struct fmt::formatter<hyperparallel::device_status>
    : hyperparallel::report::text_formatter<hyperparallel::device_status> {};
template <>
struct fmt::formatter<hyperparallel::link_level> : hyperparallel::report::text_formatter<hyperparallel::link_level> {};
template <>
struct fmt::formatter<hyperparallel::topology_value>
    : hyperparallel::report::text_formatter<hyperparallel::topology_value> {};
template <>
struct fmt::formatter<hyperparallel::topology_status>
    : hyperparallel::report::text_formatter<hyperparallel::topology_status> {};
