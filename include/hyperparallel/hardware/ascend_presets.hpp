// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ascend servers and supernodes as types, beside `ascend_910c_die` and `matrix384` (presets.hpp).
//
// Supernodes are full meshes: two-dimensional (devices of a rack, racks) or four-dimensional (two axes of a rack, two of
// racks), as UB-Mesh racks are extended (arXiv 2503.20377). That supernodes of 8192 and 15 488 NPUs are built so is
// published; by which shapes is not, so shapes are arguments and those of the presets are assumed. An NPU's bandwidth is
// assumed to be divided evenly over its links.

#include <hyperparallel/hardware/full_mesh.hpp>
#include <hyperparallel/hardware/preset_parts.hpp>
#include <hyperparallel/hardware/presets.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// 910B3 (msmodeling A2_313T_64G; that the bin is the 910B3 is inferred): 20 cores at the 910C die's rate a core are its 294.9
/// Tflop/s in bf16; fp16 313 from the same table. Int8 is twice fp16, f32 and vector rates are the 910C die's by cores. Host:
/// assumed, PCIe 4 x16 and an eighth of 2 TB. The rest as a 910C die.
constexpr device_value make_ascend_910b() {
  device_value d = make_ascend_910c_die();
  d.aic = 20;
  d.aiv = 40;
  d.matrix_flops[0] = d.aic * cube_flops_per_cycle * cube_clock;
  d.matrix_flops[1] = 313 * teraflops;
  d.matrix_flops[2] = d.matrix_flops[2] * 20 / 24;
  d.matrix_flops[3] = 626 * teraflops;
  d.vector_flops = d.vector_flops * 20 / 24;
  d.l2_bandwidth = 110 * d.aic * cube_clock;
  d.tier[1] = {memory_kind::dram, 256 * gigabyte, 32 * gigabyte, assumed::host_share, assumed::host_latency};
  return d;
}

/// An NPU as announced for a supernode (vendor keynote of September 2025): fp8 rate, HBM. bf16 is assumed to be half of fp8,
/// int8 the same as fp8, f32 an eighth; cores, clocks and L2 are assumed to be those of two 910C dies.
constexpr device_value make_announced_npu(std::int64_t fp8, std::int64_t bytes, std::int64_t bandwidth) {
  device_value d = make_ascend_910c_die();
  d.aic *= 2;
  d.aiv *= 2;
  d.matrix_flops[0] = d.matrix_flops[1] = fp8 / 2;
  d.matrix_flops[2] = fp8 / 8;
  d.matrix_flops[3] = d.matrix_flops[static_cast<int>(number_format::float8)] = fp8;
  d.vector_flops *= 2;
  d.l2_bytes *= 2;
  d.l2_bandwidth *= 2;
  d.tier[0] = {memory_kind::hbm, bytes, bandwidth, d.tier[0].reached, 0};
  return d;
}

/// One of `devices` even parts of an NPU, rounded down.
constexpr device_value part_of_npu(device_value d, int devices) {
  d.aic /= devices;
  d.aiv /= devices;
  for (std::int64_t& rate : d.matrix_flops) rate /= devices;
  d.vector_flops /= devices;
  d.l2_bytes /= devices;
  d.l2_bandwidth /= devices;
  d.tier[0].bytes /= devices;
  d.tier[0].bandwidth /= devices;
  return d;
}

}  // namespace detail

/// How a supernode is built. Axes outermost first; those of 1 are left out, so {1, 64, 1, 128} is two-dimensional.
struct supernode_shape {
  int rack_rows = 1, rack_columns = 1;  ///< racks
  int rows = 1, columns = 1;            ///< NPUs of a rack
  int devices_per_npu = 1;              ///< dies that are ranks of their own, the innermost axis
  constexpr int npus() const { return rack_rows * rack_columns * rows * columns; }
};

namespace detail {

/// The full mesh of a supernode whose NPUs send `bandwidth` bytes per second over all of their links together, at most in one
/// direction. Devices of one NPU share its links evenly and reach each other as two 910C dies do. The latency of a hop,
/// 200 ns, is the claim for a supernode.
constexpr full_mesh_value mesh_of_supernode(const supernode_shape& s, std::int64_t bandwidth) {
  const int sizes[4] = {s.rack_rows, s.rack_columns, s.rows, s.columns};
  constexpr const char* names[4] = {"rack_row", "rack_column", "row", "column"};
  int links = 0;
  for (const int n : sizes) links += n - 1;
  full_mesh_value m;
  for (int a = 0; a < 4; ++a)
    if (sizes[a] > 1)
      m.level[m.level_count++] = {names[a], sizes[a], bandwidth / links / s.devices_per_npu, 200 * nanosecond};
  if (s.devices_per_npu > 1) {
    m.level[m.level_count] = detail::die_pair_link();
    m.level[m.level_count++].group = s.devices_per_npu;
  }
  return m;
}

}  // namespace detail

/// Atlas 800T A2: eight 910B, each pair joined by HCCS, 196 GB/s an NPU over seven links (msmodeling A2), which the level has
/// together, and RoCE of 25 GB/s an NPU. Its 2 µs are what a supernode's 200 ns are published against; those of HCCS are
/// assumed.
struct ascend_910b {
  static constexpr device_value device = detail::make_ascend_910b();
  static constexpr topology_value topology =
      topology_of(link_level{"hccs", 8, 196 * gigabyte, 1 * microsecond},
                  link_level{"roce", unbounded_group, 25 * gigabyte, 2 * microsecond});
};

/// A server of eight 910C (16 dies) behind one UB switch, and RDMA of 200 Gb/s a die: matrix384 without its second switches.
struct ascend_910c : ascend_910c_die {
  static constexpr topology_value topology =
      topology_of(matrix384::topology.level[0], matrix384::topology.level[1], matrix384::topology.level[3]);
};

/// A supernode of NPUs as announced for 8192 of them: 1 Pflop/s fp8, 144 GB at 4 TB/s, 2 TB/s of interconnect, assumed to be
/// for both directions.
template <supernode_shape Shape>
struct supernode_of_950 {
  static constexpr device_value device = detail::part_of_npu(
      detail::make_announced_npu(1000 * teraflops, 144 * GiB, 4000 * gigabyte), Shape.devices_per_npu);
  static constexpr full_mesh_value topology = detail::mesh_of_supernode(Shape, 1000 * gigabyte);
};
/// The same for 15 488: 2 Pflop/s fp8, 288 GB at 9.6 TB/s, 2.2 TB/s (34 PB/s in all).
template <supernode_shape Shape>
struct supernode_of_960 {
  static constexpr device_value device = detail::part_of_npu(
      detail::make_announced_npu(2000 * teraflops, 288 * GiB, 9600 * gigabyte), Shape.devices_per_npu);
  static constexpr full_mesh_value topology = detail::mesh_of_supernode(Shape, 1100 * gigabyte);
};

/// 128 racks of 64, and 16 x 8 racks of 8 x 8.
using supernode_8192_2d = supernode_of_950<supernode_shape{1, 128, 1, 64}>;
using supernode_8192_4d = supernode_of_950<supernode_shape{16, 8, 8, 8}>;
/// 176 racks of 88, and 16 x 11 racks of 11 x 8.
using supernode_15488_2d = supernode_of_960<supernode_shape{1, 176, 1, 88}>;
using supernode_15488_4d = supernode_of_960<supernode_shape{16, 11, 11, 8}>;

}}  // namespace hyperparallel::v0_2
