// SPDX-License-Identifier: Apache-2.0
#pragma once
// The times of a step of training, and what one compute step takes by itself: the longer of its operations at the rate
// of its unit and its bytes at the rate of memory, and the overhead of a task. A product that does not fill the device's
// tiles takes as long as one that does (product_shape.hpp). Of a product in fp8 or fp4 activations and their gradients, each of which two
// products read, are cast once, into rows and into columns: a pass over memory for itself. Units: picoseconds. O(1).

#include <hyperparallel/price/reached_share.hpp>
#include <hyperparallel/strategy/operator_work.hpp>
#include <hyperparallel/support/compiled.hpp>

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

namespace detail {

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

/// Operations a second of all cores of a kind on elements of a type, of products in `format`; 0 where the device states no rate.
constexpr std::int64_t rate_of(const device_value& d, compute_unit unit, data_type type, number_format format) {
  if (unit == compute_unit::matrix) return matrix_peak(d, format);
  return type == data_type::f64 ? d.vector_flops_f64 : d.vector_flops;
}

/// Time of one compute step: a roofline over the whole device. `type` is that of what is computed with, `format` that of products,
/// `product` the shape of a contraction. O(1).
constexpr time_cost compute_time(const device_value& d, const operator_work& w, data_type type, number_format format,
                                 const product_shape* product = nullptr) {
  const time_cost bytes = vector_time(d, w.bytes_read + w.bytes_written, 1);
  time_cost flops;
  const std::int64_t rate = rate_of(d, w.unit, type, format);
  if (w.unit != compute_unit::matrix)
    flops = work_time(w.flops, 1, 1, rate);
  else if (product == nullptr)
    flops = work_time(w.flops, 1, 1, rate, d.gmm_cold);
  else
    flops = product_time(d, w.flops, *product, rate);
  return then(latencies(1, d.task_overhead), slower(bytes, flops));
}

constexpr time_cost compute_time(const device_value& d, const operator_work& w, data_type type) {
  return compute_time(d, w, type, multiply_format(type));
}

/// The format that products of a contraction and of its gradients are taken in. Narrower ones than of the operands are named by the
/// forward operator.
constexpr number_format product_format(const graph& g, const graph_operator& o, data_type type) {
  const int bits = (o.forward >= 0 ? g.op.item[o.forward] : o).product_bits;
  if (!g.value_of(o).is_product || bits == 0) return multiply_format(type);
  return bits == 8 ? number_format::float8 : number_format::float4;
}

/// What an operator computes with: the type of its first operand, or f64 where that or the first result is f64.
constexpr data_type computed_type(const graph& g, const graph_operator& o) {
  const data_type result = o.result_count > 0 ? g.tensor.item[o.result[0]].type : data_type::f32;
  return o.operand_count == 0 || result == data_type::f64 ? result : g.tensor.item[o.operand[0]].type;
}

}  // namespace detail

/// What one step takes by itself, and which unit is busy.
struct priced_step {
  time_cost time{};
  compute_unit unit = compute_unit::vector;
};

namespace detail {

/// What casting the operands of compute step `c` takes into floats of so many bits; weights are cast with their update.
constexpr time_cost cast_time(const device_value& d, const sharded_program& p, const program_compute& c, int bits) {
  extent_t bytes = 0;
  for (int i = 0; i < p.graph.op.item[c.op].operand_count; ++i)
    if (p.graph.tensor.item[p.value.item[c.operand[i]].tensor].kind != graph_tensor_kind::parameter)
      bytes += local_bytes(p, c.operand[i]);
  return vector_time(d, bytes / 16 * (8 + bits), 1);
}

priced_step price_of_compute_in_library(const device_value& d, const sharded_program& p, int c, const step_tile& tile);
constexpr priced_step price_of_compute_here(const device_value& d, const sharded_program& p, int c,
                                            const step_tile& tile) {
  const program_compute& step = p.compute.item[c];
  const operator_work w = work_of(p, step, tile);
  const graph_operator& o = p.graph.op.item[step.op];
  const data_type type = computed_type(p.graph, o);
  const number_format format = product_format(p.graph, o, type);
  if (w.unit != compute_unit::matrix) return {compute_time(d, w, type, format), w.unit};
  const local_work shape = local_work_of(p.graph, o, step.placement, p.value.item[step.result[0]].layout.mesh, tile);
  time_cost time;
  if (const efficiency share = reached_share(d, p.graph, o, shape); share.parts_per_million > 0) {
    const time_cost flops = work_time(w.flops, 1, 1, matrix_peak(d, format), share);
    time = then(latencies(1, d.task_overhead), slower(vector_time(d, w.bytes_read + w.bytes_written, 1), flops));
  } else if (d.tile.rows == 0 || !p.graph.value_of(o).is_product) {
    time = compute_time(d, w, type, format);
  } else {
    const product_shape product = product_shape_of(shape);
    time = compute_time(d, w, type, format, &product);
  }
  if (format == number_format::float8 || format == number_format::float4) {
    time_cost casts = detail::cast_time(d, p, step, format == number_format::float8 ? 8 : 4);
    casts.picoseconds = ceil_divide(casts.picoseconds, tile.count);
    time = then(time, casts);
  }
  return {time, w.unit};
}

/// Of compute step `c`, or of a tile of it.
constexpr priced_step price_of_compute(const device_value& d, const sharded_program& p, int c,
                                       const step_tile& tile = {}) {
  HYPERPARALLEL_TWIN(detail::price_of_compute_in_library(d, p, c, tile));
  return detail::price_of_compute_here(d, p, c, tile);
}

/// The first of the program's compute steps whose work has no rate. O(compute steps).
constexpr unrated_work unrated_work_of(const device_value& d, const sharded_program& p) {
  for (const program_compute& c : p.compute) {
    const graph_operator& o = p.graph.op[c.op];
    const compute_unit unit = work_of(p, c).unit;
    const data_type type = computed_type(p.graph, o);
    const number_format format = product_format(p.graph, o, type);
    if (rate_of(d, unit, type, format) < 1) return {true, unit == compute_unit::vector, format};
  }
  return {};
}

/// Whether the step joins single numbers of all parameters: the norm of all gradients.
constexpr bool joins_numbers(const sharded_program& p, const program_step& s) {
  if (s.phase != graph_phase::norm) return false;
  if (s.is_move) return p.graph.tensor.item[p.value.item[p.move.item[s.index].source].tensor].shape.rank == 0;
  const graph_operator& o = p.graph.op.item[p.compute.item[s.index].op];
  return !p.graph.value_of(o).is_norm_term && o.result_count > 0 && p.graph.tensor.item[o.result[0]].shape.rank == 0;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
