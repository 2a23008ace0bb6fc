// SPDX-License-Identifier: Apache-2.0
#pragma once
// The clock of a lowered program: when every task of the plan that runs begins and ends, on stated hardware.
//
// A task starts when the task before it in its queue has ended and every task that it waits for has, `synchronisation`
// later. Steps take what program_prices.hpp says, as in the account; the rows of a move take the steps of the move, two
// parts of one step together; a tile of a step what its operations, bytes and messages take by themselves; a copy between memory tiers takes what the link between them takes (offload_link.hpp), as for
// the planner of memory tiers. In the plan of the class all ranks run alike, so a wait for another
// rank's task is over when the rank's own task in that place is: one rank is played, whatever their number.
// Laws: the class gives every rank the times that the plan of all ranks gives it. The makespan is at least each of the
// lower bounds; without synchronisation it is at most the sum of all durations. What is exposed is the makespan less the
// time in which something is computed. Units: picoseconds. O(rows + waits).

#include <hyperparallel/lowering/lowered_program.hpp>
#include <hyperparallel/lowering/run_times.hpp>
#include <hyperparallel/offload/offload_link.hpp>
#include <hyperparallel/price/program_prices.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What each row of a run takes.
struct row_prices {
  growing_array<extent_t> duration;
  cost_code code = cost_code::ok;  ///< the first that is not
};

/// Begin and end of each task of a plan.
struct plan_timeline {
  growing_array<extent_t> begin, end;
};

namespace detail {

/// Whether a row of a move receives something from another rank.
constexpr bool row_travels(const move_pulls& m, int row, int ranks) {
  for (int r = 0; r < ranks; ++r)
    if (m.pulled[row * ranks + r] > 0) return true;
  return false;
}

/// Prices the rows of one move: step k of it goes to the first row of step k that travels, what is left to the last.
constexpr void price_move(bucket_prices<program_prices>& prices, const move_pulls& m, const program_step& s, int ranks,
                          row_prices& out) {
  const int first = out.duration.size;
  for (int i = 0; i < m.row.size; ++i) out.duration.push(0);
  const time_cost whole = s.tile.dim < 0 ? prices.of_next(s.index) : prices.of_next_tile(s.index, s.tile.count);
  out.code = whole.code;
  if (!whole.ok() || m.row.size == 0) return;
  extent_t left = whole.picoseconds;
  int last = m.row.size - 1;
  for (int i = 0, known = -1, taken = 0; i < m.row.size && prices.step.size > 0; ++i) {
    if (!row_travels(m, i, ranks)) continue;
    last = i;
    if (m.row[i].step == known || taken == prices.step.size) continue;
    known = m.row[i].step;
    out.duration[first + i] = prices.step[taken];
    left -= prices.step[taken++];
  }
  out.duration[first + last] += left;
}

/// A copy of a storage between two tiers, as the planner of memory tiers prices it. A detach takes no time.
constexpr time_cost tier_copy_time(const sharded_program& p, const program_move& m, const device_value& d) {
  if (m.detaches) return {};
  const int from = tier_of(p, m.source), to = tier_of(p, m.target);
  if (larger(from, to) >= d.tier_count) return {cost_code::count_exceeds_the_device, 0};
  const extent_t bytes = aligned(p.storage[p.value[m.target].storage].bytes);
  const extent_t time = link_copy_time(link_between(d.tier[from], d.tier[to]), bytes);
  return {time < longest_time ? cost_code::ok : cost_code::overflow, time};
}

/// Time in which at least one of the queues that compute is busy, on the first rank of a part. Tasks of a queue follow each
/// other.
constexpr extent_t computed_time(const program_plan& plan, const plan_timeline& times, int part) {
  int at[2] = {0, 0};
  extent_t covered = 0, until = 0;
  const auto next = [&](int kind) {
    while (at[kind] < plan.row.size &&
           (static_cast<int>(plan.row[at[kind]].kind) != kind || plan.row[at[kind]].part != part))
      ++at[kind];
    return at[kind] < plan.row.size;
  };
  const auto task = [&](int row) { return plan.row[row].first_task; };
  for (;;) {
    const bool first = next(0), second = next(1);
    if (!first && !second) return covered;
    const bool takes_first = first && (!second || times.begin[task(at[0])] <= times.begin[task(at[1])]);
    const int row = at[takes_first ? 0 : 1]++;
    const extent_t begin = larger(times.begin[task(row)], until), end = times.end[task(row)];
    if (end <= begin) continue;
    covered += end - begin;
    until = end;
  }
}

/// The longest chain of steps of which each reads what the one before it wrote.
constexpr extent_t longest_path(const sharded_program& p, unsigned phases, const growing_array<extent_t>& of_step) {
  growing_array<extent_t> ready(p.value.size, 0);
  extent_t longest = 0;
  for (int s = 0; s < p.step.size; ++s) {
    if (!is_in(p.step[s].phase, phases)) continue;
    extent_t begin = 0;
    visit_values(p, p.step[s], [&](int v, bool written) {
      if (!written) begin = larger(begin, ready.item[v]);
    });
    visit_values(p, p.step[s], [&](int v, bool written) {
      if (written) ready.item[v] = begin + of_step[s];
    });
    longest = larger(longest, begin + of_step[s]);
  }
  return longest;
}

}  // namespace detail

/// What each step of a program takes on a device: what its copies between memory tiers are planned by. Domain: the program has
/// no such copies yet.
constexpr row_prices prices_of_steps(const sharded_program& p, const program_moves& moves, const device_value& d) {
  const growing_array<move_load> load = detail::loads_of_moves(p, moves);
  const detail::program_prices prices{p, moves, load, d, moves.links};
  detail::bucket_prices<detail::program_prices> in_buckets(p, prices, moves.links);
  row_prices out;
  if (load.size < moves.kind.size) out.code = cost_code::ranks_are_not_connected;  // chosen on no links
  for (int s = 0; s < p.step.size && out.code == cost_code::ok; ++s) {
    const int at = p.step[s].index;
    const time_cost time = p.step[s].is_move ? in_buckets.of_next(at) : prices.of_compute(at).time;
    out.code = time.code;
    out.duration.push(time.picoseconds);
  }
  return out;
}

/// Of a run of the program on a device; its moves are priced on the links that they were chosen on.
constexpr row_prices prices_of_rows(const lowered_program& l, const lowered_run& r, const device_value& d) {
  const growing_array<move_load> load = detail::loads_of_moves(l.program, l.pulls.moves);
  const detail::program_prices prices{l.program, l.pulls.moves, load, d, l.pulls.moves.links};
  detail::bucket_prices<detail::program_prices> moves(l.program, prices, l.pulls.moves.links);
  row_prices out;
  if (load.size < l.pulls.moves.kind.size) out.code = cost_code::ranks_are_not_connected;  // chosen on no links
  for (int i = 0; i < r.plan.row.size && out.code == cost_code::ok;) {
    const program_step& s = l.program.step[r.plan.row[i].step];
    if (s.is_move && cache_operator_of(l.program, l.program.move[s.index]) == cache_operator::within_tier) {
      detail::price_move(moves, l.pulls.of(s.index), s, detail::ranks_of_part(l.program, r.plan.row[i].part), out);
      i = out.duration.size;
      continue;
    }
    const time_cost time = s.is_move ? detail::tier_copy_time(l.program, l.program.move[s.index], d)
                                     : prices.of_compute(s.index, s.tile).time;
    out.code = time.code;
    out.duration.push(time.picoseconds);
    ++i;
  }
  return out;
}

/// Plays a plan, of the class or of all ranks, whose rows take `duration`. Law: each task begins as early as its queue and its
/// waits let it.
constexpr plan_timeline play(const program_plan& plan, const growing_array<extent_t>& duration,
                             extent_t synchronisation = 0) {
  const int per_rank = detail::queues_per_rank(plan.machine);
  const auto queue_of = [&](int word) {
    return plan.of_class ? plan.part_of_rank(word / per_rank) * per_rank + word % per_rank : word;
  };
  plan_timeline times;
  growing_array<growing_array<extent_t>> ended(
      plan.of_class ? per_rank * plan.parts() : queue_count(plan.machine));  // of each queue: the ends of its tasks
  for (int i = 0, w = 0; i < plan.row.size; ++i) {
    const plan_row& row = plan.row[i];
    for (int t = row.first_task; t < row.first_task + plan.tasks_of(row); ++t) {
      const int rank = plan.ranks_of(row.part).first + t - row.first_task;
      growing_array<extent_t>& queue = ended[queue_of(detail::first_queue(plan.machine, rank, row.kind))];
      extent_t begin = queue.empty() ? 0 : queue.last();
      for (; w < plan.wait_end[t]; ++w) {
        const word_wait& one = plan.wait[w];
        begin = larger(begin, ended[queue_of(one.word)][one.threshold - 1] + synchronisation);
      }
      times.begin.push(begin);
      times.end.push(begin + duration[i]);
      queue.push(times.end.last());
    }
  }
  return times;
}

namespace detail {

run_times simulate_in_library(const lowered_program& l, const lowered_run& r, const device_value& d,
                              extent_t synchronisation);
constexpr run_times simulate_here(const lowered_program& l, const lowered_run& r, const device_value& d,
                                  extent_t synchronisation) {
  run_times out;
  const row_prices prices = prices_of_rows(l, r, d);
  out.code = prices.code;
  if (!out.ok()) return out;
  const plan_timeline times = play(r.plan, prices.duration, synchronisation);
  growing_array<extent_t> of_step(l.program.step.size, 0),
      busy(resource_count * r.plan.parts(), 0);  // of each step; of each kind of queue of each part
  for (int i = 0; i < r.plan.row.size; ++i) {
    const plan_row& row = r.plan.row[i];
    busy[row.part * resource_count + static_cast<int>(row.kind)] += prices.duration[i];
    of_step[row.step] += prices.duration[i];
    out.makespan = larger(out.makespan, times.end[row.first_task]);
  }
  extent_t computed = 0;
  for (int i = 0; i < busy.size; ++i) out.busy[i % resource_count] = larger(out.busy[i % resource_count], busy[i]);
  for (int part = 0; part < r.plan.parts(); ++part)
    computed = larger(computed, detail::computed_time(r.plan, times, part));
  out.exposed = out.makespan - computed;
  out.bound.work = larger(out.busy[static_cast<int>(resource::aic)], out.busy[static_cast<int>(resource::aiv)]);
  for (const resource kind : {resource::link, resource::copy_in, resource::copy_out})
    out.bound.links = larger(out.bound.links, out.busy[static_cast<int>(kind)]);
  out.bound.path = detail::longest_path(l.program, r.phases, of_step);
  return out;
}

}  // namespace detail

/// The clock of one run. Domain: its moves were chosen on the links of the hardware.
constexpr run_times simulate(const lowered_program& l, const lowered_run& r, const device_value& d,
                             extent_t synchronisation = 0) {
  HYPERPARALLEL_TWIN(detail::simulate_in_library(l, r, d, synchronisation));
  return detail::simulate_here(l, r, d, synchronisation);
}

/// The clock of a step of training: of its runs one after the other. The run of one micro-batch counts as often as there are
/// micro-batches; that of an unrolled program has them all, and counts once, as the update does.
constexpr run_times simulate(const lowered_program& l, const growing_array<lowered_run>& runs, const device_value& d,
                             extent_t synchronisation = 0) {
  run_times all;
  for (const lowered_run& r : runs) {
    const run_times one = simulate(l, r, d, synchronisation);
    if (!one.ok()) return one;
    const bool again = (r.phases & update_phases) == 0 && !l.program.unrolled;
    all.add(one, again ? l.program.graph.micro_batches : 1);
  }
  if (runs.empty()) all.code = cost_code::program_is_refused;
  return all;
}
constexpr run_times simulate(const lowered_program& l, const device_value& d, extent_t synchronisation = 0) {
  return simulate(l, l.run, d, synchronisation);
}

/// The same program with the times of its step. Of a program that is not lowered they stay unknown.
constexpr lowered_program clocked(lowered_program&& l, const device_value& d, extent_t synchronisation = 0) {
  if (l.status.ok()) l.times = simulate(l, d, synchronisation);
  return static_cast<lowered_program&&>(l);
}

}}  // namespace hyperparallel::v0_2
