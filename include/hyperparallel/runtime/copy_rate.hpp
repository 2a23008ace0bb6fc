// SPDX-License-Identifier: Apache-2.0
#pragma once
// How fast a copy engine may be, what a copy then takes, and why one is refused.
//
// Law: a copy of n > 0 bytes takes latency + n ÷ bandwidth, in picoseconds, to the nearest; none takes no time. Between
// two memory tiers that is what hardware/device.hpp says, where one tier is the slower in both.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include <hyperparallel/hardware/device.hpp>

namespace hyperparallel {

/// Of a link that only its latency, and the memory at hand, hold up.
inline constexpr std::int64_t unlimited_bandwidth = INT64_MAX;

struct copy_rate {
  std::int64_t bytes_per_second = unlimited_bandwidth;
  std::int64_t latency = 0;  ///< picoseconds before the first byte
  friend constexpr bool operator==(const copy_rate&, const copy_rate&) = default;
};

/// The link between two tiers: the narrower end's bandwidth, the slower end's latency.
constexpr copy_rate rate_between(const memory_tier& a, const memory_tier& b) {
  copy_rate r{unlimited_bandwidth, a.latency > b.latency ? a.latency : b.latency};
  for (const memory_tier* t : {&a, &b}) {
    constexpr std::int64_t full = full_efficiency.parts_per_million;
    const std::int64_t share = t->reached.parts_per_million;
    const std::int64_t reached = t->bandwidth / full * share + t->bandwidth % full * share / full;
    if (reached < r.bytes_per_second) r.bytes_per_second = reached;
  }
  return r;
}

/// What the link needs for `bytes`; none for no bytes. Domain: bytes ≥ 0. O(1).
constexpr time_cost copy_time(const copy_rate& rate, std::int64_t bytes) {
  if (rate.latency < 0) return {cost_code::latency_is_negative, 0};
  if (rate.bytes_per_second < 1) return {cost_code::rate_is_not_positive, 0};
  if (bytes == 0) return {};
  const time_cost before{cost_code::ok, rate.latency};
  return rate.bytes_per_second == unlimited_bandwidth ? before
                                                      : then(before, work_time(bytes, 1, 1, rate.bytes_per_second));
}

enum class copy_code : unsigned char {
  bandwidth_is_not_positive,
  latency_is_negative,
  chunk_is_not_positive,
  size_is_negative,
  address_is_null,
  ranges_overlap,
  takes_too_long,
  failed,
  cancelled,
};

constexpr const char* to_text(copy_code c) {
  switch (c) {
    case copy_code::bandwidth_is_not_positive:
      return "the bandwidth is not positive";
    case copy_code::latency_is_negative:
      return "the latency is negative";
    case copy_code::chunk_is_not_positive:
      return "the chunk is not positive";
    case copy_code::size_is_negative:
      return "the size is negative";
    case copy_code::address_is_null:
      return "an address is null";
    case copy_code::ranges_overlap:
      return "source and target overlap";
    case copy_code::takes_too_long:
      return "it takes longer than 64 bits of picoseconds";
    case copy_code::failed:
      return "it failed";
    case copy_code::cancelled:
      return "it was cancelled";
  }
  return "unknown";
}

/// `tensor` is empty where the engine itself is at fault.
struct copy_error : std::runtime_error {
  copy_code code;
  std::string tensor;
  std::int64_t bytes;

  copy_error(copy_code code_, std::string tensor_, std::int64_t bytes_, const std::string& cause = {})
      : std::runtime_error((tensor_.empty() ? std::string("copy engine")
                                            : "copy of " + tensor_ + " (" + std::to_string(bytes_) + " bytes)") +
                           ": " + to_text(code_) + (cause.empty() ? std::string() : ": " + cause)),
        code(code_),
        tensor(std::move(tensor_)),
        bytes(bytes_) {}
};

}  // namespace hyperparallel
