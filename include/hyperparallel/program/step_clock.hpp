// SPDX-License-Identifier: Apache-2.0
#pragma once
// The clock of a step of training: what accounts print, and what strategy search compares.
//
// A device has a queue for compute and one for communication, each in program order; a step waits for the values that
// it reads, so moves overlap whatever does not need them. Moves of one bucket pay the greatest latency once and start
// with the last of them. What a move rearranges on its own device is a copy in the compute queue.
//
// Repetitions of a segment and micro-batches: the first ones are played, the others take as long as the last of these,
// queue by queue. In a pipeline every step takes its share of one stage, rounded up, and the stage plays as many
// micro-batches more as it takes to fill and drain it; what stages hand over is not in it.
//
// `Prices` tells what each step costs by itself: of_compute(c) of a compute step; of a move, whether it `travels`,
// of_move(m), and load_of(m) where it does. Laws: both queues' busy times are exact sums; total ≥ either;
// something is always running, so exposed communication = total − busy compute. O(steps · repetitions played).

#include <hyperparallel/program/move_loads.hpp>
#include <hyperparallel/program/pipeline_form.hpp>
#include <hyperparallel/program/step_times.hpp>
#include <hyperparallel/strategy/value_lists.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// How far both queues are.
struct queue_clocks {
  extent_t compute = 0, communication = 0;
  constexpr extent_t later() const { return larger(compute, communication); }
};

/// A round of steps that the clock plays: a repetition of a segment, in the order of play, of a micro-batch.
struct played_round {
  extent_t micro_batch = 0, repetition = 0;
};

/// Sees what the clock plays: `ran` each step but those that a later one of their bucket carries; `skipped` rounds like the
/// one from `before` to `after`, which are not played: repetitions of the block that begins with `step`, micro-batches
/// where that is -1. This one ignores it.
struct unwatched {
  constexpr void ran(int, const played_round&, extent_t, extent_t, bool) const {}
  constexpr void skipped(int, extent_t, const queue_clocks&, const queue_clocks&, extent_t) const {}
};

template <class Prices>
class two_queues {
 public:
  constexpr two_queues(const sharded_program& program, const Prices& of_steps, const pipeline_form& stages,
                       const interconnect& net)
      : p(program), prices(of_steps), form(stages), links(net), values(program) {
    ready.resize(p.value.size, 0);
    travelled.resize(p.value.size, false);
    taken.resize(p.step.size, 0);
    for (const graph_segment& s : p.graph.segment)
      for (int v = 0; v < p.value.size; ++v) {
        const int t = values.tensor.item[v];
        if (t == s.carried_in || t == s.carried_out || t == s.gradient_in || t == s.gradient_out) handed_on.push(v);
      }
    find_bucket_ends();
    find_durations();
  }

  growing_array<extent_t> taken;  ///< by the block that begins with each step, in the last micro-batch played

  template <class Watch = unwatched>
  constexpr step_times run(Watch&& watch = {}) {
    int update = 0;
    while (update < p.step.size && p.step.item[update].phase <= graph_phase::accumulate) ++update;
    const extent_t micro_batches = form.rounds(graph_phase::forward);
    int played = 0;
    queue_clocks before{}, after{};
    for (; played < micro_batches && played < micro_batches_played; ++played) {
      before = now;
      play(0, update, played, watch);
      after = now;
    }
    if (played < micro_batches) watch.skipped(-1, played - 1, before, after, micro_batches - played);
    skip(before, after, micro_batches - played);
    play(update, p.step.size, played - 1, watch);
    extent_t total = now.later();
    total = larger(total, larger(times.compute_busy, times.communication_busy));
    if (times.total.ok()) times.total.picoseconds = total;
    times.exposed = total - times.compute_busy;
    return times;
  }

 private:
  static constexpr int repetitions_played = 4;
  static constexpr int micro_batches_played = 2;

  /// The last move of each bucket in program order carries all of it.
  constexpr void find_bucket_ends() {
    growing_array<int> last;
    of_link.resize(p.step.size, false);
    bucket_end.resize(p.step.size, -1);
    next_in_bucket.resize(p.step.size, -1);
    first_in_bucket.resize(p.step.size, -1);
    for (int i = p.step.size - 1; i >= 0; --i) {
      if (!p.step.item[i].is_move || !prices.travels(p.step.item[i].index)) continue;
      of_link.item[i] = true;
      bucket_end.item[i] = i;
      const int bucket = p.move.item[p.step.item[i].index].bucket;
      if (bucket < 0) continue;
      if (bucket >= last.size) last.resize(bucket + 1, -1);
      if (last.item[bucket] < 0) last.item[bucket] = i;
      const int end = last.item[bucket];
      bucket_end.item[i] = end;
      next_in_bucket.item[i] = first_in_bucket.item[end];
      first_in_bucket.item[end] = i;
    }
  }

  constexpr extent_t element_bytes(int move) const {
    return bytes_of(p.graph.tensor.item[p.value.item[p.move.item[move].source].tensor].type);
  }

  /// A bucket is told by its last move, the others take nothing.
  constexpr priced_step price_of(int i, growing_array<move_load>& carried, growing_array<int>& carried_by) const {
    const int index = p.step.item[i].index;
    if (!p.step.item[i].is_move) return prices.of_compute(index);
    if (!of_link.item[i]) return {prices.of_move(index)};
    const int end = bucket_end.item[i];
    if (end == i && carried_by[end] < 0) return {prices.of_move(index)};
    if (carried_by[end] < 0) carried_by[end] = carried.push(move_load());
    move_load& bucket = carried[carried_by[end]];
    add_to_bucket(bucket, prices.load_of(index), element_bytes(index));
    return {end == i ? time_of(bucket, 1, links) : time_cost{}};
  }

  constexpr void find_durations() {
    duration.resize(p.step.size, 0);
    growing_array<move_load> carried;  // bytes of each bucket
    growing_array<int> carried_by;     // the bucket that ends with a step
    carried_by.resize(p.step.size, -1);
    for (int i = 0; i < p.step.size; ++i) {
      const program_step& s = p.step.item[i];
      const priced_step price = price_of(i, carried, carried_by);
      times.total = then(times.total, {price.time.code, 0});
      duration.item[i] = form.held(s.segment).at_least(price.time.picoseconds);
      const extent_t busy = duration.item[i] * repeats_of(p.graph, s.segment) * form.rounds(s.phase);
      if (of_link.item[i]) {
        times.communication_busy += busy;
      } else {
        times.compute_busy += busy;
        times.by_unit[static_cast<int>(price.unit)] += busy;
      }
    }
  }

  /// Steps of the same number run at the same time.
  static constexpr void add_to_bucket(move_load& all, const move_load& one, extent_t bytes) {
    if (one.code != cost_code::ok) all.code = one.code;
    if (all.step.size < one.step.size) all.step.resize(one.step.size);
    for (int k = 0; k < one.step.size; ++k)
      for (int l = 0; l < max_link_levels; ++l) {
        level_load& sum = all.step[k].level[l];
        const level_load& part = one.step[k].level[l];
        sum.elements += part.elements * bytes;
        sum.sent += part.sent * bytes;
        sum.messages = larger(sum.messages, part.messages);
      }
  }

  /// Plays steps [begin, end), the repetitions of their segments included.
  template <class Watch>
  constexpr void play(int begin, int end, extent_t micro_batch, Watch& watch) {
    for (int i = begin; i < end;) {
      int stop = i + 1;
      while (stop < end && p.step.item[stop].segment == p.step.item[i].segment &&
             p.step.item[stop].phase == p.step.item[i].phase)
        ++stop;
      const int segment = p.step.item[i].segment;
      const extent_t repeats = repeats_of(p.graph, segment);
      queue_clocks before{};
      const extent_t began = now.later();
      extent_t played = 0;
      for (; played < repeats && played < repetitions_played; ++played) {
        before = now;
        if (played > 0) carry(segment, p.step.item[i].phase);
        for (int s = i; s < stop; ++s) run_step(s, {micro_batch, played}, watch);
      }
      if (played < repeats) watch.skipped(i, micro_batch, before, now, repeats - played);
      skip(before, now, repeats - played);
      taken.item[i] = now.later() - began;
      i = stop;
    }
  }

  /// The next repetition reads what the last one made.
  constexpr void carry(int segment, graph_phase phase) {
    const graph_segment& s = p.graph.segment.item[segment];
    const bool forward = phase == graph_phase::forward;
    if (!forward && phase != graph_phase::backward) return;
    const int in = forward ? s.carried_in : s.gradient_in, out = forward ? s.carried_out : s.gradient_out;
    extent_t made = 0;
    for (const int v : handed_on)
      if (p.value.item[v].tensor == out) made = larger(made, ready.item[v]);
    for (const int v : handed_on)
      if (p.value.item[v].tensor == in) ready.item[v] = larger(ready.item[v], made);
  }

  /// `count` more rounds like the one that took from `before` to `after`.
  constexpr void skip(const queue_clocks& before, const queue_clocks& after, extent_t count) {
    if (count <= 0) return;
    const extent_t compute = (after.compute - before.compute) * count;
    const extent_t communication = (after.communication - before.communication) * count;
    for (int v = 0; v < p.value.size; ++v) {
      const bool link = travelled.item[v];
      if (ready.item[v] > (link ? before.communication : before.compute))
        ready.item[v] += link ? communication : compute;
    }
    now.compute += compute;
    now.communication += communication;
  }

  template <class Watch>
  constexpr void run_step(int i, const played_round& round, Watch& watch) {
    const bool link = of_link.item[i];
    if (link && bucket_end.item[i] != i) return;
    const int begin = values.begin.item[i], written = values.written.item[i], end = values.begin.item[i + 1];
    extent_t start = link ? now.communication : now.compute;
    for (int k = begin; k < written; ++k)
      if (const extent_t time = ready.item[values.value.item[k]]; time > start) start = time;
    for (int k = first_in_bucket.item[i]; k >= 0; k = next_in_bucket.item[k])
      if (const extent_t time = ready.item[read_by(k)]; time > start) start = time;
    const extent_t finish = start + duration.item[i];
    (link ? now.communication : now.compute) = finish;
    watch.ran(i, round, start, finish, link);
    for (int k = written; k < end; ++k) arrive(values.value.item[k], finish, link);
    for (int k = first_in_bucket.item[i]; k >= 0; k = next_in_bucket.item[k])
      arrive(values.value.item[values.written.item[k]], finish, link);
  }
  /// Of a move.
  constexpr int read_by(int i) const { return values.value.item[values.begin.item[i]]; }
  constexpr void arrive(int v, extent_t time, bool link) {
    ready.item[v] = time;
    travelled.item[v] = link;
  }

  const sharded_program& p;
  const Prices& prices;
  const pipeline_form form;
  const interconnect& links;
  const value_lists values;
  growing_array<bool> of_link;    ///< moves over links
  growing_array<int> bucket_end;  ///< of these: the step that carries them
  growing_array<int> first_in_bucket, next_in_bucket;
  growing_array<extent_t> duration;  ///< of each step
  growing_array<extent_t> ready;     ///< when each value is there
  growing_array<int> handed_on;      ///< values that one repetition hands to another
  growing_array<bool> travelled;     ///< which queue brought it
  queue_clocks now{};
  step_times times{};
};

}}}  // namespace hyperparallel::v0_2::detail
