// SPDX-License-Identifier: Apache-2.0
#pragma once
// Devices, links and prices as text. Capacities are binary, bandwidths decimal, as in hardware/units.hpp.
//
// Law: every field that a price depends on is printed, and a verdict that is not "ok" names the tier or level.

#include <string>

#include <hyperparallel/hardware/hardware_status.hpp>
#include <hyperparallel/report/format_units.hpp>
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

constexpr const char* to_text(cost_code c) {
  constexpr const char* texts[] = {"ok",
                                   "an amount is negative",
                                   "a rate is not positive",
                                   "an efficiency is not above 0 and at most 1",
                                   "a count is not positive",
                                   "more cores, queues or memory tiers than the device has",
                                   "a latency is negative",
                                   "the algorithm does not serve the collective",
                                   "no link level joins the ranks",
                                   "the hardware is refused, nothing is priced",
                                   "the program is refused, nothing is priced",
                                   "the time leaves 64 bits of picoseconds"};
  return detail::enum_text<cost_code::overflow>(texts, c);
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

constexpr const char* to_text(number_format f) {
  constexpr const char* names[number_format_count] = {"bf16", "fp16", "fp32", "int8", "fp64", "fp8", "fp4"};
  return names[static_cast<int>(f)];
}

inline std::string to_text(const device_value& d) {
  std::string out = fmt::format("{} AIC, {} AIV", d.aic, d.aiv);
  for (int n = 0; n < number_format_count; ++n)
    if (d.matrix_flops[n] > 0)
      out += fmt::format(", {} {:.1f} Tflop/s", to_text(static_cast<number_format>(n)),
                         static_cast<double>(d.matrix_flops[n]) * 1e-12);
  for (int t = 0; t < d.tier_count; ++t) out += "; " + to_text(d.tier[t]);
  return out;
}

inline std::string to_text(const device_status& s) {
  const auto tier = [&](const char* what) {
    return fmt::format("memory tier {} {} {}, expected at least {}", s.at, what, s.given, s.expected);
  };
  const auto share = [&](const std::string& what) {
    return fmt::format("{} is {} parts per million, expected 1 to {}", what, s.given, s.expected);
  };
  switch (s.code) {
    case device_code::ok:
      return "ok";
    case device_code::has_no_matrix_core:
      return fmt::format("the device has {} matrix cores, expected at least {}", s.given, s.expected);
    case device_code::has_no_vector_core:
      return fmt::format("the device has {} vector cores, expected at least {}", s.given, s.expected);
    case device_code::matrix_rate_is_negative:
      return fmt::format("the rate of {} products is {} flop/s, expected at least {}",
                         to_text(static_cast<number_format>(s.at)), s.given, s.expected);
    case device_code::has_no_matrix_rate:
      return fmt::format("the greatest rate of products is {} flop/s, expected at least {}", s.given, s.expected);
    case device_code::has_no_vector_rate:
      return fmt::format("the rate of vector work is {} flop/s, expected at least {}", s.given, s.expected);
    case device_code::vector_rate_is_negative:
      return fmt::format("the rate of vector work in fp64 is {} flop/s, expected at least {}", s.given, s.expected);
    case device_code::l2_is_negative:
      return fmt::format("the size or the rate of L2 is {}, expected at least {}", s.given, s.expected);
    case device_code::tier_count_is_out_of_range:
      return fmt::format("the device has {} memory tiers, expected 1 to {}", s.given, max_memory_tiers);
    case device_code::tier_has_no_capacity:
      return tier("has a capacity in bytes of");
    case device_code::tier_has_no_bandwidth:
      return tier("has a bandwidth in bytes per second of");
    case device_code::tier_efficiency_is_not_in_0_to_1:
      return share(fmt::format("the share of its bandwidth that memory tier {} reaches", s.at));
    case device_code::tier_latency_is_negative:
      return tier("has a latency in picoseconds of");
    case device_code::tier_is_faster_than_the_one_before:
      return fmt::format("memory tier {} has {} bytes per second, the one before {}: expected the fastest first", s.at,
                         s.given, s.expected);
    case device_code::gmm_cold_is_not_in_0_to_1:
      return share("gmm_cold, what products of their own reach,");
    case device_code::gmm_warm_is_not_in_0_to_1:
      return share("gmm_warm, what products inside a taskflow reach,");
    case device_code::task_overhead_is_negative:
      return fmt::format("the overhead of a task is {} ps, expected at least {}", s.given, s.expected);
    case device_code::synchronisation_latency_is_negative:
      return fmt::format("a synchronisation latency is {} ps, expected at least {}", s.given, s.expected);
    case device_code::tile_is_not_stated_whole:
      return fmt::format("a tile of products has {} rows or columns, expected at least {} of both, or none", s.given,
                         s.expected);
  }
  return "unknown";
}

inline std::string to_text(const link_level& l) {
  std::string out = fmt::format("{} over {}: {}, latency {}", l.name.text,
                                l.group == unbounded_group ? "all ranks" : std::to_string(l.group) + " ranks",
                                to_text(report::rate{l.bandwidth}), to_text(report::duration{l.latency}));
  for (int i = 0; i < max_size_shares && l.by_size[i].bytes != 0; ++i)
    out += fmt::format("{} {} of messages of {}", i == 0 ? ", reached" : ",", to_text(l.by_size[i].share),
                       to_text(report::byte_count{l.by_size[i].bytes}));
  return out;
}

constexpr const char* text_of(size_share_code code) {
  switch (code) {
    case size_share_code::share_is_not_in_0_to_1:
      return "is not above 0 and at most 1";
    case size_share_code::sizes_do_not_rise:
      return "is of messages that are no longer than those of the one before it";
    case size_share_code::shares_fall:
      return "is smaller than the one before it";
    case size_share_code::longer_is_faster:
      return "makes a longer message faster than the shorter one of the share before it";
    case size_share_code::ok:
      break;
  }
  return "can be";
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
      return fmt::format("the topology has {} link levels, expected 1 to {}", s.given, max_link_levels);
    case topology_code::group_does_not_nest:
      return fmt::format("link level {} joins groups of {} ranks, expected a multiple of {} above it", s.level, s.given,
                         s.expected);
    case topology_code::bandwidth_is_not_positive:
      return fmt::format("link level {} has a bandwidth of {} bytes per second, expected at least {}", s.level, s.given,
                         s.expected);
    case topology_code::share_by_size_is_refused:
      return fmt::format("share {} by message size of link level {} {}", s.given + 1, s.level,
                         text_of(static_cast<size_share_code>(s.expected)));
    case topology_code::latency_is_negative:
      return fmt::format("link level {} has a latency of {} ps, expected at least {}", s.level, s.given, s.expected);
    case topology_code::ranks_are_not_joined:
      return fmt::format(
          "ranks within a span of {} are to work together, link level {}, the outermost, joins groups of {}", s.given,
          s.level, s.expected);
    case topology_code::axis_has_no_device:
      return fmt::format("axis {} of the full mesh has {} devices, expected at least {}", s.level, s.given, s.expected);
    case topology_code::mesh_has_too_many_devices:
      return fmt::format("axis {} of the full mesh has {} devices, with the axes before it at most {} can be", s.level,
                         s.given, s.expected);
  }
  return "unknown";
}

/// What is wrong with the device first, then with the links.
inline std::string to_text(const hardware_status& s) {
  if (s.device.code == device_code::ok) return to_text(s.topology);
  if (s.topology.code == topology_code::ok) return to_text(s.device);
  return to_text(s.device) + "; " + to_text(s.topology);
}

}}  // namespace hyperparallel::v0_2
