// SPDX-License-Identifier: Apache-2.0
#pragma once
// The timeline of a plan that runs: every task of a rank at the time that the clock gives it, and what a device holds meanwhile.
//
//   const hp::clocked_plan c = hp::lower_fastest(program, {.topology = links}, device, memory);
//   hp::step_timeline t = hp::timeline_of(c.lowered, device);
//
// It is the value that an estimate is drawn from (step_timeline.hpp); layers are unrolled, so every repetition has its own spans.
// Rows of a move that follow each other at once are one span. Of a step that runs micro-batch by micro-batch the first one
// and the update are drawn; a gap in each queue stands for the others. A storage, or a block that a move stages between its steps, is
// held from the begin of the first task that uses it to the end of the last one, and from the begin of the run where that reads
// what was there before.
// Laws: spans and gaps of a queue stand in order, do not overlap, and add up to the time that the clock calls busy; the
// last end is the clock's makespan; two storages that share an address are never held at once, so what is held stays
// within the plan's bytes. Of a program with copies between memory tiers there are no points of memory.
// Units: picoseconds, bytes. O(rows + waits + storages · log storages).

#include <algorithm>

#include <hyperparallel/planner/step_timeline.hpp>
#include <hyperparallel/price/clock.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// When something is in use, and the steps that use it first and last.
struct use_time {
  static constexpr extent_t unused = -1, forever = not_counted;
  extent_t begin = unused, end = unused;
  int first = 0, last = 0;
  constexpr void add(extent_t from, extent_t to, int step) {
    if (begin == unused || from < begin) {
      begin = from;
      first = step;
    }
    if (to >= end) {
      end = to;
      last = step;
    }
  }
};

/// Of a compute step its operands and results; of a row of a move what it reads and what it writes.
template <class Visit>
constexpr void visit_places(const lowered_program& l, const plan_row& row, int ranks, const Visit& visit) {
  const program_step& s = l.program.step[row.step];
  if (!s.is_move || l.program.move[s.index].detaches)
    return visit_values(l.program, s, [&](int v, bool) { visit(l.program.value[v].storage); });
  const move_row& of = l.pulls.of(s.index).row[row.first_item / ranks];
  visit(place_read(l.program, l.pulls.moves, s.index, of));
  visit(place_written(l.program, l.pulls.moves, s.index, of));
}

/// Of one step of training, run after run. Places are storages, and the blocks that moves stage between their steps.
class clock_drawing {
 public:
  constexpr explicit clock_drawing(const lowered_program& lowered) : l(lowered), p(lowered.program) {
    place.resize(place_count(p, l.pulls.moves));
    step_end.resize(p.step.size, use_time::unused);
  }

  constexpr void draw(const lowered_run& r, const growing_array<extent_t>& duration) {
    const plan_timeline times = play(r.plan, duration);
    const extent_t start = t.total;
    for (const int v : r.reads) place[p.value[v].storage].add(start, start, 0);
    bool busy[resource_count] = {};
    for (int i = 0; i < r.plan.row.size; ++i) {
      const plan_row& row = r.plan.row[i];
      const extent_t begin = start + times.begin[row.first_task], end = start + times.end[row.first_task];
      visit_places(l, row, r.plan.machine.ranks, [&](int used) { place[used].add(begin, end, row.step); });
      step_end[row.step] = larger(step_end[row.step], end);
      t.total = larger(t.total, end);
      if (begin == end) continue;
      if (t.span.size > 0 && t.span.last().step == row.step && t.span.last().end == begin)
        t.span.last().end = end;
      else
        t.span.push({row.step, row.kind, 0, 0, begin, end});
      busy[static_cast<int>(row.kind)] = true;
    }
    const extent_t each = t.total - start,
                   others = (r.phases & update_phases) == 0 && !p.unrolled ? p.graph.micro_batches - 1 : 0;
    if (others == 0 || each == 0) return;
    for (int k = 0; k < resource_count; ++k)
      if (busy[k]) t.gap.push({-1, static_cast<resource>(k), 1, others, t.total, t.total + others * each});
    t.others_start = t.total;
    t.others_end = t.total += others * each;
  }

  constexpr step_timeline take() {
    if (tiers_of(p) == 1) {
      hold();
      note_memory();
    }
    return static_cast<step_timeline&&>(t);
  }

 private:
  struct change {
    extent_t time = 0;
    bool begins = false;
    int step = 0;
    memory_class kind{};
    extent_t bytes = 0;
    /// What ends goes before what begins at the same time.
    friend constexpr bool operator<(const change& a, const change& b) {
      if (a.time != b.time) return a.time < b.time;
      return a.begins != b.begins ? b.begins : a.step < b.step;
    }
  };

  /// What lives from step to step is held all the time; what is held longer than it is used ends with the step that says so.
  constexpr void hold() {
    const growing_array<storage_lifetime> lives = lifetimes_of(p);
    for (int s = 0; s < p.storage.size; ++s) {
      use_time& u = place[s];
      if (lives[s].always)
        u = {0, use_time::forever, u.first, u.last};
      else if (u.begin != use_time::unused && p.storage[s].held >= 0)
        u.end = larger(u.end, step_end[p.storage[s].held]);
    }
    for (int m = 0; m < p.move.size; ++m)
      for (int k = 0; k < kind_of(l.pulls.moves, m).staged.size && p.move[m].held >= 0; ++k)
        if (use_time& u = place[staged_place(p, l.pulls.moves, m, k)]; u.begin != use_time::unused)
          u.end = larger(u.end, step_end[p.move[m].held]);
  }

  constexpr void note_memory() {
    const storage_uses uses(p);
    growing_array<change> changes;
    const auto add = [&](const use_time& u, memory_class kind, extent_t bytes) {
      if (u.begin == use_time::unused) return;
      changes.push({u.begin, true, u.first, kind, bytes});
      if (u.end != use_time::forever) changes.push({u.end, false, u.last, kind, -bytes});
    };
    for (int s = 0; s < p.storage.size; ++s) add(place[s], uses.class_of(s), p.storage[s].bytes);
    for (int m = 0; m < p.move.size; ++m) {
      const auto& staged = kind_of(l.pulls.moves, m).staged;
      for (int k = 0; k < staged.size; ++k)
        add(place[staged_place(p, l.pulls.moves, m, k)], memory_class::buffers, staged[k].bytes);
    }
    std::sort(changes.begin(), changes.end());
    memory_point now;
    for (int k = 0; k < changes.size; ++k) {
      const change& c = changes[k];
      now.bytes[static_cast<int>(c.kind)] += c.bytes;
      now.time = c.time;
      now.step = c.step;
      if (k + 1 == changes.size || changes[k + 1].time != c.time) t.memory.push(now);
    }
  }

  const lowered_program& l;
  const sharded_program& p;
  step_timeline t{};
  growing_array<use_time> place;
  growing_array<extent_t> step_end;  ///< of each step of the program
};

}  // namespace detail

/// Precondition: the status of `l` is ok, and so is its clock on this device.
constexpr step_timeline timeline_of(const lowered_program& l, const device_value& d) {
  detail::clock_drawing drawing(l);
  for (const lowered_run& r : l.run) drawing.draw(r, prices_of_rows(l, r, d).duration);
  return drawing.take();
}

}}  // namespace hyperparallel::v0_2
