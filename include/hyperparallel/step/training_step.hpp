// SPDX-License-Identifier: Apache-2.0
#pragma once
// A step of training as a type: model, strategy, optimizer and hardware, derived and accounted by the compiler.
//
//   using step = hp::train_step<my_model, my_strategy, hp::adamw, hp::matrix384, hp::accumulating<8>>;
//   static_assert(hp::fits_alive<step>() && step::account.times.exposed * 10 <= step::account.times.total.picoseconds);
//   using tight = hp::train_step<…, hp::offloaded_within<24 * GiB>, hp::keeping<"head.*">>;   // with slower tiers
//
// One constant evaluation builds the graph, differentiates it, appends the optimizer, partitions, holds the program
// against its laws and accounts it; what it keeps is the account. A second one, where `verified` or `fits` is named, makes
// the plan that `world<step>` runs (step_plan.hpp). A model or strategy that cannot be is one error line
// with the names and sizes, and so is hardware that cannot be, or whose links do
// not join all devices (hardware_status.hpp). Without options: bf16 parameters and activations, one micro-batch,
// nothing recomputed.
//
// The folder step/: a step of training as a type. Its arguments (arguments.hpp) and options (step_options.hpp), its plan as a constant
// (step_plan.hpp) and under a budget (step_offload.hpp), and the error lines of a step that cannot be (refusal.hpp,
// offload_refusal.hpp). world/ runs it.

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/model_builder.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/graph/recomputation.hpp>
#include <hyperparallel/lowering/hardware_refusal.hpp>
#include <hyperparallel/price/lookahead.hpp>
#include <hyperparallel/price/step_account.hpp>
#include <hyperparallel/step/arguments.hpp>
#include <hyperparallel/step/offload_refusal.hpp>
#include <hyperparallel/step/step_options.hpp>
#include <hyperparallel/step/step_plan.hpp>
#include <hyperparallel/step/step_verdict.hpp>
#include <hyperparallel/strategy/check_program.hpp>
#include <hyperparallel/strategy/partition.hpp>
#include <hyperparallel/strategy/strategy_type.hpp>
#include <hyperparallel/support/proof.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The graph of a whole step of training, from the graph `g` of the model's forward pass.
constexpr graph training_graph(graph g, const optimizer_value& optimizer, const step_settings& settings = {}) {
  g.micro_batches = settings.micro_batches;
  if (g.status.code == graph_code::ok) differentiate(g);
  for (const short_text& pattern : settings.recomputed)
    if (g.status.code == graph_code::ok) recompute(g, pattern.text, settings.spared);
  if (g.status.code == graph_code::ok) append_optimizer(g, optimizer);
  return g;
}
/// The same of `Model`, which is built as the settings say.
template <class Model>
constexpr graph training_graph(const optimizer_value& optimizer, const step_settings& settings = {}) {
  return training_graph(build_model<Model>(settings.build), optimizer, settings);
}

/// The compiler asks a program's laws on at most so many devices: they are asked device by device.
inline constexpr int most_proved_devices = 32;

namespace detail {

/// Whether the program keeps the laws of check_program.hpp, asked where its mesh is small enough.
constexpr proof laws_of(const sharded_program& p) {
  if (ranks_of(p) > most_proved_devices) return {};
  return proved_if(check_program(p).code == program_code::ok);
}

/// What a constant evaluation keeps of a step.
struct step_evaluation {
  step_refusal refusal{};
  proof laws{};
  step_account account{};
  step_offload offload{};
  extent_t parameters = 0;
  step_stages_status stages{};  ///< of a pipeline
  unrated_work unrated{};       ///< where the step has no price
  plan_size plan{};
};

template <class Model, class Strategy, class Optimizer, class Hardware, class... Options>
struct evaluated_step {
  static_assert((memory_rules_in<Options> + ... + 0) <= most_offload_patterns, "a step has at most 16 memory rules");
  static_assert((recomputed_patterns_in<Options> + ... + 0) <= max_recomputed_patterns,
                "a step recomputes at most 8 patterns");
  static_assert((kept_values_in<Options> + ... + 0) <= max_kept_values, "a step keeps at most 8 values");
  static constexpr step_settings settings() {
    step_settings s;
    (Options::apply(s), ...);
    return s;
  }
  static constexpr sharded_program program_of_step(const graph& g, const step_settings& settings,
                                                   step_stages_status& stages) {
    if (!settings.pipeline.of_parts) return partition(g, Strategy::value);
    return settings.pipeline.partition(g, Strategy::value, settings.pipeline, stages);
  }
  static constexpr step_evaluation evaluate() {
    step_settings settings = evaluated_step::settings();
    settings.build.unrolled = settings.build.unrolled || settings.pipeline.of_parts;
    const graph g = training_graph<Model>(Optimizer::value, settings);
    step_evaluation e;
    const sharded_program p = program_of_step(g, settings, e.stages);
    if (!e.stages.ok()) return e;
    e.refusal = refusal_of(p, settings.pipeline.strategy_of(p.status.part, Strategy::value));
    if (e.refusal.kind != refusal_kind::nothing || !hardware::status.ok()) return e;
    e.laws = laws_of(p);
    const program_moves moves = kinds_of_moves(p, interconnect_of(Hardware::topology));
    const storage_uses uses(p);
    growing_array<extent_t> block_duration;
    e.account = settings.pipeline.of_parts ? settings.pipeline.account(p, moves, Hardware::device)
                                           : account_of(p, moves, uses, Hardware::device, block_duration);
    if (!e.account.times.total.ok()) e.unrated = unrated_work_of(Hardware::device, p);
    if (settings.offload.budget > 0)
      e.offload = settings.pipeline.of_parts
                      ? settings.pipeline.offload(p, moves, uses, Hardware::device, settings.offload)
                      : offload_step(p, moves, uses, block_duration, Hardware::device, settings.offload);
    e.parameters = parameter_count(g);
    e.plan = size_of_plan(p, moves);
    return e;
  }
  /// What `world<step>` runs, and the same lowered.
  static constexpr sharded_program unrolled() {
    step_settings settings = evaluated_step::settings();
    settings.build.unrolled = true;
    step_stages_status stages;
    return program_of_step(training_graph<Model>(Optimizer::value, settings), settings, stages);
  }
  static constexpr lowered_program lowered() {
    const step_settings settings = evaluated_step::settings();
    lowering_options how{.topology = interconnect_of(Hardware::topology),
                         .vector_queue = settings.vector_queue,
                         .lookahead = settings.lookahead};
    for (const char* name : settings.kept) how.keep.push(name);
    for (const char* pattern : settings.tiles) how.tiles.push(pattern);
    how.most_tiles = settings.most_tiles;
    sharded_program p = unrolled();
    if (!how.tiles.empty() && p.status.code == strategy_code::ok)
      how.step_duration = prices_of_steps(p, kinds_of_moves(p, how.topology), Hardware::device).duration;
    if (settings.lookahead_memory > 0)
      return lower_fastest(static_cast<sharded_program&&>(p), how, Hardware::device, settings.lookahead_memory).lowered;
    return lower_training(static_cast<sharded_program&&>(p), how);
  }
  /// Of the plan, played by itself: who does not ask for it does not pay.
  template <class Lowered = lowered_program>
  static constexpr run_times clock_of(const image_view& plan) {
    return simulate(program_of<Lowered>(plan, settings().build.operators), Hardware::device);
  }
  /// A plan with a budget of memory is made at the start of a world.
  static constexpr bool asks_plan() { return result.plan.may_be_constant() && result.offload.budget == 0; }
  using hardware = hardware_verdict<Hardware, settings().pipeline.devices_with(Strategy::value)>;
  static constexpr bool refused() {
    return result.refusal.kind != refusal_kind::nothing || !result.stages.ok() || !hardware::status.ok();
  }
  /// Of a step that is not refused before it is priced.
  static constexpr cost_code price() { return refused() ? cost_code::ok : result.account.times.total.code; }
  static constexpr step_evaluation result = evaluate();
  static constexpr bool ok() { return !refused() && price() == cost_code::ok && result.offload.ok(); }
};

/// What is kept of a step that is not refused.
template <class Evaluated>
struct accepted_step {
  static constexpr step_account account = Evaluated::result.account;
  static constexpr extent_t parameters = Evaluated::result.parameters;
  /// The program keeps its laws: not asked on more than `most_proved_devices`. Ask `check_program` at run time there.
  static constexpr proof lawful = Evaluated::result.laws;
  /// The plan of the unrolled program is safe: not asked of a larger one than `size_of_plan` allows, or under a budget.
  static constexpr proof verified = [] {
    if constexpr (Evaluated::asks_plan())
      return planned_step<Evaluated>::verified;
    else
      return proof{};
  }();
  /// Why the plan is refused or not asked, where it is.
  static constexpr lowering_code lowered = [] {
    if constexpr (Evaluated::asks_plan())
      return planned_step<Evaluated>::image.rest.status.code;
    else
      return Evaluated::result.offload.budget > 0 ? lowering_code::budget_is_planned_at_start
                                                  : lowering_code::plan_is_too_large;
  }();
  /// How long the plan takes, each task in its queue behind what it waits for; no time where the plan is refused or not asked.
  static constexpr run_times clock = [] {
    if constexpr (verified)
      return Evaluated::clock_of(planned_step<Evaluated>::image);
    else
      return run_times{.code = cost_code::program_is_refused};
  }();
  static constexpr hyperparallel::plan_size size_of_plan = Evaluated::result.plan;
  /// Domain: the plan is asked; `planned::image` is it.
  using planned = planned_step<Evaluated>;
  /// With a budget of memory: how it is kept.
  static constexpr step_offload offload = Evaluated::result.offload;
  /// Most bytes of a device's fastest memory alive at once.
  static constexpr extent_t peak = offload.budget > 0 ? offload.peak[0] : account.memory.peak;
};

template <class Evaluated>
using kept_of_step = std::conditional_t<Evaluated::ok(), accepted_step<Evaluated>, step_that_is_refused>;

template <class Step>
struct step_plan_verdict_of : step_plan_verdict<Step::verified.state, Step::lowered, Step::size_of_plan> {};
template <class Step>
  requires is_refused_step<Step>
struct step_plan_verdict_of<Step> : std::type_identity<accepted> {};

}  // namespace detail

/// Whether the step would be accepted; silent when not.
template <class Model, class Strategy, class Optimizer, class Hardware, class... Options>
concept valid_train_step = options_of_one_step<Options...> && constant_build<Model, Options...> &&
                           detail::evaluated_step<Model, Strategy, Optimizer, Hardware, Options...>::ok();

/// A step of training as a type: `train_step<Model, Strategy, Optimizer, Hardware, Options…>`. An argument that is missing
/// or in another's place is one error line. Behind a step that is refused no assertion about it adds another.
template <class Model, class... Arguments>
struct train_step : detail::step_that_is_refused {
  static_assert(insist<typename detail::step_arguments_verdict<Model, Arguments...>::type>::met);
  using model = Model;
};

template <model_type Model, strategy_type Strategy, optimizer_type Optimizer, hardware_type Hardware,
          step_option... Options>
  requires options_of_one_step<Options...> && constant_build<Model, Options...>
struct train_step<Model, Strategy, Optimizer, Hardware, Options...>
    : detail::kept_of_step<detail::evaluated_step<Model, Strategy, Optimizer, Hardware, Options...>> {
  using model = Model;
  using strategy = Strategy;
  using hardware = Hardware;
  using options = boost::mp11::mp_list<Options...>;
  using evaluated = detail::evaluated_step<Model, Strategy, Optimizer, Hardware, Options...>;
  static_assert(insist<typename detail::step_verdict<evaluated>::type>::met);
  static_assert(insist<typename detail::stages_verdict<evaluated::result.stages>::type>::met);
  static_assert(insist<typename evaluated::hardware::type>::met);
  static_assert(
      insist<typename detail::step_price_verdict<evaluated::price(), Hardware, evaluated::result.unrated>::type>::met);
  static_assert(insist<typename detail::offload_verdict<evaluated>::type>::met);
};

/// Whether at most so many bytes of a device's fastest memory are alive at once; what the step's hardware has, unless
/// given. Addresses are not asked: alignment and gaps between blocks come on top (`fits`).
template <class Step, extent_t Bytes = Step::account.memory_bytes>
constexpr bool fits_alive() {
  return detail::is_refused_step<Step> || (Step::peak > 0 && Step::peak <= Bytes);
}

/// Whether the addresses that the step's plan has found lie within so many bytes of a device's fastest memory, alignment
/// and gaps included; of a step whose plan is not asked: no.
template <class Step, extent_t Bytes = Step::account.memory_bytes>
constexpr bool fits() {
  if constexpr (detail::is_refused_step<Step>)
    return true;
  else if constexpr (!Step::verified)
    return false;
  else
    return Step::planned::image.rest.addresses.high_water[0] <= Bytes;
}

/// `static_assert(lawful<step>::met)`: one error line with the sizes where the step's laws are refused or not asked.
template <class Step>
struct lawful {
  static constexpr bool met =
      insist<typename detail::laws_verdict<detail::is_refused_step<Step> ? proof_state::proved : Step::lawful.state,
                                           position_count(Step::account.mesh.shape), most_proved_devices>::type>::met;
};

/// `static_assert(proved<step>::met)`: one error line with the sizes where the step's plan is refused or not asked.
template <class Step>
struct proved {
  static constexpr bool met = insist<typename detail::step_plan_verdict_of<Step>::type>::met;
};

/// `static_assert(alive_within<step, 56 * GiB>::met)`: one error line with both sizes where more is alive at once.
template <class Step, extent_t Bytes>
struct alive_within {
  static constexpr bool met =
      insist<typename detail::memory_verdict<fits_alive<Step, Bytes>(), Step::peak, Bytes>::type>::met;
};

}}  // namespace hyperparallel::v0_2
