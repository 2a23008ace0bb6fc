// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tile sizes, order and priorities of a MoE plan, chosen by what they cost.
//
//   choose_moe_tiling     simulates every candidate and takes the least makespan; of equal ones the fewest tasks
//   estimate_moe_tiling   the same by the closed form, over tile sizes alone: reference order, weight gradients last,
//                         the second product two experts behind the first; usable in a constant expression
//   default_moe_tiling    its tile sizes for the forward pass of a layer
//
// Law: on several devices, where the matrix cores are busy 1.75 times as long as link and vector cores each, the closed
// form's choice takes at most 2 % longer than the best simulated candidate (tests print the worst). Elsewhere waits for
// the exchange decide, and only simulation tells.

#include <hyperparallel/lowering/planned_flow.hpp>
#include <hyperparallel/price/matmul_reuse.hpp>
#include <hyperparallel/price/moe_estimate.hpp>
#include <hyperparallel/support/static_vector.hpp>

#include <optional>

namespace hyperparallel { inline namespace v0_2 {

struct weight_tile {
  int rows = 0, columns = 0;
  friend constexpr bool operator==(const weight_tile&, const weight_tile&) = default;
};

/// What is tried: every combination. A tile of fewer than `least_tile` elements is below what a matrix core computes at
/// a time (128 × 256 on a 910C), where the efficiency of the device no longer holds; a block never exceeds what one
/// pair of devices exchanges, rounded up.
struct moe_tiling_candidates {
  static_vector<int, 8> row_blocks{4, {64, 128, 256, 512}};
  static_vector<int, 8> columns{3, {256, 512, 1024}};
  static_vector<weight_tile, 8> weight_tiles{3, {{512, 512}, {1024, 512}, {1024, 1024}}};
  static_vector<int, 4> lag_experts{2, {1, 2}};  ///< how far the second product follows the first, in reference order
  static_vector<priority, 2> policies{2, {priority::upward_rank, priority::reference_order}};
  static_vector<weight_gradient_order, 2> weight_gradients{
      2, {weight_gradient_order::last, weight_gradient_order::interleaved}};
  int least_tile = 128 * 256;
};

/// `layer` is not ok where the layer does not divide, `device` where it cannot be; no candidate may be allowed or
/// priced
/// (`candidates` = 0); then the rest means nothing. The makespan is the criterion's own: estimated or simulated.
struct moe_tiling_choice {
  moe_status layer{};
  device_status device{};
  moe_options options{};
  std::int64_t makespan = 0;
  int tasks = 0;
  int candidates = 0;
};

namespace detail {

/// Calls `visit(options)` for every allowed candidate on top of `base`. Without weight gradients their tiles and order
/// are not varied; the first product's columns only where it is forward's. The second product follows at least four
/// waves of the first, so that no queue waits for a SwiGLU. Upward ranks ignore lag and order.
template <class Visit>
constexpr void for_each_tiling(const moe_layer& layer, int devices, const moe_options& base,
                               const moe_tiling_candidates& c, const Visit& visit) {
  const bool forward = base.pass == moe_pass::forward;
  const std::int64_t pair =
      base.rows_per_pair > 0 ? base.rows_per_pair : ceil_divide(routed_rows(layer), extent_t{layer.experts} * devices);
  for (int b = 0; b < c.row_blocks.size; ++b) {
    const int rows = c.row_blocks[b];
    if (b > 0 && rows > pair) continue;
    for (int down = 0; down < c.columns.size; ++down)
      for (int up = 0; up < (forward ? c.columns.size : 1); ++up) {
        const int down_columns = c.columns[down], up_columns = forward ? c.columns[up] : down_columns;
        if (extent_t{rows} * down_columns < c.least_tile || extent_t{rows} * up_columns < c.least_tile) continue;
        for (int w = 0; w < (forward ? 1 : c.weight_tiles.size); ++w)
          for (int p = 0; p < c.policies.size; ++p) {
            const bool listed = c.policies[p] == priority::reference_order;
            for (int l = 0; l < (listed ? c.lag_experts.size : 1); ++l)
              for (int g = 0; g < (listed && !forward ? c.weight_gradients.size : 1); ++g) {
                moe_options o = base;
                o.tiling.row_block = rows;
                o.tiling.gate_up_columns = up_columns;
                o.tiling.down_columns = down_columns;
                if (!forward) {
                  o.tiling.weight_rows = c.weight_tiles[w].rows;
                  o.tiling.weight_columns = c.weight_tiles[w].columns;
                  o.weight_gradients = c.weight_gradients[g];
                }
                o.policy = c.policies[p];
                if (o.tiling.vector_rows > rows) o.tiling.vector_rows = rows;
                const int first_tiles =
                    forward ? tiles_of(2 * layer.intermediate, up_columns) : tiles_of(layer.intermediate, down_columns);
                const int experts_behind = c.lag_experts[l] * tiles_of(pair, rows) * devices;
                const int waves_behind = tiles_of(extent_t{4} * base.matrix_queues, first_tiles);
                o.tiling.lag = experts_behind < waves_behind ? waves_behind : experts_behind;
                visit(o);
              }
          }
      }
  }
}

constexpr bool better(const moe_tiling_choice& a, const moe_tiling_choice& b) {
  return b.candidates == 0 || a.makespan < b.makespan || (a.makespan == b.makespan && a.tasks < b.tasks);
}

}  // namespace detail

/// The candidates that the closed form can tell apart.
constexpr moe_tiling_candidates closed_form_candidates(moe_tiling_candidates c = {}) {
  c.lag_experts = {1, {2}};
  c.policies = {1, {priority::reference_order}};
  c.weight_gradients = {1, {weight_gradient_order::last}};
  return c;
}

/// The candidate with the least estimate. Fails as `make_moe_plan`. O(candidates · queues).
constexpr moe_tiling_choice estimate_moe_tiling(const moe_layer& layer, int devices, const device_value& device,
                                                const expert_all_to_all_fit& fit, const moe_options& base,
                                                const moe_tiling_candidates& candidates = closed_form_candidates()) {
  moe_tiling_choice best;
  best.layer = check(layer, devices);
  best.device = check(device);
  if (best.layer.code != moe_code::ok || best.device.code != device_code::ok) return best;
  int tried = 0;
  detail::for_each_tiling(layer, devices, base, candidates, [&](const moe_options& o) {
    const moe_plan_result made = make_moe_plan(layer, devices, 1, device, fit, o);
    if (made.price != cost_code::ok) return;
    const moe_estimate e = estimate_moe_makespan(made.plan, o);
    const moe_tiling_choice now{{}, {}, o, e.total(), e.tasks, 1};
    if (detail::better(now, best)) best = now;
    ++tried;
  });
  best.candidates = tried;
  return best;
}

/// Tile sizes for the forward pass of `layer`, for a constant expression. Domain: `check(layer, devices)` is ok.
constexpr moe_tiling default_moe_tiling(const moe_layer& layer, int devices, const device_value& device,
                                        const expert_all_to_all_fit& fit = {}) {
  return estimate_moe_tiling(layer, devices, device, fit, {}).options.tiling;
}

/// One candidate simulated; with `reuse`, matrix tasks are priced by what their order leaves in L2.
struct simulated_tiling {
  cost_code price = cost_code::ok;
  simulation_result result{};
  matmul_traffic traffic{};
  int tasks = 0;
};

/// Domain: options for which `make_moe_plan` is ok but for its prices; where these are not, nothing is simulated.
/// O(tasks + waits + signals).
inline simulated_tiling simulate_moe_tiling(const moe_layer& layer, int devices, const device_value& device,
                                            const expert_all_to_all_fit& fit, const moe_options& o,
                                            const std::optional<matmul_reuse>& reuse = {}) {
  simulated_tiling out;
  const moe_plan_result made = make_moe_plan(layer, devices, 1, device, fit, o);
  out.price = made.device.code == device_code::ok ? made.price : cost_code::hardware_is_refused;
  if (out.price != cost_code::ok) return out;
  const moe_builder build{made.plan};
  const machine_shape machine = moe_machine(o, 1);
  const int queues = queue_count(machine);
  const taskflow_size size = measure(build);
  owned_taskflow f(size);
  build(f);
  seal(f);
  owned_schedule s(size.tasks, queues);
  owned_schedule_scratch x(size, queues);
  list_schedule(f, machine, {o.policy, o.synchronisation}, s, x);
  out.tasks = size.tasks;
  if (reuse) out.traffic = price_matmuls_by_reuse(f, s, 0, *reuse);
  owned_timeline line(size.tasks);
  owned_simulation_scratch y(size, queues);
  out.result = simulate(f, s, {o.synchronisation, false}, line, y);
  return out;
}

/// The candidate with the least simulated makespan. Fails as `make_moe_plan`. O(candidates · tasks): about a
/// millisecond for each candidate of a full-size layer.
inline moe_tiling_choice choose_moe_tiling(const moe_layer& layer, int devices, const device_value& device,
                                           const expert_all_to_all_fit& fit, const moe_options& base,
                                           const moe_tiling_candidates& candidates = {},
                                           const std::optional<matmul_reuse>& reuse = {}) {
  moe_tiling_choice best;
  best.layer = check(layer, devices);
  best.device = check(device);
  if (best.layer.code != moe_code::ok || best.device.code != device_code::ok) return best;
  int tried = 0;
  detail::for_each_tiling(layer, devices, base, candidates, [&](const moe_options& o) {
    const simulated_tiling run = simulate_moe_tiling(layer, devices, device, fit, o, reuse);
    if (run.price != cost_code::ok) return;
    ++tried;
    if (run.result.code != simulation_code::ok) return;
    const moe_tiling_choice now{{}, {}, o, run.result.makespan, run.tasks, 1};
    if (detail::better(now, best)) best = now;
  });
  best.candidates = tried;
  return best;
}

}}  // namespace hyperparallel::v0_2
