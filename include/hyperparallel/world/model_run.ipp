// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of model_run.hpp; see support/compiled.hpp.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <hyperparallel/graph/index_range.hpp>
#include <hyperparallel/kernels/keyed_random.hpp>
#include <hyperparallel/world/model_run.hpp>

namespace hyperparallel { inline namespace v0_2 {

template <class T, class World>
model_run<T, World>::model_run(const graph& g, const strategy_value& s, const model_run_options& options)
    : model_run(partitioned(g, s), options) {}

template <class T, class World>
model_run<T, World>::model_run(const graph& g, const strategy_value& s, const pipeline_value& pipeline,
                               const model_run_options& options)
    : model_run(partitioned(g, s, pipeline), options) {}

template <class T, class World>
model_run<T, World>::model_run(const graph& g, const submodel_plan& plan, const model_run_options& options)
    : model_run(partitioned(g, plan), options) {}

template <class T, class World>
model_run<T, World>::model_run(sharded_program&& p, const model_run_options& options)
    : seed_(options.seed), world_(std::move(p), options.program) {
  set_first_values();
}

template <class T, class World>
model_run<T, World>::model_run(lowered_program&& l, const model_run_options& options)
    : seed_(options.seed), world_(std::move(l), options.program) {
  set_first_values();
}

template <class T, class World>
model_run<T, World>::model_run(lowered_program&& l, const planned_options& options, std::uint64_t seed)
    : seed_(seed), world_(std::move(l), options) {
  set_first_values();
}

template <class T, class World>
void model_run<T, World>::set_first_values() {
  const hyperparallel::graph& m = model();
  steps_ = skipped_ = 0;
  for (int t = 0; t < m.tensor.size; ++t) {
    if (!world_.is_used(t) || m.tensor[t].replaces >= 0) continue;
    if (m.tensor[t].kind == graph_tensor_kind::state) world_.clear(t);
    if (m.tensor[t].kind == graph_tensor_kind::parameter) world_.set(t, values_of_parameter(t));
  }
  for (const graph_operator& op : m.op)
    if (const parameter_states& states = m.value_of(op).states; states.has_master())
      world_.set(op.operand[states.master], values_of_parameter(op.operand[0]));
}

template <class T, class World>
void model_run<T, World>::set_random_inputs(std::uint64_t batch) {
  const hyperparallel::graph& m = model();
  for (int t = 0; t < m.tensor.size; ++t) {
    if (m.tensor[t].kind != graph_tensor_kind::input || !world_.is_used(t)) continue;
    const std::uint64_t stream = detail::mix_bits(detail::stream_of(m.name_of_tensor(t)) ^ detail::mix_bits(batch));
    const std::size_t n = static_cast<std::size_t>(elements_of(m.tensor[t]));
    if (m.tensor[t].type == detail::data_type_of<T>) {
      std::vector<T> whole(n);
      for (std::size_t i = 0; i < n; ++i) whole[i] = keyed_uniform(seed_, stream, i);
      world_.set(t, whole);
      continue;
    }
    const std::uint64_t limit = static_cast<std::uint64_t>(detail::index_limit(m, t));
    std::vector<std::int32_t> whole(n);
    for (std::size_t i = 0; i < n; ++i) whole[i] = static_cast<std::int32_t>(keyed_bits(seed_, stream, i) % limit);
    world_.set(t, whole);
  }
}

template <class T, class World>
std::vector<T> model_run<T, World>::values_of_parameter(int t) const {
  const hyperparallel::graph& m = world_.program().graph;
  const detail::first_values how = detail::first_values_of(m, t);
  const std::uint64_t stream = detail::stream_of(m.name_of_tensor(t));
  std::vector<T> whole(static_cast<std::size_t>(elements_of(m.tensor[t])), static_cast<T>(how.constant));
  const double width = how.deviation * std::sqrt(3.0);
  for (std::size_t i = 0; width > 0 && i < whole.size(); ++i)
    whole[i] = static_cast<T>(width * static_cast<double>(keyed_uniform(seed_, stream, i)));
  return whole;
}

}}  // namespace hyperparallel::v0_2
