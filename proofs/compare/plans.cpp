// SPDX-License-Identifier: Apache-2.0
// Prints plans of the tests' generators with the verdicts of `verify`, `check_exactly` and `check_flow`, for compare.ml.
//
//   plans COUNT [SEED]
//
// One plan a line: the class of the plan, a name without spaces; then numbers:
//   code of `verify` (0: ok), 1 where `check_exactly` says safe, tasks, queues;
//   of each task: count of waits, (event, threshold) each; count of signals, event each; count of accesses,
//     (slot, begin, end, 1 where it writes) each; its queue, its pool;
//   count of the order, its tasks; of each queue: count, its tasks; of each queue: its pool; count of runs, their lengths;
//   `check_flow` (0: ok, 1: an access or a slot is refused, 2: something else is); ranks; count of tiers, the capacity of
//   each; count of slots, (rank, tier, offset, bytes) each.
// First events, first slots and the places of tiles are added already. Intervals are moved up, so that none is negative.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "taskflow/lowered_plans.hpp"
#include "taskflow/mutants.hpp"
#include "taskflow/plans.hpp"
#include "taskflow/runs.hpp"

namespace {

using namespace taskflow_test;

void print_task(const hp::dynamic_taskflow& f, const hp::dynamic_schedule& s, int t) {
  constexpr int above_negative = 64, no_pool = 99999;
  const hp::task& k = f.task[t];
  std::printf(" %d", k.wait_end - k.wait_begin);
  for (int w = k.wait_begin; w < k.wait_end; ++w)
    std::printf(" %d %d", f.wait[w].event + k.first_event, f.wait[w].threshold);
  std::printf(" %d", k.signal_end - k.signal_begin);
  for (int g = k.signal_begin; g < k.signal_end; ++g) std::printf(" %d", f.signal[g] + k.first_event);
  std::printf(" %d", k.access_end - k.access_begin);
  for (int a = k.access_begin; a < k.access_end; ++a) {
    const hp::slot_interval u = hp::interval_of(k, f.access[a]);
    std::printf(" %d %d %d %d", f.access[a].slot + k.first_slot, u.begin + above_negative, u.end + above_negative,
                f.access[a].mode == hp::access_mode::write ? 1 : 0);
  }
  const bool has_pool = k.rank >= 0 && k.rank < s.machine.ranks;
  std::printf(" %d %d", s.queue[t], has_pool ? k.rank * hp::resource_count + static_cast<int>(k.kind) : no_pool);
}

int word_of(hp::flow_code code) {
  switch (code) {
    case hp::flow_code::ok:
      return 0;
    case hp::flow_code::access_outside_its_slot:
    case hp::flow_code::slot_outside_its_tier:
    case hp::flow_code::slots_overlap:
      return 1;
    default:
      return 2;
  }
}

void print_memory(const hp::dynamic_taskflow& f, int ranks, const std::vector<std::int64_t>& capacity) {
  const int tiers = static_cast<int>(capacity.size());
  hp::detail::owned_flow_scratch x(f.size);
  std::printf(" %d %d %d", word_of(hp::check_flow(f, ranks, capacity.data(), tiers, x).code), ranks, tiers);
  for (const std::int64_t c : capacity) std::printf(" %lld", static_cast<long long>(c));
  std::printf(" %d", f.size.slots);
  for (int i = 0; i < f.size.slots; ++i)
    std::printf(" %d %d %lld %lld", f.slot[i].rank, f.slot[i].tier, static_cast<long long>(f.slot[i].offset),
                static_cast<long long>(f.slot[i].bytes));
}

void print_plan(const char* name, const hp::dynamic_taskflow& f, const hp::dynamic_schedule& s,
                hp::detail::owned_exact_scratch& exact,
                const std::vector<std::int64_t>& capacity = {std::int64_t{1} << 40}) {
  const int queues = hp::queue_count(s.machine);
  hp::detail::owned_verify_scratch x(f.size, queues);
  const hp::verify_code code = hp::verify(f, s, x).code;
  const bool safe = hp::check_exactly(f, s, exact).code == hp::exact_code::safe;
  std::string word = name;
  std::replace(word.begin(), word.end(), ' ', '_');
  std::printf("%s %d %d %d %d", word.c_str(), static_cast<int>(code), safe ? 1 : 0, f.size.tasks, queues);
  for (int t = 0; t < f.size.tasks; ++t) print_task(f, s, t);
  std::printf(" %d", s.task_count);
  for (int p = 0; p < s.task_count; ++p) std::printf(" %d", s.order[p]);
  for (int q = 0; q < queues; ++q) {
    std::printf(" %d", s.queue_begin[q + 1] - s.queue_begin[q]);
    for (int i = s.queue_begin[q]; i < s.queue_begin[q + 1]; ++i) std::printf(" %d", s.queue_task[i]);
  }
  for (int r = 0; r < s.machine.ranks; ++r)
    for (int c = 0; c < hp::resource_count; ++c)
      for (int u = 0; u < s.machine.queues[c]; ++u) std::printf(" %d", r * hp::resource_count + c);
  std::printf(" %d", f.size.runs);
  for (int r = 0; r < f.size.runs; ++r) std::printf(" %d", f.run[r + 1] - f.run[r]);
  print_memory(f, s.machine.ranks, capacity);
  std::printf("\n");
}

void print_loose(const char* name, const loose_plan& p) {
  realised r(p);
  print_plan(name, r.flow, r.schedule, r.exact, p.capacities());
}

/// Plans of the tile flow in its runs, in the queues of the list scheduler.
void print_scheduled() {
  for (const moe_tiles& m : {moe_tiles{8, 1, 0}, moe_tiles{8, 1, 3}, moe_tiles{4, 2, 2}, moe_tiles{4, 2, 1}}) {
    const hp::taskflow_size n = hp::measure(m);
    const hp::machine_shape machine{m.ranks, {3, 2, 1, 0, 0}};
    const int queues = hp::queue_count(machine);
    hp::owned_taskflow f(n);
    m(f);
    hp::seal(f);
    hp::owned_schedule s(n.tasks, queues);
    hp::owned_schedule_scratch x(n, queues);
    hp::list_schedule(f, machine, {hp::priority::upward_rank, 2000}, s, x);
    hp::detail::owned_exact_scratch exact(n, queues);
    print_plan("scheduled runs", f, s, exact);
  }
}

loose_plan random_loose(std::mt19937& random) {
  loose_plan p = random_plan(random, 3 + below(random, 12));
  schedule_queues(p, random() % 2 == 0 ? hp::priority::upward_rank : hp::priority::reference_order);
  freeze_thresholds(p);
  return p;
}

/// A plan to be changed: real, random or real of random numbers, in turn.
loose_plan any_plan(const std::vector<named_plan>& real, int turn, std::mt19937& random) {
  return turn % 3 == 0   ? real[random() % real.size()].plan
         : turn % 3 == 1 ? random_loose(random)
                         : random_real_plan(random);
}

/// A plan whose order is no run of its queues, or whose table of queues disagrees with them.
void print_changed_schedule(const loose_plan& p, bool order, std::mt19937& random) {
  realised r(p);
  const int tasks = r.schedule.task_count, t = below(random, tasks);
  if (order) {
    const int next = t + 1 < tasks ? t + 1 : 0;
    if (below(random, 8) == 0) {
      r.schedule.order[t] = r.schedule.order[next];
    } else {
      std::swap(r.schedule.order[t], r.schedule.order[next]);
    }
    print_plan("order changed", r.flow, r.schedule, r.exact);
  } else {
    r.schedule.queue[t] = below(random, static_cast<int>(p.queue.size()));
    print_plan("table of queues changed", r.flow, r.schedule, r.exact);
  }
}

/// One change of where slots lie or what an access uses of its slot. Slots may change places, so that they are no longer in
/// the order of their addresses. False where the change does not apply.
bool change_memory(loose_plan& p, std::mt19937& random) {
  const int change = below(random, 4);
  if (change == 0 || p.slots < 2) return detail::misplace_slot(p, random);
  for (int s = static_cast<int>(p.place.size()); s < p.slots; ++s) p.place.push_back(p.place_of(s));
  if (change == 1) {
    std::shuffle(p.place.begin(), p.place.end(), random);
    return true;
  }
  if (change == 2) {
    std::shuffle(p.place.begin(), p.place.end(), random);
    return detail::misplace_slot(p, random);
  }
  loose_task& k = p.task[static_cast<std::size_t>(below(random, static_cast<int>(p.task.size())))];
  if (k.accesses.empty()) return false;
  hp::access& a = k.accesses[static_cast<std::size_t>(below(random, static_cast<int>(k.accesses.size())))];
  const auto bytes = static_cast<int>(p.place_of(a.slot).bytes);
  const int by = below(random, 2 * bytes + 1) - bytes;
  if (below(random, 2) == 0) {
    a.begin += by;
  } else {
    a.end = (a.end == hp::whole_slot ? bytes : a.end) + by;
  }
  return true;
}

/// Runs with one change of class `which`. False where it does not apply.
bool print_runs(int which, std::mt19937& random) {
  const random_runs build(random);
  hp::owned_taskflow f(hp::measure(build));
  build(f);
  hp::seal(f);
  if (!mutate_runs(f, which, random)) return false;
  const loose_plan p = changed_queues(f, random);
  const int queues = static_cast<int>(p.queue.size());
  hp::owned_schedule s(f.size.tasks, queues);
  hp::detail::owned_exact_scratch exact(f.size, queues);
  freeze_queues(f, p, s, exact);
  print_plan((std::string("runs: ") + run_mutation_names[which]).c_str(), f, s, exact);
  return true;
}

/// One plan of class `which`, a change of one that `turn` picks. False where the change does not apply to what chance picked.
bool print_class(int which, int turn, const std::vector<named_plan>& real, std::mt19937& random) {
  constexpr int changes = mutation_count - 1;  // the last, capacity, is one of the changes of memory
  if (which < changes) {
    loose_plan p = any_plan(real, turn, random);
    if (!mutate(p, static_cast<mutation>(which), random)) return false;
    print_loose(mutation_names[which], p);
    return true;
  }
  which -= changes;
  if (which < run_mutations) return print_runs(which, random);
  which -= run_mutations;
  switch (which) {
    case 0:
      print_loose("random", random_loose(random));
      return true;
    case 1:
      print_loose("random real", random_real_plan(random));
      return true;
    case 2:
    case 3:
      print_loose(which == 2 ? "waits alone" : "waits alone: wild",
                  random_loose_plan(static_cast<unsigned>(random()), 2 + below(random, 10), 2, which == 3));
      return true;
    case 4: {
      loose_plan p = any_plan(real, turn, random);
      if (!change_memory(p, random)) return false;
      print_loose("memory changed", p);
      return true;
    }
    default:
      print_changed_schedule(any_plan(real, turn, random), which == 5, random);
      return true;
  }
}
constexpr int classes = mutation_count - 1 + run_mutations + 7;

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 1000;
  std::mt19937 random(argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1U);
  const std::vector<named_plan> real = small_real_plans();
  for (const named_plan& r : real) print_loose("real", r.plan);
  print_scheduled();
  for (int i = 0, turn = 0; i < count; ++i, ++turn)
    while (!print_class(i % classes, turn, real, random)) ++turn;  // another plan may have what the change needs
}
