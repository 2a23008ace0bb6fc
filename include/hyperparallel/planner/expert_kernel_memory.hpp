// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one call of a kernel that fuses dispatch, the products of experts and combine holds of its layer's program, forward or
// backward.
//
//   const hp::expert_kernel_memory m = hp::memory_of_kernel({.rows = 1024, .experts = 16, .top_k = 8, .ep = 2}, hp::graph_phase::backward);
//   m.rows, m.weights, m.gradients, m.products
//
// The layer is partitioned over `ep` ranks, and its values that moved are kept for backward. The kernel is what lies between the
// moves, and these: the steps on rows of experts of which every value has the dim of experts. Nothing that it touches is freed before it ends, but
// terms of a sum never leave the accumulator of the product that makes them. Products whose results have the same dims are one
// launch: gate and up, their gradients of rows, those of weights. Units: bytes of a rank. Without workspaces, tilings and what a run time
// takes, which a measurement states. O(steps).

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/layers/mixture_of_experts.hpp>
#include <hyperparallel/layers/rms_norm.hpp>
#include <hyperparallel/strategy/lifetimes.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct expert_kernel {
  extent_t rows = 0;  ///< that a rank sends: its tokens, `top_k` times each
  extent_t hidden = 0, width = 0;
  extent_t experts = 0, top_k = 1;
  int ep = 1;
};

struct expert_kernel_memory {
  bool ok = false;  ///< the layer can be dealt so
  extent_t rows = 0, weights = 0, gradients = 0;
  int products = 0;          ///< launches of grouped products
  int vector_operators = 0;  ///< of SwiGLU or its gradient
  constexpr extent_t total() const { return rows + weights + gradients; }
};

namespace detail {

constexpr graph layer_of_kernel(const expert_kernel& k) {
  model_builder m({.activation = data_type::bf16, .parameter = data_type::bf16, .unrolled = true});
  const int x = m.input("x", {m.dim("batch", k.ep), m.dim("seq", k.rows / k.top_k), m.dim("hidden", k.hidden)});
  const mixture_of_experts layer{.experts = k.experts, .top_k = k.top_k, .width = k.width};
  m.loss(m.apply<ops::reduce>("loss", {layer(m, rms_norm_layer{}(m, x))}, {.text = "bsh->"}));
  differentiate(m.graph);
  return static_cast<graph&&>(m.graph);
}

}  // namespace detail

/// Not ok where experts are no multiple of `ep`, or the rows of a rank none of `top_k` and of the experts.
constexpr expert_kernel_memory memory_of_kernel(const expert_kernel& k, graph_phase phase) {
  expert_kernel_memory out;
  if (k.ep < 1 || k.top_k < 1 || k.top_k > k.experts || k.rows < 1 || k.rows % k.top_k != 0 || k.rows % k.experts != 0)
    return out;
  strategy_value s = strategy_called("ep", k.ep).strategy;
  s.keep_moved = true;
  const sharded_program p = partition(detail::layer_of_kernel(k), s);
  if (p.status.code != strategy_code::ok) return out;
  const auto tensor_of = [&](int v) -> const graph_tensor& { return p.graph.tensor.item[p.value.item[v].tensor]; };
  const int experts = detail::find_dim(p.graph, "experts"), capacity = detail::find_dim(p.graph, "capacity");
  growing_array<int> value(p.storage.size, -1);       // that the kernel touches
  growing_array<bool> stored(p.storage.size, false);  // not only as terms
  growing_array<int> results;                         // of launches: a value of each list of dims
  for (const program_step& step : p.step) {
    bool inside = step.phase == phase, has_rows = false;
    detail::visit_values(p, step, [&](int v, bool) {
      inside = inside && detail::place_of_dim(tensor_of(v), experts) >= 0;
      has_rows = has_rows || detail::place_of_dim(tensor_of(v), capacity) >= 0;
    });
    if (!inside || !has_rows) continue;
    const operator_value* const op =
        step.is_move ? nullptr : &p.graph.value_of(p.graph.op.item[p.compute.item[step.index].op]);
    int made = -1;
    detail::visit_values(p, step, [&](int v, bool writes) {
      const int storage = p.value.item[v].storage;
      value.item[storage] = v;
      const bool is_term = op != nullptr && (writes ? op->unit == compute_unit::matrix : op->adds);
      stored.item[storage] = stored.item[storage] || !is_term;
      if (writes) made = v;
    });
    if (op == nullptr || op->adds) continue;
    if (op->unit != compute_unit::matrix) {
      ++out.vector_operators;
      continue;
    }
    bool known = false;
    for (const int other : results) {
      bool same = tensor_of(other).shape.rank == tensor_of(made).shape.rank;
      for (int d = 0; same && d < tensor_of(made).shape.rank; ++d)
        same = tensor_of(other).dim[d] == tensor_of(made).dim[d];
      known = known || same;
    }
    if (!known) results.push(made);
  }
  for (int storage = 0; storage < p.storage.size; ++storage) {
    const int v = value.item[storage];
    if (v < 0) continue;
    const bool is_parameter = tensor_of(v).kind == graph_tensor_kind::parameter;
    const bool is_gradient = !is_parameter && detail::place_of_dim(tensor_of(v), capacity) < 0;
    if (!stored.item[storage] && !is_gradient) continue;
    (is_parameter ? out.weights : is_gradient ? out.gradients : out.rows) += local_bytes(p, v);
  }
  out.products = results.size;
  out.ok = true;
  return out;
}

}}  // namespace hyperparallel::v0_2
