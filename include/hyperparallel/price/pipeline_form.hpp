// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a pipeline divides a graph: the shares that one of its stages has of what is held, kept and done.
//
// Of degree p, m micro-batches, L repeated layers, in closed form (GPipe 1811.06965, 1F1B 2006.09503): a stage has
// ceil(L / p) layers and 1 / p of the rest; phases of micro-batches take (m + p - 1) / m as long; min(p, m)
// micro-batches' kept activations are alive. Law: with one stage every share is the whole. O(segments).

#include <hyperparallel/graph/graph.hpp>
#include <hyperparallel/hardware/cost.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A share of one stage: amount · numerator / denominator, rounded down.
struct stage_share {
  extent_t numerator = 1, denominator = 1;
  constexpr extent_t of(extent_t amount) const {
    if (numerator == denominator) return amount;
    return amount / denominator * numerator + amount % denominator * numerator / denominator;
  }
  /// Of `amount` taken `times` times, which together may leave 64 bits. Domain: neither is negative, the share stays within.
  constexpr extent_t of(extent_t amount, extent_t times) const {
    if (numerator == denominator) return amount * times;
    return static_cast<extent_t>(
        static_cast<detail::wide_unsigned>(amount) * static_cast<detail::wide_unsigned>(times) *
        static_cast<detail::wide_unsigned>(numerator) / static_cast<detail::wide_unsigned>(denominator));
  }
  /// Rounded up.
  constexpr extent_t at_least(extent_t amount) const {
    if (numerator == denominator) return amount;
    return amount / denominator * numerator + (amount % denominator * numerator + denominator - 1) / denominator;
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
  /// Micro-batches that the stage's clock plays, those that fill and drain it included; of norm and update: 1.
  constexpr extent_t rounds(graph_phase phase) const {
    return phase >= graph_phase::norm ? 1 : micro_batches + degree - 1;
  }
  /// Of what belongs to `segment`, held once.
  constexpr stage_share held(int segment) const {
    if (degree == 1) return {};
    return segment >= 0 ? stage_share{stage_layers, layers} : stage_share{1, degree};
  }
  /// Micro-batches whose activations stage `stage` holds at most; the first stage holds most.
  constexpr extent_t in_flight(int stage = 0) const { return smaller(extent_t{degree} - stage, micro_batches); }
  /// Of activations kept for backward, of `of` micro-batches.
  constexpr stage_share kept(int segment, extent_t of) const {
    stage_share s = held(segment);
    if (degree > 1) s.numerator *= of;
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

}}  // namespace hyperparallel::v0_2
