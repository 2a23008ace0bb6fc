// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a sharded program on simulated ranks: every rank its memory, every step a task, moves beside computing.
//
//   hp::program_world<float> world(hp::partition(graph, strategy));
//   world.set("x", x); world.set("weight", w);   // whole tensors, row-major; every rank gets its part
//   world.run_step(1, [&](int micro_batch) { … });
//   world.loss(), world.get("gradient(weight)")
//
// All floats have the type T, numbers of rows are std::int32_t. A step of training is the micro-batches, then the
// update; with one micro-batch both are one taskflow, so the update of one layer overlaps the backward of another.
// Laws: nothing runs that the verifier has not proved safe; results are bit-equal for any number of threads and from
// run to run; memory is that of the address plan, and what a later step overwrites cannot be read (`keep` prevents it).
// What a run that failed or was cancelled would have written has no value after it and is to be set again.

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <hyperparallel/runtime/element_type.hpp>
#include <hyperparallel/runtime/model_kernels/model_kernels.hpp>
#include <hyperparallel/runtime/program_run.hpp>

namespace hyperparallel {

struct program_options {
  executor_options execution{};
  std::vector<std::string> keep{};  ///< tensors to be read after a run, beside loss and monitors
  kernel_choice kernels = nullptr;  ///< instead of `kernel_of<T>`
  bool vector_queue = false;        ///< vector operators on a queue of their own
  int lookahead = 0;                ///< steps by which moves may run ahead; takes memory beyond the least
};

template <class T>
class program_world {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "kernels compute in float or double");

 public:
  explicit program_world(sharded_program p, const program_options& options = {})
      : program_(prepared(std::move(p), options)),
        pulls_(pulls_of(program_)),
        addresses_(plan_addresses(program_, options.lookahead)),
        slots_(slots_of(program_, addresses_)),
        memory_(program_, slots_),
        options_(options) {
    if (pulls_.status.code != move_pulls_code::ok)
      throw program_error("the move of " + label(program_.value[program_.move[pulls_.status.move].target].tensor) +
                          " cannot be planned: " + to_text(pulls_.status.code));
    tasks_ = std::make_unique<program_tasks>(program_, pulls_, memory_,
                                             options.kernels != nullptr ? options.kernels : &kernel_of<T>);
    valid_.assign(static_cast<std::size_t>(program_.storage.size), false);
    received_.assign(static_cast<std::size_t>(ranks()), 0);
    for (int t = 0; t < program_.home.size; ++t)
      if (program_.home[t] >= 0 && program_.graph.tensor[t].kind == graph_tensor_kind::state)
        valid(program_.value[program_.home[t]].storage) = true;
  }
  program_world(const program_world&) = delete;
  program_world& operator=(const program_world&) = delete;

  const sharded_program& program() const { return program_; }
  int ranks() const { return memory_.ranks(); }
  /// The tensor of that name. Throws program_error.
  int tensor(const std::string& name) const {
    const int t = find_tensor(program_.graph, name.c_str());
    if (t < 0) throw program_error("the graph has no tensor \"" + name + "\"");
    return t;
  }

  // ---- values ----

  /// Gives an input, parameter or state its whole value. Throws program_error.
  void set(int t, std::span<const T> whole) { set_home(t, data_type_of<T>, whole.data(), whole.size()); }
  void set(int t, std::span<const std::int32_t> whole) { set_home(t, data_type::i32, whole.data(), whole.size()); }
  void set(const std::string& name, std::span<const T> whole) { set(tensor(name), whole); }
  void set(const std::string& name, std::span<const std::int32_t> whole) { set(tensor(name), whole); }
  /// Zeros everywhere, of what may be a sum of terms as well.
  void clear(int t) {
    if (program_.home[t] < 0) throw program_error(label(t) + " is read by no step and has no place");
    memory_.clear(program_.home[t]);
    valid(program_.value[program_.home[t]].storage) = true;
  }
  /// Whether some step reads the tensor, or it is one that a run leaves a next value of.
  bool is_used(int t) const { return program_.home[t] >= 0; }

  /// The whole tensor as it is: what lives from step to step, or what a run has left; terms that wait are reduced.
  /// Throws program_error where its memory has been taken by another since, or nothing has written it yet.
  std::vector<T> get(int t) const {
    std::vector<T> whole(count(t));
    memory_.gather(value_to_read(t, data_type_of<T>), whole.data());
    return whole;
  }
  std::vector<T> get(const std::string& name) const { return get(tensor(name)); }
  std::vector<std::int32_t> get_index(int t) const {
    std::vector<std::int32_t> whole(count(t));
    memory_.gather(value_to_read(t, data_type::i32), whole.data());
    return whole;
  }
  std::vector<std::int32_t> get_index(const std::string& name) const { return get_index(tensor(name)); }

  /// The i-th monitored number after a run.
  T monitor(int i) const {
    if (i < 0 || i >= monitors_)
      throw program_error("monitor " + std::to_string(i) + " of " + std::to_string(monitors_));
    return get(program_.graph.monitor[i]).front();
  }
  int monitors() const { return monitors_; }
  /// The mean over the micro-batches of the last `run_step`.
  T loss() const { return loss_; }

  /// Zeros in what the micro-batches of a step are accumulated in; `run_step` begins with it.
  void clear_accumulated() {
    for (const program_compute& c : program_.compute) {
      const graph_operator& op = program_.graph.op[c.op];
      const int storage = program_.value[c.operand[0]].storage;
      if (op.kind != model_op::accumulate || !program_.storage[storage].home) continue;
      memory_.clear(c.operand[0]);
      valid(storage) = true;
    }
  }

  // ---- runs; each throws what the executor throws, and program_error where something has no value yet ----

  /// Forward to accumulation of one micro-batch. What is accumulated goes on from what it is.
  run_result run_micro(const progress& watch = {}) { return run(micro_phases, watch); }
  /// Norm and update. `step` counts from 1.
  run_result run_update(std::int64_t step, const progress& watch = {}) {
    tasks_->set_training_step(step);
    return run(update_phases, watch);
  }
  /// One step of training; `feed(micro_batch)` sets the inputs of each micro-batch before it runs.
  template <class Feed>
  run_result run_step(std::int64_t step, const Feed& feed, const progress& watch = {}) {
    const int micro_batches = program_.graph.micro_batches;
    tasks_->set_training_step(step);
    clear_accumulated();
    T sum = 0;
    for (int m = 0; m < micro_batches; ++m) {
      feed(m);
      if (run(micro_batches == 1 ? micro_phases | update_phases : micro_phases, watch) == run_result::cancelled)
        return run_result::cancelled;
      if (program_.graph.loss >= 0) sum += get(program_.graph.loss).front();
    }
    loss_ = sum / static_cast<T>(micro_batches);
    return micro_batches == 1 ? run_result::complete : run(update_phases, watch);
  }
  run_result run_step(std::int64_t step, const progress& watch = {}) {
    return run_step(step, [](int) {}, watch);
  }
  void cancel() noexcept {
    if (program_run* const running = running_.load(std::memory_order_acquire); running != nullptr) running->cancel();
  }

  // ---- what it took ----

  /// Bytes of memory that each rank has been given, and what the address plan says.
  std::int64_t high_water(int rank) const { return memory_.high_water(rank); }
  std::int64_t planned_bytes() const { return addresses_.high_water; }
  std::int64_t alive_maximum() const { return addresses_.alive_maximum; }
  /// Bytes that others have brought to the rank, in all complete runs.
  std::int64_t received(int rank) const { return received_[static_cast<std::size_t>(rank)]; }
  /// Tasks of a run of these phases.
  int tasks(unsigned phases = micro_phases | update_phases) { return run_of(phases).tasks(); }

 private:
  std::string label(int t) const {
    return std::string(name_of(program_.graph.tensor[t].kind)) + " \"" + program_.graph.name_of_tensor(t) + "\"";
  }
  std::size_t count(int t) const { return static_cast<std::size_t>(elements_of(program_.graph.tensor[t])); }
  std::vector<bool>::reference valid(int storage) { return valid_[static_cast<std::size_t>(storage)]; }

  /// In the types of a run, with what is kept among the monitors, whose values live to the end.
  sharded_program prepared(sharded_program p, const program_options& options) {
    if (p.status.code != strategy_code::ok)
      throw program_error(std::string("the program was refused: ") + name_of(p.status.code));
    for (const graph_segment& s : p.graph.segment)
      if (s.repeats > 1)
        throw program_error(std::string("segment \"") + p.graph.text_at(s.name) +
                            "\" is folded: only graphs that are built unrolled can run");
    set_run_types(p, data_type_of<T>);
    monitors_ = p.graph.monitor.size;
    for (const std::string& name : options.keep) {
      const int t = find_tensor(p.graph, name.c_str());
      if (t < 0) throw program_error("the graph has no tensor \"" + name + "\" that could be kept");
      p.graph.monitor.push(t);
    }
    return p;
  }

  void set_home(int t, data_type type, const void* whole, std::size_t elements) {
    const int home = program_.home[t];
    if (home < 0) throw program_error(label(t) + " is read by no step and has no place");
    if (program_.graph.tensor[t].type != type)
      throw program_error(label(t) + " has elements of type " + name_of(program_.graph.tensor[t].type) + ", given " +
                          name_of(type));
    if (elements != count(t))
      throw program_error(label(t) + " has " + std::to_string(count(t)) + " elements, given " +
                          std::to_string(elements));
    if (is_partial(program_.value[home].layout)) throw program_error(label(t) + " is a sum of terms and cannot be set");
    memory_.scatter(home, static_cast<const std::byte*>(whole));
    valid(program_.value[home].storage) = true;
  }

  /// The best value of the tensor that is there: whole rather than waiting terms.
  int value_to_read(int t, data_type type) const {
    if (program_.graph.tensor[t].type != type)
      throw program_error(label(t) + " has elements of type " + name_of(program_.graph.tensor[t].type) + ", asked as " +
                          name_of(type));
    int found = program_.home[t];
    if (found >= 0 && valid_[static_cast<std::size_t>(program_.value[found].storage)]) return found;
    found = -1;
    for (int v = 0; v < program_.value.size; ++v) {
      const program_value& one = program_.value[v];
      if (one.tensor != t || !valid_[static_cast<std::size_t>(one.storage)]) continue;
      if (found < 0 || (is_partial(program_.value[found].layout) && !is_partial(one.layout))) found = v;
    }
    if (found < 0)
      throw program_error(label(t) +
                          " has no value: nothing has written it, or its memory was used again; it can be "
                          "kept by program_options::keep");
    return found;
  }

  run_result run(unsigned phases, const progress& watch) {
    program_run& f = run_of(phases);
    for (const int v : f.reads())
      if (!valid(program_.value[v].storage))
        throw program_error(label(program_.value[v].tensor) +
                            (program_.home[program_.value[v].tensor] == v ? " was not set" : " has no value yet"));
    for (int s = 0; s < program_.storage.size; ++s) valid(s) = valid(s) && !f.writes(s) && f.survives(s);
    running_.store(&f, std::memory_order_release);
    struct release {
      std::atomic<program_run*>& running;
      ~release() { running.store(nullptr, std::memory_order_release); }
    } const guard{running_};
    const run_result result = f.run(watch);
    if (result != run_result::complete) return result;
    for (int s = 0; s < program_.storage.size; ++s) valid(s) = valid(s) || (f.writes(s) && f.survives(s));
    for (int r = 0; r < ranks(); ++r) received_[static_cast<std::size_t>(r)] += f.received(r);
    return result;
  }

  program_run& run_of(unsigned phases) {
    for (const std::unique_ptr<program_run>& f : run_)
      if (f->phases() == phases) return *f;
    program_flow_options how;
    how.phases = phases;
    how.vector_queue = options_.vector_queue;
    return *run_.emplace_back(
        std::make_unique<program_run>(program_, pulls_, slots_, *tasks_, how, options_.execution));
  }

  int monitors_ = 0;
  sharded_program program_;
  program_pulls pulls_;
  program_addresses addresses_;
  program_slots slots_;
  program_memory memory_;
  program_options options_;
  std::unique_ptr<program_tasks> tasks_;
  std::vector<bool> valid_;  ///< of each storage: it holds a value
  std::vector<std::int64_t> received_;
  T loss_ = 0;
  std::atomic<program_run*> running_{nullptr};
  std::vector<std::unique_ptr<program_run>> run_;  ///< last: their threads leave before the rest is destroyed
};

}  // namespace hyperparallel
