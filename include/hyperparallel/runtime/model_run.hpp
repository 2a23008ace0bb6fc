// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model trained under a strategy, in short: partition, memory, first values, steps.
//
//   hp::model_run<float> run(graph, hp::strategy_called("dp-tp", 4).strategy);
//   for (int step = 0; step < 10; ++step) std::printf("%f\n", run.train_step([&](int) { run.set_random_inputs(step);
//   }));
//
// Law: first values depend on a tensor's name and the place of an element in the whole tensor alone, so every strategy
// starts with the same ones. Weights are uniform with the variance 1 / (elements that their first reader sums over), a
// table of embeddings with 1 / (elements of a row); norms' weights are 1, states 0, masters what they are masters of.
// `World` is what runs the program: program_world, or one that lives in a place, as mpi_program_world does.

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/model/partition.hpp>
#include <hyperparallel/runtime/kernels/keyed_random.hpp>
#include <hyperparallel/runtime/program_world.hpp>

namespace hyperparallel {

struct model_run_options {
  program_options program{};
  std::uint64_t seed = 1;
};

/// The stream of random numbers that belongs to a name: FNV-1a.
constexpr std::uint64_t stream_of(const char* name) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (; *name != '\0'; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 0x100000001b3U;
  return hash;
}

/// How a parameter begins: uniform in ±√3 · deviation, or `constant` where that is not 0.
struct first_values {
  double deviation = 0;
  double constant = 0;
};

/// By the parameter's first reader. O(operators).
inline first_values first_values_of(const graph& g, int parameter) {
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

template <class T, class World = program_world<T>>
class model_run {
 public:
  /// Throws program_error where the strategy does not fit the graph.
  model_run(const graph& g, const strategy_value& s, const model_run_options& options = {})
      : options_(options), world_(partitioned(g, s), options.program) {
    set_first_values();
  }
  /// In a place whose processes all come here: throws on all of them what is wrong on one.
  template <class Place>
  model_run(const Place& place, const graph& g, const strategy_value& s, const model_run_options& options = {})
      : options_(options), world_(place, [&] { return partitioned(g, s); }, options.program) {
    set_first_values();
  }

  World& world() { return world_; }
  const hyperparallel::graph& model() const { return world_.program().graph; }
  std::int64_t steps() const { return steps_; }
  /// Steps done before, of a run that goes on. Throws program_error for a negative number.
  void set_steps(std::int64_t done) {
    if (done < 0) throw program_error(std::to_string(done) + " steps of training cannot have been done");
    steps_ = done;
  }

  /// One step; `feed(micro_batch)` sets the inputs. Returns the loss; a step that was cancelled does not count. Throws
  /// as `program_world::run_step`, and so where the graph would learn nothing.
  template <class Feed>
  T train_step(const Feed& feed) {
    if (world_.run_step(steps_ + 1, feed) == run_result::complete) ++steps_;
    return world_.loss();
  }

  /// Gives parameters and masters their first values again, other states zeros.
  void set_first_values() {
    const hyperparallel::graph& m = model();
    steps_ = 0;
    for (int t = 0; t < m.tensor.size; ++t) {
      if (!world_.is_used(t) || m.tensor[t].replaces >= 0) continue;
      if (m.tensor[t].kind == graph_tensor_kind::state) world_.clear(t);
      if (m.tensor[t].kind == graph_tensor_kind::parameter) world_.set(t, values_of_parameter(t));
    }
    for (const graph_operator& op : m.op)
      if (op.kind == model_op::adamw_master)
        world_.set(op.operand[2].tensor, values_of_parameter(op.operand[0].tensor));
  }

  /// Random inputs: floats uniform in [-1, 1), numbers of rows and labels below their limit.
  void set_random_inputs(std::uint64_t batch) {
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

 private:
  static sharded_program partitioned(const graph& g, const strategy_value& s) {
    sharded_program p = partition(g, s);
    if (p.status.code != strategy_code::ok) throw program_error(text_of_refusal(p, s));
    return p;
  }

  std::vector<T> values_of_parameter(int t) const {
    const hyperparallel::graph& m = world_.program().graph;
    const first_values how = first_values_of(m, t);
    const std::uint64_t stream = stream_of(m.name_of_tensor(t));
    std::vector<T> whole(static_cast<std::size_t>(elements_of(m.tensor[t])), static_cast<T>(how.constant));
    const double width = how.deviation * std::sqrt(3.0);
    for (std::size_t i = 0; how.constant == 0 && i < whole.size(); ++i)
      whole[i] = static_cast<T>(width * static_cast<double>(keyed_uniform(options_.seed, stream, i)));
    return whole;
  }

  model_run_options options_;
  World world_;
  std::int64_t steps_ = 0;
};

}  // namespace hyperparallel
