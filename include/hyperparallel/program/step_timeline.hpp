// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the clock of a step of training plays, step by step, and what a device holds meanwhile.
//
//   hp::step_timeline t = hp::timeline_of(program, form, priced, links);
//   t.span[0].start, t.gap[0].count, t.memory[0].bytes[…]
//
// Spans are the rounds that step_clock.hpp plays; a gap stands for the rounds behind them that take as long as the last.
// Memory is that of memory_account.hpp over the steps of the first micro-batch and of the update: each point stands where the
// queue for computing has come to, repetitions in gaps included. Where there is a pipeline the account knows no steps of
// one stage, so there are no points.
//
// Laws: spans and gaps of a queue stand in order and do not overlap; together they are as long as it is
// busy; the last end is the clock's total; points stand in order of time, and the largest sum is the
// account's peak. Units: picoseconds, bytes. O(what the clock and the account take).

#include <hyperparallel/program/plan_evaluation.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A step of the program in one round. Of a bucket of moves: the last of them.
struct timeline_span {
  int step = 0;
  bool link = false;  ///< in the queue for communication
  extent_t micro_batch = 0, repetition = 0;
  extent_t start = 0, end = 0;
  friend constexpr bool operator==(const timeline_span&, const timeline_span&) = default;
};

/// Rounds of one queue that take as long as the one before them.
struct timeline_gap {
  int step = -1;  ///< the first of the repeated block; -1: micro-batches
  bool link = false;
  extent_t micro_batch = 0, count = 0;
  extent_t start = 0, end = 0;
  constexpr extent_t each() const { return (end - start) / count; }
  friend constexpr bool operator==(const timeline_gap&, const timeline_gap&) = default;
};

/// What is alive from `time` on.
struct memory_point {
  int step = 0;
  extent_t time = 0;
  extent_t bytes[memory_class_count] = {};
  constexpr extent_t total() const {
    extent_t sum = 0;
    for (const extent_t b : bytes) sum += b;
    return sum;
  }
};

struct step_timeline {
  extent_t total = 0;  ///< of the clock: without what stages of a pipeline hand over
  growing_array<timeline_span> span;
  growing_array<timeline_gap> gap;
  growing_array<memory_point> memory;
  /// Of the memory: where the other micro-batches stand, which hold what the first one does; nothing where there is one.
  extent_t others_start = 0, others_end = 0;
};

namespace detail {

/// Notes spans and gaps.
struct timeline_watch {
  step_timeline& to;
  constexpr void ran(int step, const played_round& r, extent_t start, extent_t end, bool link) const {
    to.span.push({step, link, r.micro_batch, r.repetition, start, end});
  }
  constexpr void skipped(int step, extent_t micro_batch, const queue_clocks& before, const queue_clocks& after,
                         extent_t count) const {
    note(step, false, micro_batch, before.compute, after.compute, count);
    note(step, true, micro_batch, before.communication, after.communication, count);
  }

 private:
  constexpr void note(int step, bool link, extent_t micro_batch, extent_t before, extent_t after,
                      extent_t count) const {
    if (after > before) to.gap.push({step, link, micro_batch, count, after, after + (after - before) * count});
  }
};

/// When the queue for computing begins a step of the first micro-batch or of the update, in any repetition.
class compute_starts {
 public:
  static constexpr extent_t unknown = -1;

  constexpr compute_starts(const sharded_program& p, const storage_uses& used, const step_timeline& t) : uses(used) {
    span_of.resize(p.step.size * storage_uses::written_out, -1);
    gap_of.resize(used.blocks.size, -1);
    for (int k = 0; k < t.span.size; ++k)
      if (const timeline_span& s = t.span[k]; !s.link && is_told(p, s.step, s.micro_batch))
        span_of[s.step * storage_uses::written_out + static_cast<int>(s.repetition)] = k;
    for (int k = 0; k < t.gap.size; ++k)
      if (const timeline_gap& g = t.gap[k]; !g.link && g.step >= 0 && is_told(p, g.step, g.micro_batch))
        gap_of[used.block_of[g.step]] = k;
  }

  /// `unknown` of what is not in that queue.
  constexpr extent_t of(const step_timeline& t, int step, extent_t repetition) const {
    const int gap = gap_of[uses.block_of[step]];
    extent_t behind = 0;  // the last that is played
    int last = storage_uses::written_out - 1;
    while (last > 0 && span_of[step * storage_uses::written_out + last] < 0) --last;
    const int played = repetition < last ? static_cast<int>(repetition) : last;
    const int span = span_of[step * storage_uses::written_out + played];
    if (span < 0) return unknown;
    if (gap >= 0) behind = (repetition - played) * t.gap[gap].each();
    return t.span[span].start + behind;
  }

 private:
  static constexpr bool is_told(const sharded_program& p, int step, extent_t micro_batch) {
    return micro_batch == 0 || p.step[step].phase > graph_phase::accumulate;
  }

  const storage_uses& uses;
  growing_array<int> span_of;  ///< by step and repetition
  growing_array<int> gap_of;   ///< by block
};

constexpr void note_memory(const sharded_program& p, const priced_program& priced, step_timeline& t) {
  const storage_uses uses(p);
  const compute_starts starts(p, uses, t);
  extent_t reached = 0;
  const auto see = [&](int step, int order, const extent_t* alive, const extent_t* within) {
    const step_block& b = uses.blocks[uses.block_of[step]];
    const extent_t repeats = repeats_of(p.graph, b.segment);
    const extent_t repetition = order < b.repetitions / 2 ? order : repeats - b.repetitions + order;
    reached = larger(reached, starts.of(t, step, repetition));
    memory_point point{step, reached};
    for (int c = 0; c < memory_class_count; ++c) point.bytes[c] = alive[c] + within[c];
    t.memory.push(point);
  };
  memory_account_of<memory_class_count>(
      p, priced.moves(), uses, [&](int storage) { return static_cast<int>(uses.class_of(storage)); },
      static_cast<int>(memory_class::buffers), 1, see);
  bool others = false;
  for (const timeline_span& s : t.span) {
    const bool update = p.step[s.step].phase > graph_phase::accumulate;
    if (!others && !update && s.micro_batch == 1) {
      others = true;
      t.others_start = s.start;
    }
    if (others && update) {
      t.others_end = s.start;
      break;
    }
  }
  if (t.others_end < t.others_start) t.others_end = t.total;
}

}  // namespace detail

/// Precondition: the program and its hardware are not refused, and `prices` are of it.
constexpr step_timeline timeline_of(const sharded_program& p, const pipeline_form& form, const priced_program& priced,
                                    const interconnect& links) {
  step_timeline t;
  t.total = detail::two_queues(p, priced, form, links).run(detail::timeline_watch{t}).total.picoseconds;
  if (form.degree == 1) detail::note_memory(p, priced, t);
  return t;
}

}}  // namespace hyperparallel::v0_2
