// SPDX-License-Identifier: Apache-2.0
#pragma once
// The timeline of a step of training as it is estimated, step by step, and what a device holds meanwhile.
//
//   hp::step_timeline t = hp::timeline_of(program, form, priced, links);
//   t.span[0].start, t.gap[0].count, t.memory[0].bytes[…]
//
// Spans are the rounds that step_estimate.hpp plays, and of repeated layers those that take as long as the last of these, up to
// `timeline_repetitions`; a gap stands for what follows them likewise: micro-batches, further layers.
// Memory is that of memory_account.hpp over the steps of the first micro-batch and of the update: each point stands where the
// queue for computing has come to. Where there is a pipeline the account knows no steps of one stage, so there are no points;
// stage_memory.hpp has what its stages hold.
//
// Laws: spans and gaps of a queue stand in order and do not overlap; together they are as long as it is
// busy; the last end is the total of the estimate; points stand in order of time, and the largest sum is the
// account's peak. Units: picoseconds, bytes. O(what the estimate and the account take).

#include <hyperparallel/price/plan_evaluation.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/taskflow/task.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Of a segment, at most.
inline constexpr extent_t timeline_repetitions = 128;

}  // namespace detail

/// A step of the program in one round.
struct timeline_span {
  int step = 0;
  resource queue = resource::aic;
  extent_t micro_batch = 0, repetition = 0;
  extent_t start = 0, end = 0;
  friend constexpr bool operator==(const timeline_span&, const timeline_span&) = default;
};

/// Rounds of one queue that take as long as the one before them and have no spans.
struct timeline_gap {
  int step = -1;  ///< the first of the repeated block; -1: micro-batches
  resource queue = resource::aic;
  extent_t micro_batch = 0, count = 0;
  extent_t start = 0, end = 0;
  constexpr extent_t each() const { return (end - start) / count; }
  friend constexpr bool operator==(const timeline_gap&, const timeline_gap&) = default;
};

/// What is alive from `time` on.
struct memory_point {
  int step = 0;
  extent_t time = 0;
  bool evenly = false;  ///< between here and the next point lie layers that are alike, from one to the next by as much
  extent_t bytes[memory_class_count] = {};
  constexpr extent_t total() const {
    extent_t sum = 0;
    for (const extent_t b : bytes) sum += b;
    return sum;
  }
};

struct step_timeline {
  extent_t total = 0;  ///< without what stages of a pipeline hand over
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
    to.span.push({step, link ? resource::link : resource::aic, r.micro_batch, r.repetition, start, end});
  }
  constexpr void skipped(int step, extent_t micro_batch, const queue_clocks& before, const queue_clocks& after,
                         extent_t count) const {
    const extent_t compute = after.compute - before.compute, carried = after.communication - before.communication;
    extent_t written = 0;
    if (step >= 0) {
      const extent_t played = to.span.last().repetition + 1;
      written = larger(0, smaller(count, timeline_repetitions - played));
      int first = to.span.size;
      while (first > 0 && to.span[first - 1].repetition == played - 1 && to.span[first - 1].step >= step) --first;
      for (extent_t k = 1, last = to.span.size; k <= written; ++k)
        for (int i = first; i < last; ++i) {
          timeline_span s = to.span[i];
          const extent_t each = s.queue == resource::link ? carried : compute;
          s.repetition += k;
          s.start += k * each;
          s.end += k * each;
          to.span.push(s);
        }
    }
    if (written == count) return;
    note({step, resource::aic, micro_batch, count - written, after.compute + written * compute}, compute);
    note({step, resource::link, micro_batch, count - written, after.communication + written * carried}, carried);
  }

 private:
  constexpr void note(timeline_gap g, extent_t each) const {
    g.end = g.start + g.count * each;
    if (each > 0) to.gap.push(g);
  }
};

/// Where the queue for computing has come to when a step of the first micro-batch or of the update begins, in any
/// repetition.
class compute_places {
 public:
  static constexpr extent_t unknown = -1;

  constexpr compute_places(const sharded_program& p, const storage_uses& used, const step_timeline& of)
      : uses(used), t(of) {
    first.resize(p.step.size, -1);
    second.resize(p.step.size, -1);
    before.resize(p.step.size, -1);
    gap_of.resize(used.blocks.size, -1);
    for (int k = 0; k < t.span.size; ++k)
      if (const timeline_span& s = t.span[k];
          s.queue == resource::aic && s.repetition < 2 && is_told(p, s.step, s.micro_batch))
        (s.repetition == 0 ? first : second)[s.step] = k;
    for (int k = 0; k < t.gap.size; ++k)
      if (const timeline_gap& g = t.gap[k];
          g.queue == resource::aic && g.step >= 0 && is_told(p, g.step, g.micro_batch))
        gap_of[used.block_of[g.step]] = k;
    for (const step_block& b : used.blocks) {
      int last = -1;
      for (int i = b.begin; i < b.end; ++i) {
        before[i] = last;
        if (first[i] >= 0) last = i;
      }
      last_of.push(last);
    }
  }

  /// `unknown` where nothing was computed before in its block.
  constexpr extent_t operator()(int step, extent_t repetition) const {
    if (first[step] >= 0) return span_of(step, repetition).start;
    if (before[step] >= 0) return span_of(before[step], repetition).end;
    const int last = last_of[uses.block_of[step]];
    return last >= 0 && repetition > 0 ? span_of(last, repetition - 1).end : unknown;
  }

 private:
  static constexpr bool is_told(const sharded_program& p, int step, extent_t micro_batch) {
    return micro_batch == 0 || p.step[step].phase > graph_phase::accumulate;
  }

  constexpr timeline_span span_of(int step, extent_t repetition) const {
    const extent_t written = smaller(repetition, timeline_repetitions - 1);
    const int gap = gap_of[uses.block_of[step]];
    const extent_t behind = gap < 0 ? 0 : (repetition - written) * t.gap[gap].each();
    timeline_span s = t.span[first[step] + static_cast<int>(written) * (second[step] - first[step])];
    s.start += behind;
    s.end += behind;
    return s;
  }

  const storage_uses& uses;
  const step_timeline& t;
  growing_array<int> first, second;  ///< spans of each step's first two repetitions; all have as many spans
  growing_array<int> before;         ///< the step of the same block that is computed before it, -1
  growing_array<int> last_of;        ///< by block: the last one that is computed
  growing_array<int> gap_of;         ///< by block
};

constexpr void note_memory(const sharded_program& p, const priced_program& priced, step_timeline& t) {
  const storage_uses uses(p);
  const compute_places place(p, uses, t);
  extent_t reached = 0;
  int before = -1;  // the last point's repetition
  const auto see = [&](int step, int order, const extent_t* alive, const extent_t* within) {
    const step_block& b = uses.blocks[uses.block_of[step]];
    const extent_t repeats = repeats_of(p.graph, b.segment);
    const extent_t repetition = order < b.repetitions / 2 ? order : repeats - b.repetitions + order;
    reached = larger(reached, place(step, repetition));
    if (step == b.begin && order == before + 2) t.memory.last().evenly = true;  // the middle one stands between them
    before = order;
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

step_timeline timeline_of_in_library(const sharded_program& p, const pipeline_form& form, const priced_program& priced,
                                     const interconnect& links);
constexpr step_timeline timeline_of_here(const sharded_program& p, const pipeline_form& form,
                                         const priced_program& priced, const interconnect& links) {
  step_timeline t;
  t.total = estimate_step(p, priced, form, links, detail::timeline_watch{t}).total.picoseconds;
  if (form.degree == 1) detail::note_memory(p, priced, t);
  return t;
}

}  // namespace detail

/// Precondition: the program and its hardware are not refused, and `prices` are of it.
constexpr step_timeline timeline_of(const sharded_program& p, const pipeline_form& form, const priced_program& priced,
                                    const interconnect& links) {
  HYPERPARALLEL_TWIN(detail::timeline_of_in_library(p, form, priced, links));
  return detail::timeline_of_here(p, form, priced, links);
}

}}  // namespace hyperparallel::v0_2
