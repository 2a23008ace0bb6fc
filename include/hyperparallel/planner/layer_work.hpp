// SPDX-License-Identifier: Apache-2.0
#pragma once
// The least that one device computes in the layers of a decoder under a plan, in a micro-batch, from sizes alone.
//
//   const hp::layer_work w = hp::layer_work_of(deepseek_v3, plan, hp::matrix384::device);
//   w.forward + w.again + w.backward     seconds
//
// A product takes the longer of its operations at the matrix rate of the plan's formats and its bytes at the rate of memory: both
// operands and the result once, weights as they are stored, all else in bf16; casts are left out. Experts multiply slots, not tokens: what cuts
// the batch cuts them, and cp where it divides those of an expert; along tp they and hidden vectors are whole, but where experts are dealt to tp. Rows
// go to slots and back through memory. Norms and
// residual sums read and write hidden vectors. Each of these operators takes the overhead of a task on top. Routers, biases,
// rotated positions and activations of dense layers are left out, as is what tiles waste.
//
// Law: the sum, in the share that a stage has of the layers and as often as it plays micro-batches, is at most the time
// that the estimate computes. Units: seconds. O(layers).

#include <hyperparallel/planner/decoder_plan.hpp>
#include <hyperparallel/price/step_times.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Of all layers.
struct layer_work {
  double forward = 0, backward = 0;
  double again = 0;         ///< recomputation of whole layers; 0 without it
  double shared = 0;        ///< of `forward`: shared experts, which nothing makes wait for the routed ones
  double shared_again = 0;  ///< of `again`
  double gradients = 0;     ///< of `backward`: what the gradient of a layer's input waits for, without shared experts
  constexpr double sum() const { return forward + again + backward; }
  constexpr void add(const layer_work& w, double times) {
    for (double layer_work::* const part : {&layer_work::forward, &layer_work::backward, &layer_work::again,
                                            &layer_work::shared, &layer_work::shared_again, &layer_work::gradients})
      this->*part += w.*part * times;
  }
};

namespace detail {

constexpr double larger_of(double a, double b) { return a < b ? b : a; }

/// Seconds that an operation of a product, a byte of memory and a task take at least. Domain: the device has a rate of bf16.
struct roofline {
  double operation, narrow;  ///< in bf16; of a layer with its weights
  double byte, task;
  double weight;  ///< bytes

  constexpr roofline(const device_value& d, const plan_formats& f)
      : operation(seconds_an_operation(d, number_format::bfloat16)),
        narrow(seconds_an_operation(d, f.product)),
        byte(1e6 /
             (static_cast<double>(d.tier[0].bandwidth) * static_cast<double>(d.tier[0].reached.parts_per_million))),
        task(static_cast<double>(d.task_overhead) * 1e-12),
        weight(f.weight_bytes()) {}

  static constexpr double seconds_an_operation(const device_value& d, number_format f) {
    return 1e6 / (static_cast<double>(matrix_peak(d, f)) * static_cast<double>(d.gmm_cold.parts_per_million));
  }

  /// Of `rows` rows, each by one of `tables` tables of in x out, in bf16.
  constexpr double product(double rows, double in, double out, double tables = 1) const {
    return product_at(operation, rows, in, out, tables);
  }
  /// The same of a layer's weights.
  constexpr double layer_product(double rows, double in, double out, double tables) const {
    return product_at(narrow, rows, in, out, tables);
  }
  constexpr double product_at(double each, double rows, double in, double out, double tables) const {
    return larger_of(2 * rows * in * out * each, (2 * rows * (in + out) + weight * in * out * tables) * byte) + task;
  }
  constexpr double pass(double bytes) const { return bytes * byte + task; }
};

/// Tokens of a micro-batch on one device.
constexpr double tokens_of(const decoder_plan& p) {
  return static_cast<double>(p.batch) / p.micro_batches * static_cast<double>(p.sequence) /
         (static_cast<double>(p.dp) * p.ep * p.cp);
}

/// Slots of the routed experts of one layer on one device, in a micro-batch. With `joint` slots at least.
constexpr double expert_slots_of(const decoder& d, const decoder_plan& p) {
  const mixture_of_experts& e = d.experts;
  if (e.slots == expert_slots::joint)
    return tokens_of(p) * static_cast<double>(e.top_k) * (e.capacity_factor < 1 ? e.capacity_factor : 1.0) /
           (p.experts_along_tp ? p.tp : 1);
  return static_cast<double>(p.batch) / p.micro_batches / (static_cast<double>(p.dp) * p.ep) *
         static_cast<double>(e.experts) * static_cast<double>(slots_of_an_expert(d, p)) /
         static_cast<double>(slot_parts_of(d, p));
}

/// Adds up one layer, operator by operator.
struct layer_account {
  const decoder& d;
  const decoder_plan& p;
  const roofline at;
  const double tokens, hidden;
  layer_work sum{};

  constexpr layer_account(const decoder& model, const decoder_plan& plan, const device_value& device)
      : d(model), p(plan), at(device, plan.formats), tokens(tokens_of(p)), hidden(static_cast<double>(d.hidden)) {}

  constexpr double cut(extent_t width) const { return static_cast<double>(width) / p.tp; }
  constexpr void add(double forward, double again, double backward, double gradients) {
    sum.add({.forward = forward, .backward = backward, .again = again, .gradients = gradients}, 1);
  }
  /// A product and both of its gradients; what one of them takes.
  constexpr double product(double rows, double in, double out, double tables = 1) {
    const double one = at.layer_product(rows, in, out, tables);
    add(one, one, 2 * one, one);
    return one;
  }

  /// Of keys and values of so many elements; half of `reach` is masked. Backward has three products of keys and two of values.
  constexpr void add_scores(extent_t key, extent_t value, extent_t reach) {
    const double each = static_cast<double>(reach) * tokens / p.tp * at.operation;
    const double one = static_cast<double>(key + value) * each + at.task;
    const double gradient = static_cast<double>(3 * key + 2 * value) * each + at.task;
    add(one, one, gradient, gradient);
  }
  constexpr void add_latent_attention() {
    const latent_attention_layer& a = d.latent_attention;
    const double rank = static_cast<double>(a.key_value_rank), query_rank = static_cast<double>(a.query_rank);
    if (a.query_rank > 0) product(tokens / p.tp, hidden, query_rank, 1.0 / p.tp);
    product(tokens / p.tp, hidden, rank, 1.0 / p.tp);
    for (const extent_t width : {a.head_dim, a.rope_dim})
      product(tokens, a.query_rank > 0 ? query_rank : hidden, cut(a.heads * width));
    for (const extent_t width : {a.head_dim, a.value_dim}) product(tokens, rank, cut(a.heads * width));
    const double last = product(tokens, cut(a.heads * a.value_dim), hidden);
    if (d.side_by_side) sum.again -= last;
    add_scores(a.heads * (a.head_dim + a.rope_dim), a.heads * a.value_dim, p.sequence);
  }
  /// Projections and the states; convolutions, gates and norms are left out.
  constexpr void add_linear_attention() {
    const linear_attention_layer& a = d.linear;
    for (const extent_t width : {a.keys(), a.keys(), a.values(), a.values(), a.value_heads})
      product(tokens, hidden, cut(width));
    if (a.is_delta()) product(tokens, hidden, cut(a.value_heads));
    const double last = product(tokens, cut(a.values()), hidden);
    if (d.side_by_side || d.branch_count() == d.layers) sum.again -= last;
    const double one =
        (a.is_delta() ? 6 : 4) * static_cast<double>(a.values() * a.key_dim) * tokens / p.tp * at.operation + at.task;
    add(one, one, 3 * one, 3 * one);
  }
  constexpr void add_attention(bool windowed, bool is_linear) {
    if (is_linear) return add_linear_attention();
    if (d.has_latents) return add_latent_attention();
    const attention_layer& a = d.attention;
    product(tokens, hidden, cut(a.query_heads * a.head_dim));
    for (int k = 0; k < 2; ++k) product(tokens, hidden, cut(a.key_heads * a.head_dim));
    if (a.output_gate) product(tokens, hidden, cut(a.query_heads * a.head_dim));
    const double last = product(tokens, cut(a.query_heads * a.head_dim), hidden);
    if (d.side_by_side || d.branch_count() == d.layers) sum.again -= last;  // nothing in backward reads it
    add_scores(a.query_heads * a.head_dim, a.query_heads * a.head_dim,
               windowed ? smaller(a.window, p.sequence) : p.sequence);
  }

  /// Of tokens; nothing in backward reads the last product.
  constexpr void add_feed_forward(extent_t width, bool gated) {
    for (int k = 0; k < (gated ? 2 : 1); ++k) product(tokens, hidden, cut(width));
    sum.again -= product(tokens, cut(width), hidden);
  }
  constexpr void add_experts() {
    const mixture_of_experts& e = d.experts;
    const double slots = expert_slots_of(d, p),
                 tables = static_cast<double>(e.experts) / static_cast<double>(expert_ranks_of(p));
    const double width = static_cast<double>(e.width) / expert_widths_of(p);
    const double row = static_cast<double>(e.row_width(d.hidden));
    if (e.latent > 0) {
      product(tokens / p.tp, hidden, row, 1.0 / p.tp);
      product(tokens / p.tp, row, hidden, 1.0 / p.tp);
    }
    for (int k = 0; k < (e.gated ? 2 : 1); ++k) product(slots, row, width, tables);
    product(slots, width, row, tables);
    const double rows = at.pass(2 * slots * row), added = e.gated ? at.pass(6 * slots * row) : 0.0;
    const double activation = at.pass((e.gated ? 6 : 4) * slots * width),
                 changed = at.pass((e.gated ? 10 : 6) * slots * width);
    add(rows, rows, rows + added, rows + added);  // to slots; two products read them, so two gradients are added
    add(activation, activation, changed, changed);
    add(rows, 0, 2 * rows, rows);  // back from slots; the gradient of the weights reads them, too
    if (e.shared_width == 0) return;
    const layer_work routed = sum;
    add_feed_forward(e.shared_width, e.gated);
    sum.shared = sum.forward - routed.forward;
    sum.shared_again = sum.again - routed.again;
    sum.gradients = routed.gradients;
  }

  constexpr void add_norms_and_sums(int branches) {
    const double bytes = 2 * tokens * hidden / p.tp, norms = branches * at.pass(2 * bytes),
                 gradients = branches * at.pass(3 * bytes);
    add(norms + (d.side_by_side ? at.pass(4 * bytes) : branches * at.pass(3 * bytes)), norms, gradients, gradients);
  }
};

layer_work layer_work_of_in_library(const decoder& d, const decoder_plan& p, const device_value& device);
constexpr layer_work layer_work_of_here(const decoder& d, const decoder_plan& p, const device_value& device) {
  // Of no attention, full, windowed and linear; of no feed-forward layer, one and experts.
  extent_t layers[4][3] = {};
  for (extent_t layer = 0; layer < d.layers; ++layer)
    ++layers[d.is_full(layer)       ? 1
             : d.is_windowed(layer) ? 2
             : d.is_linear(layer)   ? 3
                                    : 0][d.is_dense(layer)    ? 1
                                       : d.is_sparse(layer) ? 2
                                                            : 0];
  layer_work all;
  for (int attention = 0; attention < 4; ++attention)
    for (int fed = 0; fed < 3; ++fed) {
      if (layers[attention][fed] == 0) continue;
      detail::layer_account one(d, p, device);
      if (attention > 0) one.add_attention(attention == 2, attention == 3);
      if (fed == 1) one.add_feed_forward(d.feed_forward.width, is_gated(d.form));
      if (fed == 2) one.add_experts();
      one.add_norms_and_sums(attention > 0 && fed > 0 ? 2 : 1);
      if (!p.recomputed || p.selective) one.sum.again = one.sum.shared_again = 0;
      if (p.adapter_rank > 0) one.sum.backward = one.sum.gradients = 0;  // the first layer may have less of it
      all.add(one.sum, static_cast<double>(layers[attention][fed]));
    }
  return all;
}

}  // namespace detail

/// Domain: check_plan says ok, the device has a matrix rate.
constexpr layer_work layer_work_of(const decoder& d, const decoder_plan& p, const device_value& device) {
  HYPERPARALLEL_TWIN(detail::layer_work_of_in_library(d, p, device));
  return detail::layer_work_of_here(d, p, device);
}

}}  // namespace hyperparallel::v0_2
