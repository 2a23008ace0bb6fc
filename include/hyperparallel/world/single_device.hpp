// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a graph on one device, operator by operator: what every distributed run is held against.
//
//   single_device<double> device(graph);
//   device.values("x") = …;  device.run(graph_phase::forward, graph_phase::backward);  device.values(graph.loss)[0]
//
// Laws: each tensor has memory of its own; a result that replaces a tensor is written in that tensor's memory, so both
// names read the new value. Accumulators are zero at the start of a step of training. Folded segments are refused:
// what runs is unrolled. Memory is that of all tensors together; work is that of the operators.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <hyperparallel/graph/check_training.hpp>
#include <hyperparallel/kernels/ops/builtin_kernels.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// T is float or double, whatever types the graph's tensors have; i32 tensors hold std::int32_t.
template <class T>
class single_device {
 public:
  /// Throws std::invalid_argument where the graph is refused or folded, or an operator has no kernel.
  explicit single_device(const graph& g, kernel_choice kernels = &kernel_of<T>)
      : model_(g), kernels_(kernels), values_(count(g)), indices_(count(g)) {
    if (g.status.code != graph_code::ok)
      throw std::invalid_argument(std::string("single_device: the graph is refused: ") + name_of(g.status.code));
    for (int s = 0; s < g.segment.size; ++s)
      if (g.segment[s].repeats > 1)
        throw std::invalid_argument(std::string("single_device: segment '") + g.text_at(g.segment[s].name) +
                                    "' is folded; build the graph unrolled");
    for (const graph_operator& o : g.op)
      if (kernels(o.kind) == nullptr)
        throw std::invalid_argument(std::string("single_device: operator '") + g.text_at(o.name) + "' (" +
                                    g.value_of(o).name + ") has no kernel");
    for (int t = 0; t < g.tensor.size; ++t) {
      if (g.tensor[t].replaces >= 0) continue;
      const std::size_t n = static_cast<std::size_t>(elements_of(g.tensor[t]));
      if (g.tensor[t].type == data_type::i32)
        indices_[static_cast<std::size_t>(t)].resize(n);
      else
        values_[static_cast<std::size_t>(t)].resize(n);
    }
  }

  const graph& model() const { return model_; }

  /// Elements of a tensor of floats, row-major.
  std::vector<T>& values(int t) { return values_[home(t)]; }
  std::vector<T>& values(const char* name) { return values(find(name)); }
  /// Elements of an i32 tensor.
  std::vector<std::int32_t>& indices(int t) { return indices_[home(t)]; }
  std::vector<std::int32_t>& indices(const char* name) { return indices(find(name)); }

  /// Steps of training that are done.
  std::int64_t steps() const { return steps_; }
  /// Steps done before, of a run that goes on.
  void set_steps(std::int64_t done) { steps_ = done, call_ = done + 1; }

  /// Runs the operators of phases [first, last] in order.
  void run(graph_phase first, graph_phase last) {
    for (int o = 0; o < model_.op.size; ++o)
      if (model_.op[o].phase >= first && model_.op[o].phase <= last) run_operator(model_.op[o]);
  }

  /// One step of training: `fill(device, micro_batch)` sets the inputs of each micro-batch. Throws
  /// std::invalid_argument where it would train nothing.
  template <class Fill>
  void train_step(const Fill& fill) {
    if (const graph_status s = check_training(model_); s.code != graph_code::ok)
      throw std::invalid_argument(std::string("single_device: steps of this graph would not train it: ") +
                                  name_of(s.code));
    clear_accumulators();
    for (int b = 0; b < model_.micro_batches; ++b) {
      fill(*this, b);
      call_ = detail::number_of_call(steps_ + 1, b);
      run(graph_phase::forward, graph_phase::accumulate);
    }
    call_ = steps_ + 1;
    run(graph_phase::norm, graph_phase::update);
    set_steps(steps_ + 1);
  }

  /// What is accumulated becomes zero.
  void clear_accumulators() {
    for (int o = 0; o < model_.op.size; ++o)
      if (model_.value_of(model_.op[o]).accumulates)
        for (T& x : values(model_.op[o].operand[0])) x = T(0);
  }

 private:
  static std::size_t count(const graph& g) { return static_cast<std::size_t>(g.tensor.size); }

  std::size_t home(int t) const {
    while (model_.tensor[t].replaces >= 0) t = model_.tensor[t].replaces;
    return static_cast<std::size_t>(t);
  }
  int find(const char* name) const {
    const int t = find_tensor(model_, name);
    if (t >= 0) return t;
    const int nearest =
        detail::nearest_name_of(model_.tensor.size, [&](int i) { return model_.name_of_tensor(i); }, name);
    throw std::invalid_argument(
        std::string("single_device: no tensor is called '") + name + "'" +
        (nearest < 0 ? "" : std::string(", the nearest is '") + model_.name_of_tensor(nearest) + "'"));
  }
  void* memory(int t) {
    const std::size_t at = home(t);
    if (model_.tensor[t].type == data_type::i32) return indices_[at].data();
    return values_[at].data();
  }

  void run_operator(const graph_operator& o) {
    operator_call c;
    c.attributes = &o;
    c.rule = &model_.rule_of(o);
    c.step = call_;
    for (int l = 0; l < o.loop_count; ++l) c.loop[l] = {0, o.loop[l].extent, o.loop[l].extent};
    for (int i = 0; i < o.operand_count; ++i) c.operand[i] = memory(o.operand[i]);
    for (int r = 0; r < o.result_count; ++r) c.result[r] = memory(o.result[r]);
    kernels_(o.kind)(c);
  }

  graph model_;
  kernel_choice kernels_;
  std::vector<std::vector<T>> values_;
  std::vector<std::vector<std::int32_t>> indices_;
  std::int64_t steps_ = 0, call_ = 1;  ///< steps done; what kernels are given, see number_of_call
};

}}  // namespace hyperparallel::v0_2
