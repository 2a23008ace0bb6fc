// SPDX-License-Identifier: Apache-2.0
#pragma once
// The experts of a MoE layer as the published system schedules them (arXiv 2605.23764 and its public code): one event
// for all rows of an expert at every edge, grouped matmuls cut into one task for each matrix core, queues in
// topological order. It is what our row-block events and ranks are held against, in the same cost model and by the
// same lowering, scheduler and simulator.
//
//   fused        dispatch → GMM1 → SwiGLU → GMM2 → combine; backward with the weight gradient in front of the product
//                that shares its rows (cache-guided interleave), W1's behind the input gradient
//   serialized   one operator after the other; each waits for all of the one before: the baseline of the same table

#include <hyperparallel/mpmd/lower_chain.hpp>
#include <hyperparallel/mpmd/moe_plan.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class expert_event_form : unsigned char { fused, serialized };

/// Everything that the published order depends on. `gmm` is the share of the matrix peak that a tile reaches.
struct moe_expert_events {
  moe_layer layer{};
  int devices = 1;
  moe_pass pass = moe_pass::forward;
  expert_event_form form = expert_event_form::fused;
  efficiency gmm{};
  int vector_queues = 24;
  int element_bytes = 2;
  int copy_rows = 128;     ///< rows of a task of dispatch, combine or SwiGLU
  int tile_rows = 128;     ///< matmul tile that a matrix core computes at a time; a core's last wave may be part full
  int tile_columns = 256;  ///< likewise
};

namespace detail {

struct expert_event_describer {
  const moe_expert_events& p;
  const device_value& device;
  tile_chain& c;
  int space = 0, rows = 0;
  int before = -1;  ///< the result of the stage before, which an operator of its own waits for
  std::int64_t put_time = 0;

  constexpr expert_event_describer(const moe_expert_events& plan, const device_value& d,
                                   const expert_all_to_all_fit& fit, tile_chain& chain)
      : p(plan), device(d), c(chain) {
    const int experts = p.layer.experts / p.devices;
    c.devices = p.devices;
    c.overhead = device.task_overhead;
    space = add_space(c, experts, 1);
    rows = static_cast<int>(routed_rows(p.layer) / p.layer.experts);
    const std::int64_t payload = extent_t{rows} * experts * p.layer.hidden * p.element_bytes;
    put_time = expert_all_to_all_time(payload, p.devices, fit).picoseconds / (experts * pieces());
  }
  constexpr int pieces() const { return tiles_of(rows, p.copy_rows); }
  constexpr int tensor() { return add_tensor(c, space, grain::item, extent_t{1} << 30); }
  constexpr tile_stage& stage(moe_operation o, resource kind, int tiles, std::int64_t time, int lag = at_once) {
    return add_stage(c, static_cast<int>(o), space, grain::item, {kind, tiles, time}, lag);
  }
  /// The stage's operands, and in the serialized form what the device did before; returns its result.
  constexpr int connect(tile_stage& s, int from, int also = -1) {
    const int to = tensor();
    add_read(s, from);
    if (also >= 0) add_read(s, also);
    if (p.form == expert_event_form::serialized && before >= 0 && before != from) add_read(s, before);
    add_write(s, to);
    before = to;
    return to;
  }

  constexpr int put(moe_operation o, int from) { return connect(stage(o, resource::link, pieces(), put_time), from); }

  /// m × n × k on all cores: the fused form divides it evenly, operators of their own run in waves of whole tiles.
  constexpr int matmul(moe_operation o, std::int64_t m, std::int64_t n, std::int64_t k, int from, int also = -1,
                       int lag = at_once) {
    std::int64_t time = matmul_time(device, m, n, k, p.gmm, device.aic).picoseconds;
    if (p.form == expert_event_form::serialized) {
      const std::int64_t tiles = ceil_divide(m, p.tile_rows) * ceil_divide(n, p.tile_columns);
      time = ceil_divide(tiles, device.aic) * matmul_time(device, p.tile_rows, p.tile_columns, k, p.gmm).picoseconds;
    }
    return connect(stage(o, resource::aic, device.aic, device.task_overhead + time, lag), from, also);
  }

  /// Moves `width` elements a row.
  constexpr int vector(moe_operation o, std::int64_t width, int from) {
    const std::int64_t bytes = extent_t{p.copy_rows} * width * p.element_bytes;
    const std::int64_t time = device.task_overhead + vector_time(device, bytes, p.vector_queues).picoseconds;
    return connect(stage(o, resource::aiv, pieces(), time), from);
  }

  constexpr void forward() {
    const extent_t h = p.layer.hidden, i = p.layer.intermediate;
    const int x = put(moe_operation::dispatch, tensor());
    const int act = vector(moe_operation::swiglu, 3 * i, matmul(moe_operation::gate_up, rows, 2 * i, h, x));
    put(moe_operation::combine, matmul(moe_operation::down, rows, h, i, act));
  }

  constexpr void backward() {
    const extent_t h = p.layer.hidden, i = p.layer.intermediate;
    const int kept_act = tensor(), kept_rows = tensor();
    const int dy = put(moe_operation::dispatch_gradient, tensor());
    matmul(moe_operation::down_weight_gradient, i, h, rows, dy, kept_act, 0);
    const int dact = matmul(moe_operation::act_gradient, rows, i, h, dy, -1, 0);
    const int dgu = vector(moe_operation::swiglu_gradient, 5 * i, dact);
    const int dx = matmul(moe_operation::input_gradient, rows, h, 2 * i, dgu);
    put(moe_operation::combine_gradient, dx);
    matmul(moe_operation::gate_up_weight_gradient, h, 2 * i, rows, dgu, kept_rows);
  }
};

}  // namespace detail

/// The chain of one device among equals. Domain: `check(p.layer, p.devices)` and `check(device)` are ok, forward or
/// backward, at most `max_chain_groups` local experts. O(1).
constexpr tile_chain describe_expert_events(const moe_expert_events& p, const device_value& device,
                                            const expert_all_to_all_fit& fit) {
  tile_chain c;
  detail::expert_event_describer d(p, device, fit, c);
  if (p.pass == moe_pass::forward)
    d.forward();
  else
    d.backward();
  if (p.form == expert_event_form::serialized) serialize(c);
  return c;
}

}}  // namespace hyperparallel::v0_2
