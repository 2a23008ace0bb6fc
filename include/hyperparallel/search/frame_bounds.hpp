// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bounds on all plans of a frame, before any is measured: time from matrix work alone, memory from parameters and states.

#include <hyperparallel/price/pipeline_form.hpp>
#include <hyperparallel/price/plan_frame.hpp>
#include <hyperparallel/strategy/operator_work.hpp>
#include <hyperparallel/strategy/partition.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Operations of the matrix unit in a step on one device, and its best rate.
struct matrix_work {
  extent_t flops = 0, rate = 0;
};
constexpr matrix_work matrix_work_of(const graph& g, const device_value& device) {
  strategy_value alone;
  alone.mesh = mesh_of({});
  matrix_work work;
  work.flops = total_work(partition(g, alone)).flops[static_cast<int>(compute_unit::matrix)];
  for (const std::int64_t rate : device.matrix_flops) work.rate = larger(work.rate, extent_t{rate});
  return work;
}

/// At least what matrix work takes where nothing is done twice.
constexpr extent_t time_bound(const matrix_work& work, extent_t micro_batches, const plan_frame& f, int devices,
                              const device_value& device) {
  return work_time(work.flops, micro_batches + f.pipeline - 1, micro_batches * devices, work.rate, device.gmm_cold)
      .picoseconds;
}

/// Whether two frames differ in the sharding of parameters and states alone.
constexpr bool same_core(plan_frame a, const plan_frame& b) {
  a.zero = b.zero;
  a.zero_wide = b.zero_wide;
  return a == b;
}

/// At least what parameters and states take where each is cut by every axis that the frame may cut it by.
constexpr extent_t memory_bound(const graph& g, const plan_frame& f) {
  const pipeline_form form(g, f.pipeline);
  const int expert = find_dim(g, "experts");
  extent_t sum = 0;
  for (const graph_tensor& t : g.tensor) {
    const bool is_state = t.kind == graph_tensor_kind::state;
    if (t.producer >= 0 || (t.kind != graph_tensor_kind::parameter && !is_state)) continue;
    extent_t cuts = extent_t{f.x} * f.tp;
    bool has_experts = false;
    for (int d = 0; d < t.shape.rank; ++d) has_experts = has_experts || t.dim[d] == expert;
    if (f.zero >= (is_state ? 1 : 3))
      cuts *= extent_t{f.dp} * f.ep * f.cp;
    else if (has_experts)
      cuts *= f.ep;
    sum += form.held(t.segment).of(bytes_of(t) * repeats_of(g, t.segment)) / cuts;
  }
  return sum;
}

}}}  // namespace hyperparallel::v0_2::detail
