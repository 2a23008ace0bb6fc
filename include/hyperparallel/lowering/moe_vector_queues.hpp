// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many vector queues a MoE plan gets: AIVs that do not move rows over the fabric compute.
//
// The split is that of `choose_vector_split` for the rows that leave a device beside the vector operators of one pass.
// Fewer cores than saturate the fabric or the memory make it slower in proportion, so the split comes with the device
// and the all-to-all that a plan is then to be priced with. Law: priced so, at the measured saturation (24 of 48) the
// simulated makespan of the chosen split is within 1 % of the best over all splits; tests print how far others are.

#include <hyperparallel/hardware/vector_split.hpp>
#include <hyperparallel/lowering/moe_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Hand all three to `make_moe_plan`. `split.time.code` says why there is none.
struct moe_vector_queues {
  vector_split split{};
  device_value device{};
  expert_all_to_all_fit fit{};
  moe_options options{};
};

/// What one device sends and what its vector cores move in `o.pass`, forward or backward; rows that stay are copied.
/// Domain: `check(layer, devices)` is ok. O(1).
constexpr vector_load moe_vector_load(const moe_layer& layer, int devices, const moe_options& o) {
  const std::int64_t rows = routed_rows(layer) / devices, row = std::int64_t{layer.hidden} * o.element_bytes;
  const std::int64_t stays = o.even_exchange ? 0 : rows / devices;
  const std::int64_t width = o.pass == moe_pass::forward ? 3 : 5;  // columns of I that SwiGLU or its gradient moves
  vector_load load;
  load.sent = devices == 1 ? 0 : 2 * (rows - rows / devices) * row;
  load.moved = rows * width * layer.intermediate * o.element_bytes + 2 * 2 * stays * row;
  if (o.scope == moe_scope::layer) load.moved += rows * layer.hidden * (o.element_bytes + 8);  // the merge
  if (o.pass == moe_pass::backward) load.moved += 2 * rows * row;                              // the router's gradient
  return load;
}

/// The device and the all-to-all with `communication` of the AIVs on the fabric and the others at vector work: tier 0
/// is what these reach of it. Domain: 0 ≤ communication < aiv, 0 where nothing is sent; saturation ≥ 1.
constexpr moe_vector_queues split_moe_queues(const device_value& device, const vector_saturation& at,
                                             const expert_all_to_all_fit& fit, const moe_options& base,
                                             int communication) {
  moe_vector_queues q{{communication, device.aiv - communication, {}}, device, fit, base};
  if (communication > 0 && communication < at.fabric) q.fit.bandwidth = fit.bandwidth * communication / at.fabric;
  std::int64_t& reached = q.device.tier[0].reached.parts_per_million;
  if (q.split.vector < at.memory) reached = reached * q.split.vector / at.memory;
  q.options.vector_queues = q.split.vector;
  return q;
}

/// The split that `choose_vector_split` finds for the layer's load; where that leaves vector work behind matrix work
/// with room to spare (half of it), more AIVs send, up to saturation: the first rows and the last ones hide behind
/// nothing. O(aiv).
constexpr moe_vector_queues choose_moe_vector_queues(const moe_layer& layer, int devices, const device_value& device,
                                                     const vector_saturation& at, const expert_all_to_all_fit& fit,
                                                     const moe_options& base) {
  const vector_load load = moe_vector_load(layer, devices, base);
  vector_split split = choose_vector_split(device, fit.bandwidth, at, load);
  if (!split.time.ok()) return {split, device, fit, base};
  const std::int64_t rows = routed_rows(layer) / devices * (base.pass == moe_pass::forward ? 3 : 6);
  const time_cost matrix =
      matmul_time(device, rows, layer.intermediate, layer.hidden, device.gmm_warm, base.matrix_queues);
  if (!matrix.ok()) {
    split.time = matrix;
    return {split, device, fit, base};
  }
  const std::int64_t spare = matrix.picoseconds / 2;
  const std::int64_t allowed = split.time.picoseconds < spare ? spare : split.time.picoseconds;
  while (load.sent > 0 && split.communication < at.fabric && split.vector > 1 &&
         vector_work_time(device, at, load, split.vector - 1).picoseconds <= allowed) {
    split.communication += 1;
    split.vector -= 1;
  }
  split.time = split_time(device, fit.bandwidth, at, load, split.communication);
  moe_vector_queues q = split_moe_queues(device, at, fit, base, split.communication);
  q.split = split;
  return q;
}

}}  // namespace hyperparallel::v0_2
