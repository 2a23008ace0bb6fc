// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of model_run.hpp; see support/compiled.hpp.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/model/partition.hpp>
#include <hyperparallel/runtime/kernels/keyed_random.hpp>
#include <hyperparallel/runtime/model_run.hpp>
#include <hyperparallel/runtime/program_error.hpp>

namespace hyperparallel {

HYPERPARALLEL_BODY first_values first_values_of(const graph& g, int parameter) {
  for (const graph_operator& op : g.op) {
    for (int i = 0; i < op.operand_count; ++i) {
      const operator_tensor& t = op.operand[i];
      if (t.tensor != parameter) continue;
      if (op.kind == model_op::rms_norm) return {0, 1};
      extent_t summed = 1;
      for (int d = 0; d < t.rank; ++d)
        if (op.kind == model_op::contract && op.loop[t.loop[d]].reduced) summed *= op.loop[t.loop[d]].extent;
      if (op.kind != model_op::contract && t.rank > 0) summed = op.loop[t.loop[t.rank - 1]].extent;
      return {1 / std::sqrt(static_cast<double>(summed)), 0};
    }
  }
  return {1, 0};
}

HYPERPARALLEL_BODY extent_t index_limit(const graph& g, int input) {
  for (const graph_operator& op : g.op) {
    const bool rows = op.kind == model_op::embed && op.operand[0].tensor == input;
    const bool labels = op.kind == model_op::pick && op.operand[1].tensor == input;
    if (rows) return op.loop[op.operand[1].loop[0]].extent;
    if (labels) return op.loop[op.operand[0].loop[op.operand[0].rank - 1]].extent;
  }
  return 1;
}

namespace detail {

HYPERPARALLEL_BODY sharded_program partitioned(const graph& g, const strategy_value& s) {
  if (g.status.code != graph_code::ok)
    throw program_error(std::string("the graph is refused: ") + name_of(g.status.code) +
                        (g.status.op >= 0 ? std::string(", operator \"") + g.text_at(g.status.op) + "\"" : "") +
                        (g.status.tensor >= 0 ? std::string(", tensor \"") + g.text_at(g.status.tensor) + "\"" : ""));
  sharded_program p = partition(g, s);
  if (p.status.code == strategy_code::ok) return p;
  const strategy_status& why = p.status;
  throw program_error(
      std::string("strategy \"") + s.name.text + "\" is refused: " + name_of(why.code) +
      (why.axis >= 0 ? std::string(", axis \"") + s.mesh.label[why.axis].text + "\"" : "") +
      (why.op >= 0 ? std::string(", operator \"") + p.graph.name_of_op(why.op) + "\"" : "") +
      (why.tensor >= 0 ? std::string(", tensor \"") + p.graph.name_of_tensor(why.tensor) + "\"" : "") +
      (why.dim >= 0 ? std::string(", dim \"") + p.graph.name_of_dim(why.dim) + "\"" : "") +
      (why.pieces > 0 ? ", " + std::to_string(why.extent) + " by " + std::to_string(why.pieces) : std::string()));
}

}  // namespace detail

template <class T, class World>
model_run<T, World>::model_run(const graph& g, const strategy_value& s, const model_run_options& options)
    : options_(options), world_(detail::partitioned(g, s), options.program) {
  set_first_values();
}

template <class T, class World>
void model_run<T, World>::set_first_values() {
  const hyperparallel::graph& m = model();
  steps_ = 0;
  for (int t = 0; t < m.tensor.size; ++t) {
    if (!world_.is_used(t) || m.tensor[t].replaces >= 0) continue;
    if (m.tensor[t].kind == graph_tensor_kind::state) world_.clear(t);
    if (m.tensor[t].kind == graph_tensor_kind::parameter) world_.set(t, values_of_parameter(t));
  }
  for (const graph_operator& op : m.op)
    if (op.kind == model_op::adamw_master) world_.set(op.operand[2].tensor, values_of_parameter(op.operand[0].tensor));
}

template <class T, class World>
void model_run<T, World>::set_random_inputs(std::uint64_t batch) {
  const hyperparallel::graph& m = model();
  for (int t = 0; t < m.tensor.size; ++t) {
    if (m.tensor[t].kind != graph_tensor_kind::input || !world_.is_used(t)) continue;
    const std::uint64_t stream = mix_bits(stream_of(m.name_of_tensor(t)) ^ mix_bits(batch));
    const std::size_t n = static_cast<std::size_t>(elements_of(m.tensor[t]));
    if (m.tensor[t].type == data_type_of<T>) {
      std::vector<T> whole(n);
      for (std::size_t i = 0; i < n; ++i) whole[i] = keyed_uniform(options_.seed, stream, i);
      world_.set(t, whole);
      continue;
    }
    const std::uint64_t limit = static_cast<std::uint64_t>(index_limit(m, t));
    std::vector<std::int32_t> whole(n);
    for (std::size_t i = 0; i < n; ++i)
      whole[i] = static_cast<std::int32_t>(keyed_bits(options_.seed, stream, i) % limit);
    world_.set(t, whole);
  }
}

template <class T, class World>
std::vector<T> model_run<T, World>::values_of_parameter(int t) const {
  const hyperparallel::graph& m = world_.program().graph;
  const first_values how = first_values_of(m, t);
  const std::uint64_t stream = stream_of(m.name_of_tensor(t));
  std::vector<T> whole(static_cast<std::size_t>(elements_of(m.tensor[t])), static_cast<T>(how.constant));
  const double width = how.deviation * std::sqrt(3.0);
  for (std::size_t i = 0; how.constant == 0 && i < whole.size(); ++i)
    whole[i] = static_cast<T>(width * static_cast<double>(keyed_uniform(options_.seed, stream, i)));
  return whole;
}

}  // namespace hyperparallel
