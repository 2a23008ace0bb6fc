// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a plan costs: the objective of strategy search. A plan is a strategy and a pipeline degree for a training graph.
//
// The program of one stage's mesh is made by the partitioner and read step by step:
//   time = Σ steps price · how often  (+ what a stage hands to the next one)
//   memory = the peak of memory_account
// A move takes the fastest known way on the topology (move_loads.hpp). Steps stand one after the other and nothing is
// joined into buckets: every move counts in full, so that a plan that moves less is never worse. Steps of the norm
// phase that join single numbers of all parameters are left out: they cost latencies and belong to no part of the
// model. Law: without a pipeline the time is `step_times::in_a_row` of the program's account, beside which that account
// tells the time with overlap.
//
// Pipeline of degree p, m micro-batches, L repeated layers, in closed form (GPipe 1811.06965, 1F1B 2006.09503): a stage
// has ceil(L / p) layers and 1 / p of the rest; phases of micro-batches take (m + p - 1) / m as long; min(p, m)
// micro-batches' kept activations are alive; a stage hands a layer's result and its gradient over once a micro-batch.
// Shares are rounded down step by step, which keeps sums exact. Units: picoseconds, bytes.

#include <hyperparallel/model/memory_account.hpp>
#include <hyperparallel/model/partition.hpp>
#include <hyperparallel/program/plan_prices.hpp>

namespace hyperparallel {

struct plan_evaluation {
  strategy_status status{};
  cost_code code = cost_code::ok;
  bool pipeline_fits = true;  ///< there are as many layers as stages
  extent_t compute[graph_phase_count] = {};
  extent_t moves[graph_phase_count] = {};
  extent_t hops = 0;  ///< between stages
  extent_t time = 0;  ///< of all these
  extent_t memory = 0;
  memory_account account{};  ///< without a pipeline
  constexpr bool ok() const { return status.code == strategy_code::ok && code == cost_code::ok && pipeline_fits; }
  friend constexpr bool operator==(const plan_evaluation&, const plan_evaluation&) = default;
};

/// A share of one stage: amount · numerator / denominator, rounded down.
struct stage_share {
  extent_t numerator = 1, denominator = 1;
  constexpr extent_t of(extent_t amount) const {
    if (numerator == denominator) return amount;
    return amount / denominator * numerator + amount % denominator * numerator / denominator;
  }
};

/// How a pipeline divides a graph.
struct pipeline_form {
  int degree = 1;
  extent_t layers = 0;  ///< repetitions of all segments
  extent_t stage_layers = 0;
  extent_t micro_batches = 1;

  constexpr pipeline_form(const graph& g, int stages) : degree(stages), micro_batches(g.micro_batches) {
    for (const graph_segment& s : g.segment) layers += s.repeats;
    stage_layers = (layers + degree - 1) / degree;
  }
  constexpr bool fits() const { return degree == 1 || (degree > 1 && degree <= layers); }
  /// Of what belongs to `segment`, held once.
  constexpr stage_share held(int segment) const {
    if (degree == 1) return {};
    return segment >= 0 ? stage_share{stage_layers, layers} : stage_share{1, degree};
  }
  /// Of activations kept for backward.
  constexpr stage_share kept(int segment) const {
    stage_share s = held(segment);
    if (degree > 1) s.numerator *= smaller(extent_t{degree}, micro_batches);
    return s;
  }
  /// Of time in a phase, the pipeline's filling and draining included.
  constexpr stage_share busy(int segment, graph_phase phase) const {
    stage_share s = held(segment);
    if (degree == 1 || phase >= graph_phase::norm) return s;
    s.numerator *= micro_batches + degree - 1;
    s.denominator *= micro_batches;
    return s;
  }
};

/// Calls `visit(step, time)` for each step that the objective counts: its time over the whole step of training.
template <class Visit>
constexpr void visit_prices(const sharded_program& p, const pipeline_form& form, plan_prices& prices,
                            const Visit& visit) {
  for (int i = 0; i < p.step.size; ++i) {
    const program_step& s = p.step[i];
    if (joins_numbers(p, s)) continue;
    visit(i, form.busy(s.segment, s.phase).of(prices.of_step(p, i) * times_of(p, s)));
  }
}

/// What a stage hands over, there and back, in a step of training. 0 without a pipeline.
constexpr time_cost hop_time(const sharded_program& p, const pipeline_form& form, const topology_value& topology) {
  if (form.degree == 1 || p.graph.segment.empty()) return {};
  const int handed = p.graph.segment.last().carried_out;
  int v = 0;
  while (v < p.value.size && p.value[v].tensor != handed) ++v;
  if (v == p.value.size) return {};
  const int level = level_between(topology, 0, position_count(p.mesh.shape));
  if (level == not_connected || level == no_link) return {cost_code::ranks_are_not_connected, 0};
  const time_cost once = transfer_time(topology.level[level], local_bytes(p, v));
  return {once.code, 2 * (form.micro_batches + form.degree - 1) * once.picoseconds};
}

/// Calls `visit(storage, part of memory)` with what each storage certainly holds when forward has ended: homes, and
/// activations kept for backward. `place(storage)` is told by its first step. The sum is at most the peak.
template <class Visit>
constexpr void visit_kept_memory(const sharded_program& p, const pipeline_form& form, const Visit& visit) {
  constexpr int unused = -1;
  growing_array<int> first, last;
  first.resize(p.storage.size, unused);
  last.resize(p.storage.size, unused);
  for (int i = 0; i < p.step.size; ++i)
    visit_values(p, p.step[i], [&](int v, bool) {
      if (first[p.value[v].storage] == unused) first[p.value[v].storage] = i;
      last[p.value[v].storage] = i;
    });
  for (int s = 0; s < p.storage.size; ++s) {
    const graph_tensor& t = p.graph.tensor[p.storage[s].tensor];
    if (p.storage[s].home) {
      visit(s, first[s], form.held(t.segment).of(p.storage[s].bytes * repeats_of(p.graph, t.segment)));
      continue;
    }
    if (first[s] == unused || p.step[first[s]].phase != graph_phase::forward ||
        p.step[last[s]].phase == graph_phase::forward)
      continue;
    const int segment = p.step[first[s]].segment;
    const bool carried = segment >= 0 && p.storage[s].tensor == p.graph.segment[segment].carried_out;
    const bool entering = segment >= 0 && p.storage[s].tensor == p.graph.segment[segment].carried_in;
    const extent_t times = carried || entering ? 1 : repeats_of(p.graph, segment);
    visit(s, first[s], form.kept(segment).of(p.storage[s].bytes * times));
  }
}

/// Bytes of one stage's device: the account's peak with homes and kept activations in their shares.
constexpr extent_t stage_memory(const sharded_program& p, const pipeline_form& form, const memory_account& account) {
  if (form.degree == 1) return account.peak;
  const pipeline_form whole(p.graph, 1);
  extent_t memory = account.peak;
  visit_kept_memory(p, whole, [&](int, int, extent_t bytes) { memory -= bytes; });
  visit_kept_memory(p, form, [&](int, int, extent_t bytes) { memory += bytes; });
  return memory;
}

/// The evaluation of a program that is there already. O(steps).
constexpr plan_evaluation evaluate_program(const sharded_program& p, int pipeline, plan_prices& prices) {
  plan_evaluation e;
  e.status = p.status;
  const pipeline_form form(p.graph, pipeline);
  e.pipeline_fits = form.fits();
  e.code = prices.code();
  const extent_t devices = extent_t{position_count(p.mesh.shape)} * pipeline;
  if (e.ok() && check_span(prices.topology(), 0, devices - 1).code != topology_code::ok)
    e.code = cost_code::ranks_are_not_connected;
  if (!e.ok()) return e;
  visit_prices(p, form, prices, [&](int i, extent_t time) {
    (p.step[i].is_move ? e.moves : e.compute)[static_cast<int>(p.step[i].phase)] += time;
    e.time += time;
  });
  const time_cost hop = hop_time(p, form, prices.topology());
  e.hops = hop.picoseconds;
  e.time += e.hops;
  e.code = prices.code() != cost_code::ok ? prices.code() : hop.code;
  e.account = memory_account_of(p, prices.moves_of(p));
  e.memory = stage_memory(p, form, e.account);
  return e;
}

/// Partitions and evaluates. The strategy's mesh is that of one stage.
constexpr plan_evaluation evaluate_plan(const graph& g, const strategy_value& s, int pipeline, plan_prices& prices) {
  return evaluate_program(partition(g, s), pipeline, prices);
}

}  // namespace hyperparallel
