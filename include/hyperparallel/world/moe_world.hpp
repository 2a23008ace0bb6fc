// SPDX-License-Identifier: Apache-2.0
#pragma once
// A MoE layer that runs forward: the plan of all ranks, their memory, and the kernels bound to both.
//
//   hp::moe_world<> layer(shape, 8, options);
//   layer.set_router(w); layer.set_expert(0, w1, w2); …
//   layer.run(tokens, output);
//
// Law: the output is bit-equal for every number of devices; nothing runs that the verifier has not proved safe.

#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/lowering/moe_program.hpp>
#include <hyperparallel/lowering/planned_flow.hpp>
#include <hyperparallel/world/moe_kernels.hpp>
#include <hyperparallel/world/taskflow_world.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The plan cannot be made, or cannot be proved safe.
struct plan_error : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

template <class Profile = no_profile>
class moe_world {
 public:
  /// Plans `layer` over `devices` ranks; tokens and experts must divide. The capacity of a (source, expert) pair is all
  /// tokens of a rank unless `options.rows_per_pair` says otherwise, so no token is ever dropped. `serialized` puts a
  /// barrier between operators: the baseline. Throws plan_error, arena_error, bind_error.
  moe_world(const moe_layer& layer, int devices, const moe_options& options, const executor_options& execution = {},
            bool serialized = false)
      : moe_world(moe_pass::forward, layer, devices, options, execution, serialized) {}

  const moe_plan& plan() const { return context_->plan; }
  const planned_flow& planned() const { return *planned_; }
  basic_taskflow_world<Profile>& world() { return *world_; }
  const basic_taskflow_world<Profile>& world() const { return *world_; }

  /// hidden × experts, row-major; every rank gets a copy. Throws std::invalid_argument on another size.
  void set_router(std::span<const float> weight) {
    const moe_layer& l = plan().layer;
    require(weight.size(), extent_t{l.hidden} * l.experts, "the router's weight");
    for (int r = 0; r < plan().ranks; ++r) fill(slot_number(r, tensors().router_weight), weight);
  }

  /// gate|up: hidden × 2 intermediate, down: intermediate × hidden, row-major; into the slow tier of the owner where
  /// the plan prefetches, else into its fast one. Throws std::out_of_range, std::invalid_argument.
  void set_expert(int expert, std::span<const float> gate_up, std::span<const float> down) {
    const moe_plan& p = plan();
    if (expert < 0 || expert >= p.layer.experts)
      throw std::out_of_range("expert " + std::to_string(expert) + " of " + std::to_string(p.layer.experts));
    require(gate_up.size(), gate_up_elements(p.layer), "a gate-up weight");
    require(down.size(), down_elements(p.layer), "a down weight");
    const moe_tensors& t = tensors();
    const int owner = expert % p.devices, local = expert / p.devices;
    fill(slot_number(owner, p.weights.windowed ? t.gate_up_source : t.gate_up_weight, local), gate_up);
    fill(slot_number(owner, p.weights.windowed ? t.down_source : t.down_weight, local), down);
  }

  /// One forward step over the first rows of `tokens` (at most layer.tokens, hidden each); `output` gets as many rows.
  /// Throws what the executor throws; the world can then run again.
  run_result run(std::span<const float> tokens, std::span<float> output, const progress& watch = {}) {
    require(output.size(), static_cast<extent_t>(tokens.size()), "the output");
    load_tokens(tokens);
    const run_result result = world_->run(watch);
    if (result == run_result::complete) gather(tensors().output, output);
    return result;
  }

  /// Rows that `rank` received for its experts in the last run: the load that the router made.
  int received_rows(int rank) const {
    int rows = 0;
    for (int b = 0; b < blocks_per_rank(plan()); ++b)
      rows += *world_->template data<int>(slot_number(rank, tensors().received, b)).data();
    return rows;
  }

 protected:
  /// Plans `pass`; binds the forward kernels.
  moe_world(moe_pass pass, const moe_layer& layer, int devices, moe_options options, const executor_options& execution,
            bool serialized)
      : context_(std::make_unique<moe_context>()) {
    if (options.pass != pass || options.scope != moe_scope::layer)
      throw plan_error("moe_world runs the whole layer forward, moe_training_world the training step");
    if (devices > max_moe_ranks)
      throw plan_error(std::to_string(devices) + " devices are more than the " + std::to_string(max_moe_ranks) +
                       " that one process simulates");
    options.element_bytes = sizeof(float);
    if (options.rows_per_pair == 0 && devices > 0) options.rows_per_pair = layer.tokens / devices;
    const device_value host = generic_device(options);
    const moe_plan_result made =
        make_moe_plan(layer, devices, devices, host, expert_all_to_all_fit{}, options, serialized);
    if (made.layer.code != moe_code::ok) throw plan_error(to_text(made.layer.code));
    if (made.window.code != window_code::ok) throw plan_error(to_text(made.window.code));
    if (pass == moe_pass::training && made.plan.weights.windowed &&
        made.plan.weights.buffers < local_experts(made.plan))
      throw plan_error("a training step keeps the weights of all " + std::to_string(local_experts(made.plan)) +
                       " local experts, " + std::to_string(made.plan.weights.buffers) + " buffers are too few");
    context_->plan = made.plan;
    planned_ = std::make_unique<planned_flow>(moe_builder{made.plan}, moe_machine(options, devices),
                                              schedule_options{options.policy, options.synchronisation});
    if (planned_->scheduled().code != schedule_code::ok) throw plan_error(to_text(planned_->scheduled().code));
    if (made.price != cost_code::ok)
      throw plan_error("a task has no price on " + std::to_string(options.matrix_queues) + " matrix and " +
                       std::to_string(options.vector_queues) + " vector queues");
    const verify_status safe = planned_->verify();
    if (safe.code != verify_code::ok) throw plan_error("task " + std::to_string(safe.task) + ": " + to_text(safe.code));
    counting_taskflow sized;
    context_->layout = describe_moe(made.plan);
    context_->places = lower_chain(context_->layout.chain, sized);
    name_slots();
    taskflow_world_options where;
    where.execution = execution;
    where.execution.names = {moe_operation_names, moe_operation_count, slot_names_.data(),
                             static_cast<int>(slot_names_.size())};
    world_ = std::make_unique<basic_taskflow_world<Profile>>(unchecked, planned_->flow(), planned_->schedule(), where);
    context_->slots = planned_->flow().slot;
    context_->arenas = &world_->arenas();
    for (int o = 0; o < moe_forward_operation_count; ++o) world_->bind(o, moe_kernels[o], context_.get());
  }

  /// Puts the rows of a step where the ranks look for them. Throws std::invalid_argument.
  void load_tokens(std::span<const float> tokens) {
    const moe_plan& p = plan();
    const std::size_t h = static_cast<std::size_t>(p.layer.hidden);
    if (tokens.size() % h != 0 || tokens.size() > h * static_cast<std::size_t>(p.layer.tokens))
      throw std::invalid_argument("a step takes at most " + std::to_string(p.layer.tokens) + " tokens of " +
                                  std::to_string(h) + " numbers, not " + std::to_string(tokens.size()) + " numbers");
    context_->valid_tokens = static_cast<int>(tokens.size() / h);
    for (int r = 0; r < p.ranks; ++r) fill(slot_number(r, tensors().tokens), part(tokens, r));
  }

  /// The rows of `tensor`, one for each token of the step, from all ranks.
  void gather(int tensor, std::span<float> to) const {
    for (int r = 0; r < plan().ranks; ++r) {
      const std::span<float> own = part(to, r);
      std::copy_n(world_->template data<float>(slot_number(r, tensor)).data(), own.size(), own.data());
    }
  }

  static void require(std::size_t given, extent_t wanted, const char* what) {
    if (given != static_cast<std::size_t>(wanted))
      throw std::invalid_argument(std::string(what) + " has " + std::to_string(given) + " numbers, not " +
                                  std::to_string(wanted));
  }

  /// The part of `whole`, a row of `hidden` for each token of the step, that is `rank`'s.
  template <class T>
  std::span<T> part(std::span<T> whole, int rank) const {
    const std::size_t share =
        static_cast<std::size_t>(plan().layer.hidden) * static_cast<std::size_t>(local_tokens(plan()));
    const std::size_t begin = std::min(whole.size(), share * static_cast<std::size_t>(rank));
    return whole.subspan(begin, std::min(share, whole.size() - begin));
  }

  const moe_tensors& tensors() const { return context_->layout.tensor; }
  int slot_number(int rank, int tensor, int unit = 0) const {
    return slot_of(context_->layout.chain, context_->places, rank, tensor, unit);
  }

  std::unique_ptr<moe_context> context_;  ///< kernels keep its address

 private:
  /// Prices only order the queues of a host run; cores stand for threads.
  static device_value generic_device(const moe_options& options) {
    device_value d = generic_host::device;
    d.aic = std::max(d.aic, options.matrix_queues);
    d.aiv = std::max(d.aiv, options.vector_queues);
    return d;
  }

  void fill(int slot, std::span<const float> from) {
    std::copy(from.begin(), from.end(), world_->template data<float>(slot).begin());
  }

  void name_slots() {
    const moe_tensors& t = tensors();
    const tile_chain& c = context_->layout.chain;
    names_.assign(static_cast<std::size_t>(planned_->flow().size.slots), {});
    const auto name = [&](int tensor, const char* text) {
      if (tensor < 0) return;
      const chain_tensor& x = c.tensor[tensor];
      const int count = x.windowed ? c.window.buffers : units_of(c.space[x.space], x.held);
      for (int r = 0; r < c.ranks; ++r)
        for (int i = 0; i < count; ++i)
          names_[static_cast<std::size_t>(context_->places.slot[tensor] + r * context_->places.slots_per_rank + i)] =
              x.held == grain::whole ? text : std::string(text) + "[" + std::to_string(i) + "]";
    };
    name(t.tokens, "tokens");
    name(t.scores, "scores");
    name(t.routes, "routes");
    name(t.received, "received");
    name(t.gate_up, "gate_up");
    name(t.act, "act");
    name(t.result, "result");
    name(t.returns, "returns");
    name(t.output, "output");
    name(t.router_weight, "router weight");
    name(t.gate_up_weight, "W1 in HBM");
    name(t.down_weight, "W2 in HBM");
    name(t.gate_up_source, "W1 in DRAM");
    name(t.down_source, "W2 in DRAM");
    name(t.output_gradient, "output gradient");
    name(t.received_gradient, "received gradient");
    name(t.act_gradient, "act gradient");
    name(t.gate_up_gradient, "gate_up gradient");
    name(t.result_gradient, "result gradient");
    name(t.returned_gradient, "returned gradient");
    name(t.input_gradient, "input gradient");
    name(t.probability_gradient, "probability gradient");
    name(t.gate_up_weight_gradient, "W1 gradient");
    name(t.down_weight_gradient, "W2 gradient");
    for (const std::string& n : names_) slot_names_.push_back(n.c_str());
  }

  std::unique_ptr<planned_flow> planned_;
  std::vector<std::string> names_;
  std::vector<const char*> slot_names_;
  std::unique_ptr<basic_taskflow_world<Profile>> world_;
};

}}  // namespace hyperparallel::v0_2
