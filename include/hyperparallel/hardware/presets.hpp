// SPDX-License-Identifier: Apache-2.0
#pragma once
// Known hardware as types: each has `static constexpr device_value device` and `static constexpr … topology`, a
// `topology_value` or a `full_mesh_value`.
//
// A 910C NPU is two dies, and a die is what frameworks call a device, so a rank is a die. Each number carries its
// source; "fitted" marks those found by matching a published table, "assumed" those that no source gives. Change one by
// deriving: `struct mine : hp::matrix384 { static constexpr hp::device_value device = …; };`

#include <hyperparallel/hardware/device.hpp>
#include <hyperparallel/hardware/expert_all_to_all.hpp>
#include <hyperparallel/hardware/memory_pool.hpp>
#include <hyperparallel/hardware/topology.hpp>
#include <hyperparallel/hardware/units.hpp>
#include <hyperparallel/hardware/vector_split.hpp>

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 {

/// A type that describes hardware.
template <class Hardware>
concept hardware_type = requires {
  { Hardware::device.tier_count };
  { Hardware::topology.level_count };
};

namespace detail {

/// 16×16×16 multiply-accumulates a cycle, two operations each (platform file Ascend910B2C.ini).
inline constexpr std::int64_t cube_flops_per_cycle = 16 * 16 * 16 * 2;
/// cube_freq of the same file.
inline constexpr std::int64_t cube_clock = 1'800'000'000;

constexpr device_value make_ascend_910c_die() {
  device_value d;
  d.aic = 24;                                                     // cube_core_cnt, Ascend910B2C.ini
  d.aiv = 48;                                                     // vector_core_cnt, same file
  d.matrix_flops[0] = d.aic * cube_flops_per_cycle * cube_clock;  // bf16: 353.9 TFLOP/s, as msmodeling A3_752T_128G_DIE
  d.matrix_flops[1] = 376 * teraflops;                            // fp16, msmodeling A3_752T_128G_DIE
  d.matrix_flops[2] = 99'500 * gigaflops;                         // fp32, same
  d.matrix_flops[3] = 752 * teraflops;                            // int8, same
  d.vector_flops = 22 * teraflops;                                // bf16, msmodeling gp_ops
  d.l2_bytes = 192 * MiB;                                         // l2_size, Ascend910B2C.ini
  d.l2_bandwidth = 110 * d.aic * cube_clock;                      // l2_read_rate 110 B/cycle/core, same file: 4.75 TB/s
  d.tier_count = 2;
  // HBM: capacity and reached share 0.6 from msmodeling; 1.6 TB/s CloudMatrix384 notes (msmodeling writes TiB/s).
  d.tier[0] = {memory_kind::hbm, 64 * GiB, 1600 * gigabyte, per_mille(600), 0};
  // CPU memory over UB: 151 GB/s and 1.0 us at 512 B, CloudMatrix384 notes. One die alone; see `contended_dram_*`.
  d.tier[1] = {memory_kind::dram, capacity_not_stated, 151 * gigabyte, full_efficiency, 1 * microsecond};
  d.gmm_cold = per_mille(696);                   // fitted: serialized rows of arXiv 2605.23764 (MAC use ~67 % there)
  d.gmm_warm = per_mille(864);                   // fitted: fused rows of the same table
  d.task_overhead = 100 * nanosecond;            // static dispatch, microbenchmark of arXiv 2605.23764
  d.synchronisation_latency = 50 * microsecond;  // AIC event poll period, hyper-parallel worker_kernel.h
  d.vector_synchronisation_latency = 150 * microsecond;  // AIV event poll period, same
  return d;
}

constexpr link_level die_pair_link() {
  return {"die_pair", 2, 224 * gigabyte, 200 * nanosecond};  // msmodeling A3 topology level SIO
}

constexpr topology_value make_die_pair() {
  topology_value t;
  t.level_count = 1;
  t.level[0] = die_pair_link();
  return t;
}

constexpr topology_value make_matrix384() {
  topology_value t;
  t.level_count = 4;
  t.level[0] = die_pair_link();
  // A node of 16 dies behind one UB switch: 196 GB/s msmodeling; 0.93 us UBEP notes (msmodeling: 0.5).
  t.level[1] = {"ub_one_switch", 16, 196 * gigabyte, 930 * nanosecond};
  // 48 nodes: less than 3 % below 196 GB/s, CloudMatrix384 notes; 2.5 us UBEP notes (msmodeling: 5.5).
  t.level[2] = {"ub_two_switches", 768, 190 * gigabyte, 2500 * nanosecond};
  // 200 Gb/s a die, CloudMatrix384 notes; the latency is assumed.
  t.level[3] = {"rdma", unbounded_group, 200 * gigabit_per_second, 10 * microsecond};
  return t;
}

/// All numbers are assumed: round figures of one small CPU share per rank, none measured. The cores stand for threads.
constexpr device_value make_generic_host() {
  device_value d;
  d.aic = 2;
  d.aiv = 2;
  d.matrix_flops[0] = 100 * gigaflops;
  d.matrix_flops[1] = 100 * gigaflops;
  d.matrix_flops[2] = 100 * gigaflops;
  d.matrix_flops[3] = 100 * gigaflops;
  d.matrix_flops[4] = 50 * gigaflops;
  d.vector_flops = 20 * gigaflops;
  d.vector_flops_f64 = 10 * gigaflops;
  d.l2_bytes = 1 * MiB;
  d.l2_bandwidth = 100 * gigabyte;
  d.tier_count = 2;
  d.tier[0] = {memory_kind::hbm, 1 * GiB, 20 * gigabyte, per_mille(800), 0};
  d.tier[1] = {memory_kind::dram, 4 * GiB, 10 * gigabyte, per_mille(800), 1 * microsecond};
  d.gmm_cold = per_mille(500);
  d.gmm_warm = per_mille(700);
  d.task_overhead = 500 * nanosecond;
  d.synchronisation_latency = 5 * microsecond;
  d.vector_synchronisation_latency = 5 * microsecond;
  return d;
}

constexpr topology_value make_shared_memory() {
  topology_value t;
  t.level_count = 1;
  t.level[0] = {"shared_memory", unbounded_group, 10 * gigabyte, 1 * microsecond};
  return t;
}

}  // namespace detail

/// One die of an Ascend 910C, and its sibling in the same package.
struct ascend_910c_die {
  static constexpr device_value device = detail::make_ascend_910c_die();
  static constexpr topology_value topology = detail::make_die_pair();
  /// Fitted; see expert_all_to_all.hpp.
  static constexpr expert_all_to_all_fit expert_all_to_all{};
  /// Fabric: 24 of 48 AIVs reach what 48 do, UBEP notes (arXiv 2607.06202). Memory: assumed, the same.
  static constexpr vector_saturation saturation{24, 24};
  /// Bytes per second of one die's DRAM tier while all 16 dies of its host copy: the range of the hyper-parallel MoE
  /// host swap document. `with_bandwidth` puts one of them into the tier.
  static constexpr std::int64_t contended_dram_lowest = 9 * gigabyte;
  static constexpr std::int64_t contended_dram_highest = 37 * gigabyte;
};

/// A supernode of 384 NPUs (768 dies), and RDMA between supernodes.
struct matrix384 : ascend_910c_die {
  static constexpr topology_value topology = detail::make_matrix384();
  /// 192 CPUs (hardware notes of CloudMatrix384), 160 GB/s of UB each (its summary page); 384 GiB each are assumed.
  static constexpr memory_pool pool{192, 384 * GiB, 160 * gigabyte};
};

/// Ranks simulated on one ordinary computer: tier 0 plays HBM and tier 1 the DRAM pool, both in main memory.
struct generic_host {
  static constexpr device_value device = detail::make_generic_host();
  static constexpr topology_value topology = detail::make_shared_memory();
  static constexpr expert_all_to_all_fit expert_all_to_all{10 * gigabyte, 1 * microsecond};
  static constexpr vector_saturation saturation{2, 2};
};

/// The device with another bandwidth of one tier, for example a contended one. A tier that it lacks changes nothing.
constexpr device_value with_bandwidth(device_value d, memory_kind kind, std::int64_t bytes_per_second) {
  const int t = detail::tier_index(d, kind);
  if (t >= 0) d.tier[t].bandwidth = bytes_per_second;
  return d;
}

static_assert(check(ascend_910c_die::device) == device_status{} && check(generic_host::device) == device_status{});
static_assert(check(ascend_910c_die::topology) == topology_status{} &&
              check(matrix384::topology) == topology_status{} && check(generic_host::topology) == topology_status{});

}}  // namespace hyperparallel::v0_2
