// SPDX-License-Identifier: Apache-2.0
#pragma once
// The partitioner: a graph for one device and a strategy give the program of every device.
//
// Operators are walked in order (operator_writer.hpp).
//
// A segment is walked once for all its repetitions, on the assumption that what it carries comes in its *entry*, the
// layout in which a repetition leaves it. Where one leaves it otherwise, the entry is corrected and the walk starts
// over at once, so that nothing behind an open segment decides anything: with all before it at rest, a segment's entry,
// and so its steps, depend on its own rules and on how its input comes. That is what lets costs of parts add up
// (search/segment_costs.hpp). An entry is corrected at most twice in each phase, then it stays, and each repetition
// moves what it leaves there; so there are at most 1 + 4 · segments walks.
//
// Laws: those of sharded_program.hpp; steps of forward up to a segment's end do not depend on rules of what is behind
// it. Complexity: O(operators · (axes · rules · loops + operands · values)) a walk. Sources: GSPMD
// (2105.04663) for one rule per dim, ZeRO (1910.02054), Megatron sequence parallelism (2205.05198).

#include <hyperparallel/strategy/gradient_buckets.hpp>
#include <hyperparallel/strategy/operator_writer.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Where a repetition of a segment takes over what it carries: forward, and its gradient backward. Rank -1: unknown.
struct segment_entry {
  layout_value forward{{}, -1};
  layout_value backward{{}, -1};
  int corrected[2] = {};  ///< how often, by phase
};

class partitioner : operator_writer {
 public:
  /// `entries` has one of each segment of the graph; the walk corrects the first that is open.
  constexpr partitioner(graph&& g, const strategy_value& s, growing_array<segment_entry>& entries,
                        const program_stages* stages = nullptr)
      : operator_writer(static_cast<graph&&>(g), s, stages), entries_(entries) {}

  /// Whether the walk came to its end. Otherwise it stopped at a segment that left what it carries elsewhere.
  constexpr bool closed() const { return closed_; }

  constexpr sharded_program run() {
    if (program_.graph.status.code != graph_code::ok) {
      program_.status.code = strategy_code::graph_is_refused;
      return static_cast<sharded_program&&>(program_);
    }
    if (status().code != strategy_code::ok) {
      program_.status = status();
      return static_cast<sharded_program&&>(program_);
    }
    if (!takes_stages()) {
      program_.status.code = strategy_code::stages_are_refused;
      return static_cast<sharded_program&&>(program_);
    }
    complete_ = detail::complete_gradients(program_.graph);
    const int operators = program_.graph.op.size;  // what the walk adds is not walked
    graph_phase phase = graph_phase::forward;
    for (int o = 0; o < operators && closed_ && status().code == strategy_code::ok; ++o) {
      const graph_operator& op = program_.graph.op.item[o];
      const bool enters = op.segment >= 0 && (o == 0 || program_.graph.op[o - 1].segment != op.segment ||
                                              program_.graph.op[o - 1].phase != op.phase);
      if (op.phase != phase && phase == graph_phase::forward)
        book_.enter_backward([&](int part, bool parameter) {
          return parameter ? !strategy_of(part).reshard_after_forward : strategy_of(part).keep_moved;
        });
      phase = phase_ = op.phase;
      segment_ = -1;
      if (enters && phase_ <= graph_phase::backward) enter_segment(o);
      segment_ = op.segment;
      if (stages_ != nullptr) enter_stage(stages_->cut.of_op[o]);
      walk(o);
      if (segment_ >= 0 && phase_ <= graph_phase::backward &&
          (o + 1 == operators || program_.graph.op[o + 1].segment != segment_ ||
           program_.graph.op[o + 1].phase != phase_))
        leave_segment();
    }
    finish_layouts(closed_);
    detail::bucket_gradients(program_, [&](int part) { return strategy_of(part).bucket_bytes; });
    return static_cast<sharded_program&&>(program_);
  }

 private:
  /// The tensor that a repetition takes over from the one before: forward the carried one, backward its gradient.
  constexpr int carried(bool entering) const {
    const graph_segment& s = program_.graph.segment[segment_in_];
    if (phase_ == graph_phase::forward) return entering ? s.carried_in : s.carried_out;
    return entering ? s.gradient_in : s.gradient_out;
  }
  constexpr layout_value& entry() {
    return phase_ == graph_phase::forward ? entries_[segment_in_].forward : entries_[segment_in_].backward;
  }
  /// Brings what is carried, once, to where each repetition leaves it for the next; there alone the period finds it.
  constexpr void enter_segment(int o) {
    segment_in_ = program_.graph.op[o].segment;
    const int tensor = carried(true), next = carried(false);
    if (tensor < 0 || next < 0) return;
    const int outside = book_.best(tensor), producer = program_.graph.tensor[next].producer;
    if (entry().rank < 0 && outside >= 0 && !is_partial(program_.value[outside].layout))
      entry() = program_.value[outside].layout;
    const graph_operator op = program_.graph.op[producer];
    for (int r = 0; r < op.result_count; ++r)
      if (op.result[r] == next && entry().rank < 0)
        entry() = layout_of(program_.graph.rule_of(op).result[r], placement(producer), mesh());
    book_.keep_only(tensor, ensure(tensor, entry()));
  }
  /// What a repetition leaves waits for nothing. Where it lies otherwise than was assumed, the walk ends here.
  constexpr void leave_segment() {
    const int tensor = carried(false), value = tensor < 0 ? -1 : book_.best(tensor);
    if (value < 0) return;
    ensure(tensor, entry());
    const layout_value left = program_.value[value].layout;
    int& corrected = entries_[segment_in_].corrected[phase_ == graph_phase::forward ? 0 : 1];
    if (is_partial(left) || left == entry() || corrected == most_corrections) return;
    ++corrected;
    closed_ = false;
    entry() = left;
  }

  growing_array<segment_entry>& entries_;
  static constexpr int most_corrections = 2;
  int segment_in_ = -1;
  bool closed_ = true;
};

namespace detail {

constexpr sharded_program partition_here(const graph& g, const strategy_value& s) {
  growing_array<segment_entry> entries(g.segment.size, segment_entry{});
  for (;;) {
    partitioner p(copy_with_room(g), s, entries);
    sharded_program program = p.run();
    if (p.closed()) return program;
  }
}
/// One walk is enough where no segment is folded.
constexpr sharded_program partition_here(graph&& g, const strategy_value& s) {
  if (g.segment.size > 0) return partition_here(g, s);
  growing_array<segment_entry> entries;
  return partitioner(static_cast<graph&&>(g), s, entries).run();
}
sharded_program partition_in_library(const graph& g, const strategy_value& s);

}  // namespace detail

/// The program of every device of the strategy's mesh. Its status has what was refused, and why.
constexpr sharded_program partition(const graph& g, const strategy_value& s) {
  HYPERPARALLEL_TWIN(detail::partition_in_library(g, s));
  return detail::partition_here(g, s);
}
/// The same of a graph that is not needed any more, which a constant evaluation need not copy.
constexpr sharded_program partition(graph&& g, const strategy_value& s) {
  HYPERPARALLEL_TWIN(detail::partition_in_library(g, s));
  return detail::partition_here(static_cast<graph&&>(g), s);
}

}}  // namespace hyperparallel::v0_2
