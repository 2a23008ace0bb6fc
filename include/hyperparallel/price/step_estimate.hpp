// SPDX-License-Identifier: Apache-2.0
#pragma once
// The estimate of a step of training: what accounts of folded programs print, and what strategy search compares.
//
// A device has a queue for compute and one for moves, each in program order. A step waits for the values that it reads and
// for all who used the storages that it writes, so moves overlap whatever does not need them. Of moves in one bucket only
// the first pays latency (program_prices.hpp). What a move rearranges on its own device is a copy in the queue of moves.
//
// Repetitions of a segment and micro-batches: the first ones are played, the others take as long as the last of these,
// queue by queue. In a pipeline every step takes its share of one stage, rounded up, and the stage plays as many
// micro-batches more as it takes to fill and drain it; what stages hand over is not in it.
//
// `Prices` has, of each step by itself: `of_compute(c)`, the time of a compute step; `travels(m)`, whether a move uses a link;
// `of_move(m)`, its time; `load_of(m)`, its load on the links that it uses. Laws: of a program that repeats nothing, with one micro-batch, it is the clock
// of its plan (clock.hpp) where no two storages share an address, and no more than the clock where some do; both queues'
// busy times are exact sums; total ≥ either; exposed communication = total − busy compute. Units: picoseconds.
// O(steps · repetitions played).

#include <hyperparallel/price/pipeline_form.hpp>
#include <hyperparallel/price/program_prices.hpp>
#include <hyperparallel/strategy/value_lists.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Picoseconds, 26 days: a step whose tasks one by one take as long has no time but the code `overflow`. What waits and
/// hand-overs of a pipeline add stays within 64 bits.
inline constexpr double most_step_time = 2305843009213693952.0;

namespace detail {

/// How far both queues are.
struct queue_clocks {
  extent_t compute = 0, communication = 0;
  constexpr extent_t later() const { return larger(compute, communication); }
  constexpr extent_t of(bool move) const { return move ? communication : compute; }
};

/// When something is over, and in which queue.
struct queue_time {
  extent_t time = 0;
  bool move = false;
};

/// A round of steps that the clock plays: a repetition of a segment, in the order of play, of a micro-batch.
struct played_round {
  extent_t micro_batch = 0, repetition = 0;
};

/// Sees what is played: `ran` each step; `skipped` rounds like the one from `before` to `after`, which are not played:
/// repetitions of the block that begins with `step`, micro-batches where that is -1. This one ignores it.
struct unwatched {
  constexpr void ran(int, const played_round&, extent_t, extent_t, bool) const {}
  constexpr void skipped(int, extent_t, const queue_clocks&, const queue_clocks&, extent_t) const {}
};

template <class Prices>
class step_estimator {
 public:
  constexpr step_estimator(const sharded_program& program, const Prices& of_steps, const pipeline_form& stages,
                           const interconnect& net)
      : p(program), prices(of_steps), form(stages), links(net), values(program) {
    ready.resize(p.value.size);
    used.resize(p.storage.size);
    taken.resize(p.step.size, 0);
    for (const graph_segment& s : p.graph.segment)
      for (int v = 0; v < p.value.size; ++v) {
        const int t = values.tensor.item[v];
        if (t == s.carried_in || t == s.carried_out || t == s.gradient_in || t == s.gradient_out) handed_on.push(v);
      }
    find_durations();
  }

  growing_array<extent_t> taken;  ///< by the block that begins with each step, in the last micro-batch played

  template <class Watch = unwatched>
  constexpr step_times run(Watch&& watch = {}) {
    if (is_too_long) return times;
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

  constexpr void find_durations() {
    duration.resize(p.step.size, 0);
    bucket_prices buckets(p, prices, links);
    double one_by_one = 0;
    for (int i = 0; i < p.step.size; ++i) {
      const program_step& s = p.step.item[i];
      const priced_step price = s.is_move ? priced_step{buckets.of_next(s.index)} : prices.of_compute(s.index);
      times.total = then(times.total, {price.time.code, 0});
      duration.item[i] = form.held(s.segment).at_least(price.time.picoseconds);
      one_by_one += static_cast<double>(duration.item[i]) * static_cast<double>(repeats_of(p.graph, s.segment)) *
                    static_cast<double>(form.rounds(s.phase));
      if (times.total.ok() && one_by_one >= most_step_time) {
        times = {};
        times.total = {cost_code::overflow, longest_time};
        is_too_long = true;
        return;
      }
      const extent_t busy = duration.item[i] * repeats_of(p.graph, s.segment) * form.rounds(s.phase);
      if (s.is_move) {
        times.communication_busy += busy;
      } else {
        times.compute_busy += busy;
        times.by_unit[static_cast<int>(price.unit)] += busy;
      }
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

  /// The next repetition reads what the last one made, and has storages of its own.
  constexpr void carry(int segment, graph_phase phase) {
    const graph_segment& s = p.graph.segment.item[segment];
    for (int k = 0; k < p.storage.size; ++k)
      if (p.graph.tensor.item[p.storage.item[k].tensor].segment == segment) used.item[k] = {};
    const bool forward = phase == graph_phase::forward;
    if (!forward && phase != graph_phase::backward) return;
    const int in = forward ? s.carried_in : s.gradient_in, out = forward ? s.carried_out : s.gradient_out;
    extent_t made = 0;
    for (const int v : handed_on)
      if (p.value.item[v].tensor == out) made = larger(made, ready.item[v].time);
    for (const int v : handed_on)
      if (p.value.item[v].tensor == in) ready.item[v].time = larger(ready.item[v].time, made);
  }

  /// `count` more rounds like the one that took from `before` to `after`.
  constexpr void skip(const queue_clocks& before, const queue_clocks& after, extent_t count) {
    if (count <= 0) return;
    const queue_clocks more{(after.compute - before.compute) * count,
                            (after.communication - before.communication) * count};
    for (growing_array<queue_time>* all : {&ready, &used})
      for (queue_time& one : *all)
        if (one.time > before.of(one.move)) one.time += more.of(one.move);
    now.compute += more.compute;
    now.communication += more.communication;
  }

  template <class Watch>
  constexpr void run_step(int i, const played_round& round, Watch& watch) {
    const bool move = p.step.item[i].is_move;
    const int begin = values.begin.item[i], written = values.written.item[i], end = values.begin.item[i + 1];
    extent_t start = now.of(move);
    for (int k = begin; k < written; ++k)
      if (const extent_t time = ready.item[values.value.item[k]].time; time > start) start = time;
    for (int k = written; k < end; ++k)
      if (const extent_t time = used.item[values.storage.item[values.value.item[k]]].time; time > start) start = time;
    const extent_t finish = start + duration.item[i];
    (move ? now.communication : now.compute) = finish;
    watch.ran(i, round, start, finish, move);
    for (int k = begin; k < end; ++k) {
      queue_time& last = used.item[values.storage.item[values.value.item[k]]];
      if (finish >= last.time) last = {finish, move};
    }
    for (int k = written; k < end; ++k) ready.item[values.value.item[k]] = {finish, move};
  }

  const sharded_program& p;
  const Prices& prices;
  const pipeline_form form;
  const interconnect& links;
  const value_lists values;
  growing_array<extent_t> duration;  ///< of each step
  growing_array<queue_time> ready;   ///< of each value: it is there
  growing_array<queue_time> used;    ///< of each storage: all its uses are over
  growing_array<int> handed_on;      ///< values that one repetition hands to another
  queue_clocks now{};
  step_times times{};
  bool is_too_long = false;
};

}  // namespace detail

/// The estimate with the prices of each step; `watch` sees what is played, see detail::unwatched.
template <class Prices, class Watch = detail::unwatched>
constexpr step_times estimate_step(const sharded_program& p, const Prices& prices, const pipeline_form& stages,
                                   const interconnect& net, Watch&& watch = {}) {
  return detail::step_estimator(p, prices, stages, net).run(watch);
}

/// Times of a step of training. `load` is of the kinds of moves on `net`; `d` a device that `check`
/// accepts. `block_duration` becomes what each block of steps (storage_uses.hpp) takes with all of its repetitions in
/// one micro-batch: by how much it moves the end of what is done, so that with one micro-batch they add up to the step.
constexpr step_times estimate_step(const sharded_program& p, const program_moves& moves,
                                   const growing_array<move_load>& load, const device_value& d, const interconnect& net,
                                   growing_array<extent_t>& block_duration) {
  const detail::program_prices prices{p, moves, load, d, net};
  detail::step_estimator queues(p, prices, pipeline_form(p.graph, 1), net);
  const step_times times = queues.run();
  block_duration.clear();
  for (int i = 0; i < p.step.size; ++i)
    if (i == 0 || p.step.item[i].segment != p.step.item[i - 1].segment ||
        p.step.item[i].phase != p.step.item[i - 1].phase)
      block_duration.push(queues.taken[i]);
  return times;
}
constexpr step_times estimate_step(const sharded_program& p, const program_moves& moves,
                                   const growing_array<move_load>& load, const device_value& d,
                                   const interconnect& net) {
  const detail::program_prices prices{p, moves, load, d, net};
  return estimate_step(p, prices, pipeline_form(p.graph, 1), net);
}

}}  // namespace hyperparallel::v0_2
