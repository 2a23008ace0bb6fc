// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a plan costs: the objective of strategy search. A plan is a strategy and a pipeline degree for a training graph.
//
// The program of one stage's mesh is made by the partitioner and timed by the estimate of step_estimate.hpp, the one that
// accounts print: computing and moves in two queues, each move by the fastest known way on the links. A pipeline's
// time is that of one stage; what a stage hands over to the next one comes on top, and what all wait for the one that has embedding
// or head (stage_balance.hpp). The memory is the peak of
// memory_account.
//
// Laws: without a pipeline the time is `times.total` of the program's account; it is at least what computing takes
// together, and at least what moves over links do (busy_times). Units: picoseconds, bytes.

#include <hyperparallel/price/plan_prices.hpp>
#include <hyperparallel/price/stage_balance.hpp>
#include <hyperparallel/price/step_estimate.hpp>
#include <hyperparallel/strategy/memory_account.hpp>
#include <hyperparallel/strategy/partition.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct plan_evaluation {
  strategy_status status{};
  cost_code code = cost_code::ok;
  bool pipeline_fits = true;  ///< there are as many layers as stages
  step_times times{};         ///< of a stage
  extent_t hops = 0;          ///< between stages
  stage_balance balance{};    ///< of a pipeline
  extent_t waited = 0;        ///< for the stage that has more to do
  extent_t time =
      not_counted;  ///< their total, the hops and the waits; `not_counted`, as the memory, of what is not ok
  extent_t memory = not_counted;
  memory_account account = memory_account::of_nothing();  ///< without a pipeline
  constexpr bool ok() const { return status.code == strategy_code::ok && code == cost_code::ok && pipeline_fits; }
  friend constexpr bool operator==(const plan_evaluation&, const plan_evaluation&) = default;
};

/// Time of one stage in a step of training that nothing shortens: `compute` in the queue for computing, `carried` in
/// that of moves. Reductions of gradients are left out: which of them travel in one bucket, and take less
/// together, other parts of the model decide. So are steps of the norm phase that join single numbers of all
/// parameters, which belong to no part. Law: both are at most the estimate's total.
struct busy_times {
  extent_t compute = 0, carried = 0;
  constexpr extent_t bound() const { return larger(compute, carried); }
  constexpr busy_times& operator+=(const busy_times& b) {
    compute += b.compute;
    carried += b.carried;
    return *this;
  }
  friend constexpr bool operator==(const busy_times&, const busy_times&) = default;
};

namespace detail {

/// Calls `visit(step, busy_times)` for each step that they count.
template <class Visit>
constexpr void visit_busy(const sharded_program& p, const pipeline_form& form, const priced_program& prices,
                          const Visit& visit) {
  for (int i = 0; i < p.step.size; ++i) {
    const program_step& s = p.step[i];
    if (joins_numbers(p, s)) continue;
    if (s.is_move && detail::reduced_gradient_axes(p, p.move[s.index]) != 0) continue;
    const extent_t time = form.busy(s.segment, s.phase).of(prices.of_step(i), times_of(p, s));
    visit(i, s.is_move ? busy_times{0, time} : busy_times{time, 0});
  }
}
constexpr busy_times busy_of(const sharded_program& p, const pipeline_form& form, const priced_program& prices) {
  busy_times sum;
  visit_busy(p, form, prices, [&](int, const busy_times& b) { sum += b; });
  return sum;
}

/// The value that a pipeline's stage hands over to the next one; -1 where nothing repeats.
constexpr int handed_value(const sharded_program& p) {
  if (p.graph.segment.empty()) return -1;
  for (int v = 0; v < p.value.size; ++v)
    if (p.value[v].tensor == p.graph.segment.last().carried_out) return v;
  return -1;
}

/// What handing over one micro-batch from a stage to the next one takes. 0 where nothing repeats.
constexpr time_cost hand_over_time(const sharded_program& p, const interconnect& links) {
  const int v = handed_value(p);
  return v < 0 ? time_cost{} : transfer_time(links, 0, position_count(p.mesh.shape), local_bytes(p, v));
}

/// What a stage hands over, there and back, in a step of training. 0 without a pipeline.
constexpr time_cost hop_time(const sharded_program& p, const pipeline_form& form, const interconnect& links) {
  if (form.degree == 1) return {};
  const time_cost once = hand_over_time(p, links);
  if (!once.ok()) return once;
  return latencies(2 * (form.micro_batches + form.degree - 1), once.picoseconds);
}

}  // namespace detail

/// Calls `visit(storage, first step, part of memory)` with what each storage certainly holds when forward has ended: homes,
/// and activations kept for backward, of `in_flight` micro-batches in a pipeline.
template <class Visit>
constexpr void visit_kept_memory(const sharded_program& p, const pipeline_form& form, extent_t in_flight,
                                 const Visit& visit) {
  constexpr int unused = -1;
  growing_array<int> first(p.storage.size, unused), last(p.storage.size, unused);
  for (int i = 0; i < p.step.size; ++i)
    detail::visit_values(p, p.step[i], [&](int v, bool) {
      if (first[p.value[v].storage] == unused) first[p.value[v].storage] = i;
      last[p.value[v].storage] = i;
    });
  for (int s = 0; s < p.storage.size; ++s) {
    const graph_tensor& t = p.graph.tensor[p.storage[s].tensor];
    if (p.storage[s].home) {
      visit(s, first[s], form.held(t.segment).of(p.storage[s].bytes * detail::repeats_of(p.graph, t.segment)));
      continue;
    }
    if (first[s] == unused || p.step[first[s]].phase != graph_phase::forward ||
        p.step[last[s]].phase == graph_phase::forward)
      continue;
    const int segment = p.step[first[s]].segment;
    const bool carried = segment >= 0 && p.storage[s].tensor == p.graph.segment[segment].carried_out;
    const bool entering = segment >= 0 && p.storage[s].tensor == p.graph.segment[segment].carried_in;
    const extent_t times = carried || entering ? 1 : detail::repeats_of(p.graph, segment);
    visit(s, first[s], form.kept(segment, in_flight).of(p.storage[s].bytes * times));
  }
}
/// Of the first stage, which holds most. The sum is at most the peak.
template <class Visit>
constexpr void visit_kept_memory(const sharded_program& p, const pipeline_form& form, const Visit& visit) {
  visit_kept_memory(p, form, form.in_flight(), visit);
}

/// Bytes of a device of the first stage: the account's peak with homes and kept activations in their shares.
constexpr extent_t stage_memory(const sharded_program& p, const pipeline_form& form, const memory_account& account) {
  if (form.degree == 1) return account.peak;
  const pipeline_form whole(p.graph, 1);
  extent_t memory = account.peak;
  visit_kept_memory(p, whole, [&](int, int, extent_t bytes) { memory -= bytes; });
  visit_kept_memory(p, form, [&](int, int, extent_t bytes) { memory += bytes; });
  return memory;
}

namespace detail {

plan_evaluation evaluate_program_in_library(const sharded_program& p, int pipeline, plan_prices& prices);
constexpr plan_evaluation evaluate_program_here(const sharded_program& p, int pipeline, plan_prices& prices) {
  plan_evaluation e;
  e.status = p.status;
  const pipeline_form form(p.graph, pipeline);
  e.pipeline_fits = form.fits();
  e.code = prices.code();
  const extent_t devices = extent_t{position_count(p.mesh.shape)} * pipeline;
  if (e.ok() && check_span(prices.links(), devices).code != topology_code::ok)
    e.code = cost_code::ranks_are_not_connected;
  if (!e.ok()) return e;
  const priced_program priced(p, prices);
  e.times = estimate_step(p, priced, form, prices.links());
  const time_cost hop = hop_time(p, form, prices.links());
  e.code = then(e.times.total, hop).code;
  if (e.code != cost_code::ok) return e;
  e.hops = hop.picoseconds;
  if (pipeline > 1) e.balance = balance_of(p, [&](int step) { return priced.of_step(step); });
  e.waited = e.balance.waited(form);
  const time_cost whole = then(then(e.times.total, hop), {cost_code::ok, e.waited});
  e.code = whole.code;
  e.time = whole.picoseconds;
  e.account = memory_account_of(p, priced.moves());
  e.memory = stage_memory(p, form, e.account);
  if (e.code != cost_code::ok) e.time = e.memory = not_counted;
  return e;
}

/// The evaluation of a program that is there already. O(steps · repetitions played).
constexpr plan_evaluation evaluate_program(const sharded_program& p, int pipeline, plan_prices& prices) {
  HYPERPARALLEL_TWIN(detail::evaluate_program_in_library(p, pipeline, prices));
  return detail::evaluate_program_here(p, pipeline, prices);
}

}  // namespace detail

/// Partitions and evaluates. The strategy's mesh is that of one stage.
constexpr plan_evaluation evaluate_plan(const graph& g, const strategy_value& s, int pipeline, plan_prices& prices) {
  return detail::evaluate_program(partition(g, s), pipeline, prices);
}

}}  // namespace hyperparallel::v0_2
