// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a fixed plan of a decoder takes: memory of a device by kind, time of a step with a lower bound, bytes by link
// level, model operations.
//
//   hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
//   hp::plan_estimate e = hp::estimate_plan(llama3, plan, prices);
//   e.memory, e.time, hp::model_use(e, prices.device())
//
// Time and memory are those of plan_evaluation.hpp, which strategy search compares plans by. Where there is a pipeline,
// kinds of memory are what one stage holds when its forward has ended, and `passing` is what the peak needs above that. On a stack that is
// walked (stack.hpp) memory is what its allocator reserves, and computing what its kernels take; moves stay those of this library's plan.
// Laws: kinds and `passing` add up to `memory`; `bound` is at most `time`. Units: picoseconds, bytes.

#include <hyperparallel/planner/host_states.hpp>
#include <hyperparallel/planner/layer_work.hpp>
#include <hyperparallel/planner/plan_check.hpp>
#include <hyperparallel/planner/stack_memory.hpp>
#include <hyperparallel/planner/stack_overlap.hpp>
#include <hyperparallel/planner/stack_time.hpp>
#include <hyperparallel/price/plan_evaluation.hpp>
#include <hyperparallel/price/simulated_plan.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct plan_estimate {
  decoder_plan plan{};
  plan_evaluation evaluation{};
  extent_t held[memory_class_count] = {};   ///< of `evaluation.memory`
  extent_t passing = 0;                     ///< the rest of it
  extent_t updating = 0;                    ///< bytes of a device while a stack with `update_bytes` updates
  extent_t bound = 0;                       ///< neither computing nor links are busy for less in a step
  extent_t received[max_link_levels] = {};  ///< in a step by the busiest device of each level; over its busiest link
  double model_operations = 0;              ///< of a step on all devices
  simulated_plan simulated{};               ///< where it was asked for
  stack_memory on_stack{};                  ///< where the stack is walked
  extent_t stack_computing = 0;             ///< of it, picoseconds of a step
  stack_overlap overlap{};                  ///< where the stack hides moves
  host_update on_host{};                    ///< where states lie on the host
  constexpr bool ok() const { return evaluation.ok(); }
  constexpr bool is_walked() const { return on_stack.peak > 0; }
  /// Bytes that a device has to have: on a stack those that its allocator reserves; else those alive, of a pipeline that is replayed by
  /// address, of the fullest stage; where addresses exceed the memory the least that they take; else those of the account, within
  /// which addresses stay.
  constexpr extent_t memory() const {
    if (is_walked()) return on_stack.reserved;
    if (simulated.is_replayed()) return larger(simulated.bytes, updating);
    return simulated.code == simulated_plan_code::exceeds_memory ? larger(simulated.least_bytes, updating)
                                                                 : counted_memory();
  }
  /// The same before anything is simulated.
  constexpr extent_t counted_memory() const {
    return is_walked() ? on_stack.reserved : larger(evaluation.memory, updating);
  }
  /// Bytes in use at once at most.
  constexpr extent_t peak() const { return is_walked() ? on_stack.peak : memory(); }
  /// What memory() is above the kinds where no stack is walked; below 0 where they are not all there at once.
  constexpr extent_t beside() const { return passing + memory() - evaluation.memory; }
  /// Of a step: by the clock of the plan, or by the replay of its stages, where that is known, else estimated; without what the stack
  /// hides.
  constexpr extent_t time() const {
    return is_walked() ? stack_computing + own_exposed() : own_time() - hidden() - unsent() + added() + on_host.added();
  }
  /// The same in this library's order of moves, with all states on the device.
  constexpr extent_t own_time() const { return simulated.ok() ? simulated.times.makespan : evaluation.time; }
  /// What the stack hides of moves, but for what stages hand over: so that a step takes no less than its computing, and than its moves.
  constexpr extent_t hidden() const {
    if (overlap == stack_overlap{}) return 0;
    const extent_t waited_for = own_exposed() - handed() - unsent();
    const extent_t most = smaller(waited_for, larger(own_computing() + own_exposed() - own_moving(), extent_t{0}));
    return smaller(overlap.hidden(rounds(), plan.tp), most);
  }
  /// What it computes that this library's plan does not.
  constexpr extent_t added() const { return overlap.added(rounds()); }
  /// What the stack does not send of what this library's plan waits for.
  constexpr extent_t unsent() const { return smaller(overlap.unsent(rounds()), own_exposed() - handed()); }
  /// The parts of it in which something is computed, a pipeline's bubble included, and in which moves are under way.
  constexpr extent_t computing() const {
    return is_walked() ? stack_computing : own_computing() + added() - on_host.saved;
  }
  constexpr extent_t own_computing() const {
    return simulated.ok() ? simulated.times.makespan - simulated.times.exposed
                          : evaluation.times.compute_busy + evaluation.waited;
  }
  constexpr extent_t moving() const { return own_moving() - unsent(); }
  constexpr extent_t own_moving() const {
    return simulated.ok() ? simulated.times.busy[static_cast<int>(resource::link)] + simulated.handed
                          : evaluation.times.communication_busy + evaluation.hops;
  }
  /// Moves that nothing hides, and what stages hand over.
  constexpr extent_t exposed() const { return own_exposed() - hidden() - unsent(); }
  /// The same in this library's order of moves.
  constexpr extent_t own_exposed() const {
    return simulated.ok() ? simulated.times.exposed : evaluation.times.exposed + evaluation.hops;
  }
  /// What no plan of these moves in this order is faster than. The estimate's bound is of stages that are all as full as the
  /// fullest, so it does not hold where they are replayed.
  constexpr extent_t least() const {
    if (simulated.is_replayed()) return simulated.times.bound.most() + on_host.added();
    if (hidden() > 0)  // what waits for each other in this library's order need not on the stack
      return bound - unsent() + on_host.added();
    return (simulated.ok() ? larger(bound, simulated.times.bound.most()) : bound) + on_host.added();
  }

 private:
  /// How often a micro-batch is played, with what stages wait.
  constexpr double rounds() const {
    const double m = plan.micro_batches, bubble = static_cast<double>(simulated.bubble);
    const double working = static_cast<double>(larger(own_time() - simulated.bubble, extent_t{1}));
    return simulated.ok() ? m * (1 + bubble / working) : m + plan.pp - 1;
  }
  constexpr extent_t handed() const { return simulated.ok() ? simulated.handed : evaluation.hops; }
};

namespace detail {
/// Operations of a step in training for a token: 6 by the parameters that each token meets, and 6 by the layers, the widths of
/// keys and values and the tokens that it attends to, `reach(layer)`; of linear attention 18 by the elements of its states, 12 without the delta rule. O(layers).
template <class Reach>
constexpr double operations_a_token(const decoder& d, double parameters, const Reach& reach) {
  const latent_attention_layer& a = d.latent_attention;
  const extent_t widths = d.has_latents ? a.heads * (a.head_dim + a.rope_dim + a.value_dim)
                                        : d.attention.query_heads * 2 * d.attention.head_dim;
  double each = 6 * parameters;
  const double states =
      (d.linear.is_delta() ? 6 : 4) * static_cast<double>(d.linear.values()) * static_cast<double>(d.linear.key_dim);
  for (extent_t layer = 0; layer < d.layers; ++layer)
    each += d.is_linear(layer)       ? 3 * states
            : d.has_attention(layer) ? 6 * static_cast<double>(widths) * reach(layer)
                                     : 0.0;
  return each;
}

/// Tokens of a sequence that a layer lets one attend to, the causal mask aside.
constexpr double reach_of(const decoder& d, extent_t layer, extent_t sequence) {
  return static_cast<double>(d.is_windowed(layer) ? smaller(d.attention.window, sequence) : sequence);
}
}  // namespace detail

/// Operations that a step of training needs, whatever the plan does: for each token 6 by the active parameters without the
/// tables of embedding and positions, which multiply nothing, and 6 by the layers, the heads, the widths of a key and a value and the
/// tokens in reach, which is 12 · layers · heads · width · sequence where both are equally wide. Nothing is left out for the
/// causal mask and nothing is added for recomputation. Source: PaLM 2204.02311, appendix B. O(layers).
constexpr double model_operations_of(const decoder& d, extent_t batch, extent_t sequence) {
  const decoder_parameters<double> active = detail::count_decoder<double>(d, d.experts.top_k);
  // A tied table multiplies as the head.
  const double each =
      detail::operations_a_token(d, active.total() - active.positions - (d.tied ? 0.0 : active.embedding),
                                 [&](extent_t layer) { return detail::reach_of(d, layer, sequence); });
  return each * static_cast<double>(batch) * static_cast<double>(sequence);
}

/// The same of a plan: where adapters alone are trained, frozen parameters have no gradients, 4 operations a token each, and adapters are left out.
constexpr double model_operations_of(const decoder& d, const decoder_plan& p) {
  const double all = model_operations_of(d, p.batch, p.sequence);
  if (p.adapter_rank == 0) return all;
  const decoder_parameters<double> active = detail::count_decoder<double>(d, d.experts.top_k);
  return all - 2 * (active.total() - active.positions - (d.tied ? 0.0 : active.embedding)) *
                   static_cast<double>(p.batch) * static_cast<double>(p.sequence);
}

/// Elements, and operations of one operator, up to which counts of a micro-batch are taken to stay within 64 bits.
inline constexpr double most_elements = 288230376151711744.0;  // 2^58, of all devices
namespace detail {
inline constexpr double most_kept_elements = 36028797018963968.0;  // 2^55, of all layers on a device: 2^60 bytes
inline constexpr double most_operations = 1152921504606846976.0;   // 2^60, on a device

}  // namespace detail

/// Whether what a micro-batch counts stays within 64 bits: its largest tensor, as much on a device in every layer, and its
/// largest operator as if tp cut it not. How many micro-batches and stages there are is nothing to it: the time of a step is
/// held against `most_step_time` where it is added up. Domain: all numbers are in range and degrees are at least 1. O(1).
constexpr bool plan_is_countable(const decoder& d, const decoder_plan& p) {
  const auto number = [](extent_t n) { return static_cast<double>(n); };
  const double ranks = number(p.dp) * p.ep * p.cp, tokens = detail::tokens_of(p), hidden = number(d.hidden);
  const extent_t heads = d.has_latents
                             ? d.latent_attention.heads * (d.latent_attention.head_dim + d.latent_attention.rope_dim)
                             : d.attention.query_heads * d.attention.head_dim;
  const extent_t width = larger(larger(d.vocabulary, d.hidden), larger(heads, d.feed_forward.width));
  double elements = tokens * number(d.has_experts ? larger(width, d.experts.shared_width) : width);
  double operations = 2 * tokens * hidden * number(width);
  // Attention counts its loops, up to 2^62, before it divides by the widths of a head.
  const latent_attention_layer& latent = d.latent_attention;
  const double head =
      d.has_latents ? number(latent.heads) * number(latent.head_dim) * number(larger(latent.rope_dim, extent_t{1})) *
                          number(latent.value_dim)
                    : number(d.attention.query_heads) * number(d.attention.head_dim) * number(d.attention.head_dim);
  operations = detail::larger_of(operations, tokens * number(p.sequence) * head / p.tp / 4);
  if (d.has_linear) {
    const double values = number(d.linear.values());
    elements = detail::larger_of(elements, tokens * values);
    operations = detail::larger_of(operations, 18 * tokens * values * number(larger(d.linear.key_dim, extent_t{128})));
  }
  if (d.has_experts) {
    const double slots = detail::expert_slots_of(d, p) * detail::larger_of(1, d.experts.capacity_factor);
    elements = detail::larger_of(elements, slots * number(larger(d.experts.width, d.experts.row_width(d.hidden))));
    operations = detail::larger_of(operations, 2 * slots * hidden * number(d.experts.width));
  }
  return elements * ranks < most_elements && elements * number(d.layers) < detail::most_kept_elements &&
         operations < detail::most_operations;
}

/// MFU: model operations over what the matrix cores of all devices could have done in bf16 in the time. 0 without a time.
constexpr double model_use(const plan_estimate& e, const device_value& d) {
  if (!e.ok() || e.time() <= 0) return 0;
  const double peak = static_cast<double>(matrix_peak(d, number_format::bfloat16)) *
                      static_cast<double>(device_count_of(e.plan)) * static_cast<double>(e.time()) / 1e12;
  return peak > 0 ? e.model_operations / peak : 0;
}

/// Tokens in a second and a device. 0 without a time.
constexpr double tokens_per_device_second(const plan_estimate& e) {
  if (!e.ok() || e.time() <= 0) return 0;
  return static_cast<double>(e.plan.batch) * static_cast<double>(e.plan.sequence) * 1e12 /
         (static_cast<double>(e.time()) * static_cast<double>(device_count_of(e.plan)));
}

namespace detail {
constexpr void note_memory_kinds(const sharded_program& p, const pipeline_form& form, plan_estimate& e) {
  if (form.degree == 1) {
    for (int c = 0; c < memory_class_count; ++c) e.held[c] = e.evaluation.account.at_peak[c];
    return;
  }
  const storage_uses uses(p);
  e.passing = e.evaluation.memory;
  visit_kept_memory(p, form, [&](int storage, int, extent_t bytes) {
    e.held[static_cast<int>(uses.class_of(storage))] += bytes;
    e.passing -= bytes;
  });
}

/// What a device has while AdamW updates: gradients are freed but for those that wait for their turn.
constexpr extent_t updating_bytes(const plan_estimate& e, const stack_rules& stack) {
  const decoder_plan& p = e.plan;
  if (stack.update_bytes == 0 || p.optimizer != optimizer_kind::adamw) return 0;
  const extent_t states = e.held[static_cast<int>(memory_class::states)];
  const extent_t updated = states / state_bytes(p.formats, p.optimizer);
  const extent_t at_once = p.zero == 3 ? smaller(updated, zero3_update_group) : updated;
  return e.held[static_cast<int>(memory_class::parameters)] + states + at_once * stack.update_bytes +
         (updated - at_once) * p.formats.gradient_bytes();
}

/// What moves of a stage's share of the layers carry, and what stages hand over.
constexpr void note_received(const sharded_program& p, const pipeline_form& form, plan_prices& prices,
                             const priced_program& priced, plan_estimate& e) {
  for (const program_step& s : p.step) {
    if (!s.is_move || !priced.travels(s.index)) continue;
    const extent_t element = bytes_of(p.graph.tensor[p.value[p.move[s.index].source].tensor].type);
    for (int l = 0; l < max_link_levels; ++l)
      e.received[l] += form.held(s.segment).of(elements_over(priced.load_of(s.index), l) * element, times_of(p, s));
  }
  const int handed = handed_value(p);
  if (form.degree == 1 || handed < 0) return;
  visit_links(prices.links(), 0, position_count(p.mesh.shape),
              [&](int level) { e.received[level] += 2 * form.micro_batches * local_bytes(p, handed); });
}

plan_estimate estimate_plan_in_library(const decoder& d, const decoder_plan& plan, plan_prices& prices,
                                       const stack_rules& stack);
constexpr plan_estimate estimate_plan_here(const decoder& d, const decoder_plan& plan, plan_prices& prices,
                                           const stack_rules& stack) {
  plan_estimate e;
  e.plan = plan;
  if (!plan_is_countable(d, plan)) {
    e.evaluation.code = cost_code::overflow;
    return e;
  }
  const sharded_program p = planned_program(d, plan);
  if (e.evaluation = evaluate_program(p, plan.pp, prices); !e.ok()) return e;
  const pipeline_form form(p.graph, plan.pp);
  const priced_program priced(p, prices);
  e.bound = busy_of(p, form, priced).bound();
  e.model_operations = model_operations_of(d, plan);
  detail::note_memory_kinds(p, form, e);
  e.updating = detail::updating_bytes(e, stack);
  detail::note_received(p, form, prices, priced, e);
  e.on_host = host_update_of(p, form, plan, priced, prices.device());
  if (!e.on_host.cost.ok()) e.evaluation.code = e.on_host.cost.code;
  if (stack.walked) {
    e.on_stack = stack_memory_of(d, plan, stack);
    const stack_time computing = stack_time_of(d, plan, stack, prices.device());
    e.stack_computing = computing.total();
    if (!computing.ok()) e.evaluation.code = computing.code;
  }
  if (stack.overlapped) e.overlap = overlap_of(p, form, priced, expert_routes_of(d, plan));
  return e;
}

}  // namespace detail

/// The estimate of a plan. Where the program or the hardware is refused, `evaluation` says why and amounts are 0; where
/// the plan is not countable or a step takes longer than `most_step_time`, its code is `overflow`.
/// Precondition: `check_plan` says ok, and `check_stack`. O(what partition, evaluate_program and stack_memory_of take).
constexpr plan_estimate estimate_plan(const decoder& d, const decoder_plan& plan, plan_prices& prices,
                                      const stack_rules& stack = known_stacks[0]) {
  HYPERPARALLEL_TWIN(detail::estimate_plan_in_library(d, plan, prices, stack));
  return detail::estimate_plan_here(d, plan, prices, stack);
}

}}  // namespace hyperparallel::v0_2
