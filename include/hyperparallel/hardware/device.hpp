// SPDX-License-Identifier: Apache-2.0
#pragma once
// A device: its matrix cores (AIC), vector cores (AIV), L2 and memory tiers, and the time that work takes on them.
//
// All rates are peaks of the whole device; a function that prices one queue says which share of the device the queue
// gets. Law: time is proportional to work and inversely proportional to cores and efficiency, so splitting work evenly
// over all queues takes as long as the whole device takes (to rounding).

#include <hyperparallel/hardware/cost.hpp>
#include <hyperparallel/hardware/units.hpp>
#include <hyperparallel/support/integer.hpp>

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 {

/// Formats whose multiply-accumulate rates differ.
enum class number_format : unsigned char { bfloat16, float16, float32, int8, float64, float8, float4 };
inline constexpr int number_format_count = 7;

enum class memory_kind : unsigned char { hbm, dram, storage };
inline constexpr memory_kind hbm = memory_kind::hbm;
inline constexpr memory_kind dram = memory_kind::dram;

/// A capacity that no source states.
inline constexpr std::int64_t capacity_not_stated = INT64_MAX;

struct memory_tier {
  memory_kind kind = memory_kind::hbm;
  std::int64_t bytes = 0;      ///< capacity for one device
  std::int64_t bandwidth = 0;  ///< peak bytes per second of one device
  efficiency reached{};        ///< share of the peak that streaming code reaches
  std::int64_t latency = 0;    ///< picoseconds before the first byte of a transfer
  friend constexpr bool operator==(const memory_tier&, const memory_tier&) = default;
};

inline constexpr int max_memory_tiers = 4;

/// The part of a product's result that one matrix core makes at a time.
struct matrix_tile {
  int rows = 0, columns = 0;  ///< both 0: not stated, products of every shape reach the same share
  friend constexpr bool operator==(const matrix_tile&, const matrix_tile&) = default;
};

struct device_value {
  int aic = 0;                                          ///< matrix cores
  int aiv = 0;                                          ///< vector cores
  std::int64_t matrix_flops[number_format_count] = {};  ///< flop/s of all AICs together, by `number_format`
  std::int64_t vector_flops = 0;                        ///< flop/s of all AIVs together, but for f64
  std::int64_t vector_flops_f64 = 0;                    ///< in f64; 0: they do not compute in it
  std::int64_t l2_bytes = 0;
  std::int64_t l2_bandwidth = 0;  ///< bytes per second read by all cores together
  int tier_count = 0;
  memory_tier tier[max_memory_tiers] = {};          ///< fastest first; tier[0] is where kernels work
  efficiency gmm_cold{};                            ///< grouped matmul launched as an operator of its own
  efficiency gmm_warm{};                            ///< grouped matmul tiles inside a resident taskflow
  std::int64_t task_overhead = 0;                   ///< picoseconds per task of a static schedule
  std::int64_t synchronisation_latency = 0;         ///< picoseconds from a signal until an AIC waiter sees it
  std::int64_t vector_synchronisation_latency = 0;  ///< likewise for an AIV waiter
  matrix_tile tile{};                               ///< of operators of their own (price/product_shape.hpp)
  bool as_measured =
      false;  ///< attention and grouped products reach an H100's shares of the peak (measured_shares.hpp), not `gmm_cold`
  friend constexpr bool operator==(const device_value&, const device_value&) = default;
};

enum class device_code : unsigned char {
  ok,
  has_no_matrix_core,
  has_no_vector_core,
  matrix_rate_is_negative,
  has_no_matrix_rate,  ///< of any format
  has_no_vector_rate,
  vector_rate_is_negative,  ///< in f64
  l2_is_negative,
  tier_count_is_out_of_range,
  tier_has_no_capacity,
  tier_has_no_bandwidth,
  tier_efficiency_is_not_in_0_to_1,
  tier_latency_is_negative,
  tier_is_faster_than_the_one_before,
  gmm_cold_is_not_in_0_to_1,
  gmm_warm_is_not_in_0_to_1,
  task_overhead_is_negative,
  synchronisation_latency_is_negative,
  tile_is_not_stated_whole,  ///< `given` rows or columns beside a positive other number
};

struct device_status {
  device_code code = device_code::ok;
  int at = 0;                 ///< the tier to blame, or the format
  std::int64_t given = 0;     ///< what the device says: cores, rates, bytes, parts per million or picoseconds
  std::int64_t expected = 0;  ///< what it is to be at least; of shares and of a faster tier, at most
  friend constexpr bool operator==(const device_status&, const device_status&) = default;
};

namespace detail {

constexpr bool is_share(efficiency e) {
  return e.parts_per_million > 0 && e.parts_per_million <= full_efficiency.parts_per_million;
}

/// Whether tier `t` can be priced, where the ones before can.
constexpr device_status check_tier(const device_value& d, int t) {
  const memory_tier& m = d.tier[t];
  if (m.bytes < 1) return {device_code::tier_has_no_capacity, t, m.bytes, 1};
  if (m.bandwidth < 1) return {device_code::tier_has_no_bandwidth, t, m.bandwidth, 1};
  if (!is_share(m.reached))
    return {device_code::tier_efficiency_is_not_in_0_to_1, t, m.reached.parts_per_million,
            full_efficiency.parts_per_million};
  if (m.latency < 0) return {device_code::tier_latency_is_negative, t, m.latency, 0};
  if (t > 0 && m.bandwidth > d.tier[t - 1].bandwidth)
    return {device_code::tier_is_faster_than_the_one_before, t, m.bandwidth, d.tier[t - 1].bandwidth};
  return {};
}

}  // namespace detail

/// Whether every function below can price work on the device: all of its numbers are stated and can be. Tiers are to be
/// listed fastest first; a format without a rate is one that the device does not compute in. O(tiers + formats).
constexpr device_status check(const device_value& d) {
  if (d.aic < 1) return {device_code::has_no_matrix_core, 0, d.aic, 1};
  if (d.aiv < 1) return {device_code::has_no_vector_core, 0, d.aiv, 1};
  std::int64_t best = 0;
  for (int f = 0; f < number_format_count; ++f) {
    if (d.matrix_flops[f] < 0) return {device_code::matrix_rate_is_negative, f, d.matrix_flops[f], 0};
    best = d.matrix_flops[f] > best ? d.matrix_flops[f] : best;
  }
  if (best < 1) return {device_code::has_no_matrix_rate, 0, best, 1};
  if (d.vector_flops < 1) return {device_code::has_no_vector_rate, 0, d.vector_flops, 1};
  if (d.vector_flops_f64 < 0) return {device_code::vector_rate_is_negative, 0, d.vector_flops_f64, 0};
  if (d.l2_bytes < 0) return {device_code::l2_is_negative, 0, d.l2_bytes, 0};
  if (d.l2_bandwidth < 0) return {device_code::l2_is_negative, 0, d.l2_bandwidth, 0};
  if (d.tier_count < 1 || d.tier_count > max_memory_tiers)
    return {device_code::tier_count_is_out_of_range, 0, d.tier_count, d.tier_count < 1 ? 1 : max_memory_tiers};
  for (int t = 0; t < d.tier_count; ++t)
    if (const device_status tier = detail::check_tier(d, t); tier.code != device_code::ok) return tier;
  constexpr std::int64_t most = full_efficiency.parts_per_million;
  if (!detail::is_share(d.gmm_cold))
    return {device_code::gmm_cold_is_not_in_0_to_1, 0, d.gmm_cold.parts_per_million, most};
  if (!detail::is_share(d.gmm_warm))
    return {device_code::gmm_warm_is_not_in_0_to_1, 0, d.gmm_warm.parts_per_million, most};
  if (d.task_overhead < 0) return {device_code::task_overhead_is_negative, 0, d.task_overhead, 0};
  if (d.synchronisation_latency < 0)
    return {device_code::synchronisation_latency_is_negative, 0, d.synchronisation_latency, 0};
  if (d.vector_synchronisation_latency < 0)
    return {device_code::synchronisation_latency_is_negative, 0, d.vector_synchronisation_latency, 0};
  if (const matrix_tile t = d.tile; t != matrix_tile{} && (t.rows < 1 || t.columns < 1))
    return {device_code::tile_is_not_stated_whole, 0, t.rows < t.columns ? t.rows : t.columns, 1};
  return {};
}

namespace detail {

/// Index of the first tier of this kind, or -1.
constexpr int tier_index(const device_value& d, memory_kind kind) {
  for (int t = 0; t < d.tier_count; ++t)
    if (d.tier[t].kind == kind) return t;
  return -1;
}

}  // namespace detail

/// Index of the first tier of this kind behind tier 0, or -1: what kernels do not work in, and copy to and from. Law: no
/// memory is at once tier 0 and behind it, whatever kind tier 0 is of.
constexpr int tier_behind(const device_value& d, memory_kind kind) {
  for (int t = 1; t < d.tier_count; ++t)
    if (d.tier[t].kind == kind) return t;
  return -1;
}

/// Bytes of that tier; 0 where there is none.
constexpr std::int64_t bytes_behind(const device_value& d, memory_kind kind) {
  const int t = tier_behind(d, kind);
  return t < 0 ? 0 : d.tier[t].bytes;
}

constexpr std::int64_t matrix_peak(const device_value& d, number_format format) {
  return d.matrix_flops[static_cast<int>(format)];
}

namespace detail {

/// Work that a device states no rate for.
struct unrated_work {
  bool exists = false;
  bool on_vector_cores = false;
  number_format format = number_format::bfloat16;
  friend constexpr bool operator==(const unrated_work&, const unrated_work&) = default;
};

}  // namespace detail

/// Time of an m×k by k×n product, 2mnk operations, divided evenly over `cores` AICs (one by default), at `reached` of
/// the peak. Domain: m, n, k ≥ 0; 1 ≤ cores ≤ aic; a peak above 0 for the format. O(1).
constexpr time_cost matmul_time(const device_value& d, std::int64_t m, std::int64_t n, std::int64_t k,
                                efficiency reached, int cores = 1, number_format format = number_format::bfloat16) {
  if (m < 0 || n < 0 || k < 0) return {cost_code::amount_is_negative, 0};
  if (cores < 1) return {cost_code::count_is_not_positive, 0};
  if (cores > d.aic) return {cost_code::count_exceeds_the_device, 0};
  const checked_extent area = checked_multiply(m, n);
  const checked_extent volume = checked_multiply(area.value, k);
  if (area.overflow || volume.overflow) return {cost_code::overflow, longest_time};
  return work_time(volume.value, 2 * std::int64_t{d.aic}, cores, matrix_peak(d, format), reached);
}

/// Time of a transfer to or from a tier by one device alone: latency + bytes / reached bandwidth. 0 bytes take 0. O(1).
constexpr time_cost copy_time(const memory_tier& tier, std::int64_t bytes) {
  if (bytes == 0) return {};
  return then(latencies(1, tier.latency), work_time(bytes, 1, 1, tier.bandwidth, tier.reached));
}

/// Time of a copy between two tiers: the slower end decides, since the copy engine streams. O(1).
constexpr time_cost copy_time(const memory_tier& from, const memory_tier& to, std::int64_t bytes) {
  return slower(copy_time(from, bytes), copy_time(to, bytes));
}

/// Time of one memory-bound vector task that moves `bytes` (reads and writes together) while `queues` vector queues
/// share the bandwidth of tier 0 evenly. Domain: bytes ≥ 0; 1 ≤ queues ≤ aiv. O(1).
constexpr time_cost vector_time(const device_value& d, std::int64_t bytes, int queues) {
  if (queues < 1) return {cost_code::count_is_not_positive, 0};
  if (queues > d.aiv) return {cost_code::count_exceeds_the_device, 0};
  return work_time(bytes, queues, 1, d.tier[0].bandwidth, d.tier[0].reached);
}

/// Roofline of one vector task on one of `queues` queues: memory as in `vector_time`, arithmetic on one AIV. O(1).
constexpr time_cost vector_time(const device_value& d, std::int64_t bytes, std::int64_t operations, int queues) {
  return slower(vector_time(d, bytes, queues), work_time(operations, d.aiv, 1, d.vector_flops));
}

}}  // namespace hyperparallel::v0_2
