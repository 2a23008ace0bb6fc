// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a device of each stage of a pipeline holds over a step of training, by kind.
//
//   const hp::stage_memory_lines lines(program, form, evaluation, timeline);
//   lines.of(0).point[k].bytes[…], lines.peak(0) == evaluation.memory
//
// The schedule is the one that pipeline_form.hpp counts: 1F1B, as `generate<one_forward_one_backward>` writes it and replay.hpp
// plays it. A forward and a backward take their parts of the round that the stage's clock plays, and what they hand over; embedding
// and head take their time on the first and the last stage (stage_balance.hpp). What stages hold is that of the account
// (pipeline_form.hpp): each has the layers of the fullest, and an equal part of what is in no layer. Homes are there all the time. A forward adds what it keeps of its micro-batch evenly, a backward ends it likewise. What the
// account's peak needs above homes and kept activations is `passing`: it is there while the stage computes.
// Of very many micro-batches those in the middle, which all do the same, are left out.
//
// Laws: points stand in order of time; the last end is the evaluation's time; the most that stage s holds is `peak(s)`, that of
// the first stage the evaluation's memory; stage s never holds activations of more than form.in_flight(s) micro-batches.
// Units: picoseconds, bytes. O(storages · stages + stages²).

#include <hyperparallel/pipeline/replay.hpp>
#include <hyperparallel/pipeline/schedules/one_forward_one_backward.hpp>
#include <hyperparallel/planner/step_timeline.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What a stage does from a point on.
enum class stage_doing : unsigned char { waits, forward, backward, updates };

struct stage_memory_point {
  extent_t time = 0;
  stage_doing doing = stage_doing::waits;
  extent_t micro_batch = 0;            ///< that it does it with
  extent_t oldest = 0, in_flight = 0;  ///< the first micro-batch whose activations are there, and how many have some
  bool evenly = false;                 ///< from here to the next point it goes evenly
  extent_t bytes[memory_class_count] = {};
  extent_t passing = 0;
  constexpr extent_t total() const {
    extent_t sum = passing;
    for (const extent_t b : bytes) sum += b;
    return sum;
  }
};

/// Of one stage. From `left_out_start` to `left_out_end` stand `left_out` micro-batches that have no points.
struct stage_memory_line {
  growing_array<stage_memory_point> point{};
  extent_t left_out = 0, left_out_start = 0, left_out_end = 0;
};

class stage_memory_lines {
 public:
  /// Micro-batches that have points: 2 · stages, and so many more.
  static constexpr extent_t further_micro_batches = 32;

  /// Precondition: the form has several stages, and `e` and `t` are the program's, which is not refused.
  constexpr stage_memory_lines(const sharded_program& p, const pipeline_form& stages, const plan_evaluation& e,
                               const step_timeline& t, extent_t further = further_micro_batches)
      : form(stages), played(smaller(stages.micro_batches, 2 * extent_t{stages.degree} + further)), end(e.time) {
    hold(p, e.memory);
    divide_time(p, t, e.hops);
    const int ranks = form.degree;
    pipeline_costs costs;
    for (int stage = 0; stage < ranks; ++stage) {
      const outer_pass own = e.balance.of(stage, ranks), shared = e.balance.shared(ranks);
      pass.push({larger(forward + own.forward - shared.forward, extent_t{1}),
                 larger(backward + own.backward - shared.backward, extent_t{1})});
      longest = larger(longest, pass.last().round());
      costs.times.push({.forward = pass.last().forward, .input_gradient = pass.last().backward, .weight_gradient = 0});
    }
    const pipeline_shape shape{.ranks = ranks, .micro_batches = static_cast<int>(played)};
    if (!check_shape_of<one_forward_one_backward>(shape).ok()) return;
    schedule = generate<one_forward_one_backward>(shape);
    const pipeline_account a = replay(schedule, costs, {}, &starts);
    if (a.ok()) makespan = a.makespan;
  }

  /// Whether there are lines: their times stay within 64 bits, and the schedule is no larger than a schedule may be.
  constexpr bool ok() const { return makespan > 0; }

  /// The most that a device of the stage holds.
  constexpr extent_t peak(int stage) const {
    extent_t sum = passing;
    for (const extent_t b : held[static_cast<int>(form.in_flight(stage))].bytes) sum += b;
    return sum;
  }

  /// Precondition: ok(). O(micro-batches that have points).
  constexpr stage_memory_line of(int stage) const {
    stage_memory_line line;
    line.left_out = form.micro_batches - played;
    const extent_t cut = played - form.degree;  // the backward of this micro-batch is behind those that are left out
    extent_t reached = 0, later = 0, skipped = 0;
    stage_memory_point now;
    for (int at = schedule.first[stage]; at < schedule.first[stage + 1]; ++at) {
      const pipeline_action a = schedule.coding().action(schedule.action[at]);
      const bool is_forward = a.kind == action_kind::forward;
      if (starts[at] + later > reached) add(line, now, stage_doing::waits, reached, now.in_flight, false);
      if (line.left_out > 0 && !is_forward && a.micro_batch == cut) {
        skipped = line.left_out;
        later = skipped * longest;
        line.left_out_start = starts[at];
        line.left_out_end = line.left_out_start + later;
        now.oldest += skipped;
      }
      const extent_t start = starts[at] + later;
      now.micro_batch = a.micro_batch + skipped;
      const extent_t before = now.in_flight, after = before + (is_forward ? 1 : -1);
      now.in_flight = larger(before, after);
      const stage_doing doing = is_forward ? stage_doing::forward : stage_doing::backward;
      reached = start + (is_forward ? pass[stage].forward : pass[stage].backward);
      add(line, now, doing, start, before, true);
      add(line, now, doing, reached, after, false);
      now.in_flight = after;
      if (!is_forward) ++now.oldest;
    }
    const extent_t updated = makespan + line.left_out * longest;
    if (updated > reached) add(line, now, stage_doing::waits, reached, 0, false);
    now.micro_batch = 0;
    add(line, now, stage_doing::updates, updated, 0, true);
    add(line, now, stage_doing::updates, end, 0, false);
    return line;
  }

 private:
  struct by_class {
    extent_t bytes[memory_class_count] = {};
  };

  constexpr void hold(const sharded_program& p, extent_t peak_of_first) {
    const storage_uses uses(p);
    for (extent_t k = 0; k <= form.in_flight(); ++k) {
      by_class of;
      visit_kept_memory(p, form, k, [&](int storage, int, extent_t bytes) {
        of.bytes[static_cast<int>(uses.class_of(storage))] += bytes;
      });
      held.push(of);
    }
    passing = peak_of_first;
    for (const extent_t b : held.last().bytes) passing -= b;
  }

  /// Forward and backward take what they compute for of the round, the rest of a picosecond belongs to the update.
  constexpr void divide_time(const sharded_program& p, const step_timeline& t, extent_t hops) {
    extent_t rounds_end = 0, computed[2] = {};
    for (const timeline_span& s : t.span)
      see(p.step[s.step].phase, s.queue == resource::link, s.micro_batch, s.start, s.end, rounds_end, computed);
    for (const timeline_gap& g : t.gap)
      see(g.step < 0 ? graph_phase::accumulate : p.step[g.step].phase, g.queue == resource::link || g.step < 0,
          g.micro_batch, g.start, g.end, rounds_end, computed);
    const extent_t rounds = form.rounds(graph_phase::forward), each = rounds_end / rounds, hop = hops / (2 * rounds);
    forward = stage_share{computed[0], larger(computed[0] + computed[1], 1)}.of(each) + hop;
    backward = each + 2 * hop - forward;
  }
  static constexpr void see(graph_phase phase, bool link, extent_t micro_batch, extent_t start, extent_t stop,
                            extent_t& rounds_end, extent_t* computed) {
    if (phase > graph_phase::accumulate) return;
    rounds_end = larger(rounds_end, stop);
    if (!link && micro_batch == 0) computed[phase == graph_phase::forward ? 0 : 1] += stop - start;
  }

  constexpr void add(stage_memory_line& line, stage_memory_point what, stage_doing doing, extent_t time,
                     extent_t micro_batches, bool evenly) const {
    what.doing = doing;
    what.time = time;
    what.evenly = evenly;
    for (int c = 0; c < memory_class_count; ++c) what.bytes[c] = held[static_cast<int>(micro_batches)].bytes[c];
    what.passing = doing == stage_doing::waits ? 0 : passing;
    line.point.push(what);
  }

  pipeline_form form;
  extent_t played, end;
  growing_array<by_class> held;  ///< by the micro-batches whose activations are there
  extent_t passing = 0;
  extent_t forward = 0, backward = 0;  ///< of a micro-batch on a stage that has an equal share of all
  growing_array<outer_pass> pass;      ///< of a micro-batch, by stage
  extent_t longest = 0;                ///< of the rounds of stages
  std::int64_t makespan = 0;
  pipeline_schedule schedule{};
  growing_array<std::int64_t> starts;  ///< of each entry of the schedule
};

}}  // namespace hyperparallel::v0_2
