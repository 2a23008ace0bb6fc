// SPDX-License-Identifier: Apache-2.0
#pragma once
// The times of a step of training, and what one compute step takes by itself: the longer of its operations at the rate
// of its unit and its bytes at the rate of memory, and the overhead of a task. A product that does not fill the device's
// tiles takes as long as one that does (product_shape.hpp). Units: picoseconds. O(1).

#include <hyperparallel/price/product_shape.hpp>
#include <hyperparallel/strategy/operator_work.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct step_times {
  time_cost total{};
  extent_t compute_busy = 0;
  extent_t by_unit[compute_unit_count] = {};  ///< of `compute_busy`
  extent_t communication_busy = 0;            ///< moves, those within a device too
  extent_t exposed = 0;                       ///< communication that nothing hides
  friend constexpr bool operator==(const step_times&, const step_times&) = default;

  /// Of what is refused, and why: `not_counted` everywhere.
  static constexpr step_times of_nothing(cost_code why) {
    step_times t{{why, not_counted}, not_counted, {}, not_counted, not_counted};
    for (extent_t& time : t.by_unit) time = not_counted;
    return t;
  }
};

/// The rate at which a device multiplies elements of a type.
constexpr number_format multiply_format(data_type type) {
  switch (type) {
    case data_type::bf16:
      return number_format::bfloat16;
    case data_type::f16:
      return number_format::float16;
    case data_type::boolean:
    case data_type::i8:
      return number_format::int8;
    case data_type::f64:
      return number_format::float64;
    default:
      return number_format::float32;
  }
}

/// Operations a second of all cores of a kind on elements of a type; 0 where the device states no rate.
constexpr std::int64_t rate_of(const device_value& d, compute_unit unit, data_type type) {
  if (unit == compute_unit::matrix) return matrix_peak(d, multiply_format(type));
  return type == data_type::f64 ? d.vector_flops_f64 : d.vector_flops;
}

/// Time of one compute step: a roofline over the whole device. `type` is that of what is computed with, `product` the shape of a
/// contraction. O(1).
constexpr time_cost compute_time(const device_value& d, const operator_work& w, data_type type,
                                 const product_shape* product = nullptr) {
  const time_cost bytes = vector_time(d, w.bytes_read + w.bytes_written, 1);
  time_cost flops;
  const std::int64_t rate = rate_of(d, w.unit, type);
  if (w.unit != compute_unit::matrix)
    flops = work_time(w.flops, 1, 1, rate);
  else if (product == nullptr)
    flops = work_time(w.flops, 1, 1, rate, d.gmm_cold);
  else
    flops = product_time(d, w.flops, *product, rate);
  return then(latencies(1, d.task_overhead), slower(bytes, flops));
}

/// What an operator computes with: the type of its first operand, or f64 where that or the first result is f64.
constexpr data_type computed_type(const graph& g, const graph_operator& o) {
  const data_type result = o.result_count > 0 ? g.tensor.item[o.result[0]].type : data_type::f32;
  return o.operand_count == 0 || result == data_type::f64 ? result : g.tensor.item[o.operand[0]].type;
}

/// What one step takes by itself, and which unit is busy.
struct priced_step {
  time_cost time{};
  compute_unit unit = compute_unit::vector;
};

/// Of compute step `c`.
constexpr priced_step price_of_compute(const device_value& d, const sharded_program& p, int c) {
  const operator_work w = work_of(p, p.compute.item[c]);
  const graph_operator& o = p.graph.op.item[p.compute.item[c].op];
  const data_type type = computed_type(p.graph, o);
  if (d.tile.rows == 0 || o.kind != id_of<ops::contract>) return {compute_time(d, w, type), w.unit};
  const product_shape product = product_shape_of(local_work_of(p.graph, o, p.compute.item[c].placement, p.mesh.shape));
  return {compute_time(d, w, type, &product), w.unit};
}

/// The first of the program's compute steps whose work has no rate. O(compute steps).
constexpr unrated_work unrated_work_of(const device_value& d, const sharded_program& p) {
  for (const program_compute& c : p.compute) {
    const graph_operator& o = p.graph.op[c.op];
    const compute_unit unit = work_of(p, c).unit;
    const data_type type = computed_type(p.graph, o);
    if (rate_of(d, unit, type) < 1) return {true, unit == compute_unit::vector, multiply_format(type)};
  }
  return {};
}

/// Whether the step joins single numbers of all parameters: the norm of all gradients.
constexpr bool joins_numbers(const sharded_program& p, const program_step& s) {
  if (s.phase != graph_phase::norm) return false;
  if (s.is_move) return p.graph.tensor.item[p.value.item[p.move.item[s.index].source].tensor].shape.rank == 0;
  const graph_operator& o = p.graph.op.item[p.compute.item[s.index].op];
  return o.kind != id_of<ops::sum_of_squares> && o.result_count > 0 && p.graph.tensor.item[o.result[0]].shape.rank == 0;
}

}}  // namespace hyperparallel::v0_2
