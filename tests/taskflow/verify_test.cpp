// SPDX-License-Identifier: Apache-2.0
// The local rule and the exact checker against every interleaving of task begins and ends of small plans and their
// mutants.

#include <gtest/gtest.h>

#include <algorithm>
#include <unordered_set>

#include "flows.hpp"

namespace {

using namespace taskflow_test;

/// Ground truth by exhaustion: a state is, per queue, 2 * ended + running in six bits. Unsafe: a state in which not all
/// has ended and nothing can move, or a begin while an earlier conflicting task has not ended. Written without the
/// library's algorithms.
bool safe_in_every_interleaving(const loose_plan& p) {
  const std::size_t queues = p.queue.size(), tasks = p.task.size();
  std::vector<int> queue_of(tasks, -1), place(tasks, -1);
  for (std::size_t q = 0; q < queues; ++q)
    for (std::size_t i = 0; i < p.queue[q].size(); ++i) {
      const auto t = static_cast<std::size_t>(p.queue[q][i]);
      if (queue_of[t] >= 0) return false;
      queue_of[t] = static_cast<int>(q);
      place[t] = static_cast<int>(i);
      const int first = hp::first_queue(p.machine, p.task[t].rank, p.task[t].kind);
      if (static_cast<int>(q) < first ||
          static_cast<int>(q) >= first + p.machine.queues[static_cast<int>(p.task[t].kind)])
        return false;
    }
  for (std::size_t t = 0; t < tasks; ++t)
    if (queue_of[t] < 0) return false;
  std::vector<std::vector<std::size_t>> must_end(tasks);
  for (std::size_t b = 0; b < tasks; ++b)
    for (std::size_t a = 0; a < b; ++a)
      for (const auto& u : p.task[a].accesses)
        for (const auto& v : p.task[b].accesses)
          if (u.slot == v.slot && std::max(u.begin, v.begin) < std::min(u.end, v.end) &&
              (u.mode == hp::access_mode::write || v.mode == hp::access_mode::write))
            must_end[b].push_back(a);
  std::vector<int> total(static_cast<std::size_t>(p.events));
  for (const auto& k : p.task)
    for (const int e : k.signals) ++total[static_cast<std::size_t>(e)];

  std::unordered_set<std::uint64_t> seen{0};
  std::vector<std::uint64_t> open{0};
  while (!open.empty()) {
    const std::uint64_t state = open.back();
    open.pop_back();
    std::vector<int> count(static_cast<std::size_t>(p.events));
    std::vector<std::size_t> at(queues);
    bool all_ended = true, moved = false;
    for (std::size_t q = 0; q < queues; ++q) {
      at[q] = (state >> (6 * q)) & 63;
      all_ended = all_ended && at[q] == 2 * p.queue[q].size();
      for (std::size_t i = 0; i < at[q] / 2; ++i)
        for (const int e : p.task[static_cast<std::size_t>(p.queue[q][i])].signals)
          ++count[static_cast<std::size_t>(e)];
    }
    for (std::size_t q = 0; q < queues; ++q) {
      if (at[q] == 2 * p.queue[q].size()) continue;
      const auto t = static_cast<std::size_t>(p.queue[q][at[q] / 2]);
      if (at[q] % 2 == 0) {
        bool held = false;
        for (const auto& w : p.task[t].waits) {
          const auto e = static_cast<std::size_t>(w.event);
          held = held || count[e] < (w.threshold == hp::all_signals ? total[e] : w.threshold);
        }
        if (held) continue;
        for (const std::size_t a : must_end[t])
          if (static_cast<int>(at[static_cast<std::size_t>(queue_of[a])] / 2) <= place[a]) return false;
      }
      moved = true;
      const std::uint64_t next = state + (std::uint64_t{1} << (6 * q));
      if (seen.insert(next).second) open.push_back(next);
    }
    if (!moved && !all_ended) return false;
  }
  return true;
}

struct tally {
  int plans = 0, safe = 0, proved = 0;
};

/// Both checkers against the truth.
void judge(const loose_plan& p, tally& n) {
  realised r(p);
  const bool truth = safe_in_every_interleaving(p);
  const hp::exact_status exact = hp::check_exactly(r.flow, r.schedule, r.exact);
  ASSERT_EQ(exact.code == hp::exact_code::safe, truth) << to_text(exact.code) << " task " << exact.task;
  ++n.plans;
  n.safe += truth;
  hp::owned_verify_scratch x(r.flow.size, static_cast<int>(p.queue.size()));
  const bool proved = hp::verify(r.flow, r.schedule, x).code == hp::verify_code::ok;
  n.proved += proved;
  ASSERT_TRUE(truth || !proved) << "the local rule accepted an unsafe plan";
}

/// Every task with waits, signals and intervals of its own; no queues.
loose_plan expand(const hp::dynamic_taskflow& f, const hp::machine_shape& machine) {
  loose_plan p;
  p.machine = machine;
  p.events = f.size.events;
  p.slots = f.size.slots;
  for (int t = 0; t < f.size.tasks; ++t) {
    const hp::task& k = f.task[t];
    p.task.push_back({k.kind,
                      k.rank,
                      k.duration,
                      {f.wait + k.wait_begin, f.wait + k.wait_end},
                      {f.signal + k.signal_begin, f.signal + k.signal_end},
                      {f.access + k.access_begin, f.access + k.access_end}});
    for (hp::wait& w : p.task.back().waits) w.event += k.first_event;
    for (int& e : p.task.back().signals) e += k.first_event;
    for (hp::access& a : p.task.back().accesses)
      a = {a.slot + k.first_slot, a.begin + k.part * a.step, a.end + k.part * a.step, a.mode, 0};
  }
  return p;
}

loose_plan loosen(const moe_tiles& build, const hp::machine_shape& machine) {
  hp::owned_taskflow f(hp::measure(build));
  build(f);
  hp::seal(f);
  loose_plan p = expand(f, machine);
  schedule_queues(p);
  return p;
}

/// What `seal` would write, so that a mutant's later signals do not move its thresholds.
void freeze_thresholds(loose_plan& p) {
  for (auto& k : p.task)
    for (auto& w : k.waits)
      if (w.threshold == hp::all_signals) {
        w.threshold = 0;
        for (const auto& o : p.task)
          w.threshold += static_cast<int>(std::count(o.signals.begin(), o.signals.end(), w.event));
      }
}

std::vector<loose_plan> base_plans() {
  std::vector<loose_plan> plans;
  const hp::machine_shape machine{1, {2, 1, 1, 0, 0}};
  for (const moe_tiles& m : {moe_tiles{1, 1, 0}, moe_tiles{2, 1, 0}, moe_tiles{2, 1, 1}})
    plans.push_back(loosen(m, machine));
  std::mt19937 random(11);
  while (plans.size() < 200) {
    loose_plan p = random_plan(random, 5 + below(random, 8));
    schedule_queues(p, random() % 2 == 0 ? hp::priority::upward_rank : hp::priority::reference_order);
    freeze_thresholds(p);
    if (safe_in_every_interleaving(p)) plans.push_back(p);
  }
  return plans;
}

constexpr int mutations = 11;

/// False where the mutation does not apply to the task that chance picked.
bool mutate(loose_plan& p, int which, std::mt19937& random) {
  const auto pick = [&](const auto& list) {
    return static_cast<std::size_t>(below(random, static_cast<int>(list.size())));
  };
  const std::size_t t = pick(p.task), q = pick(p.queue);
  loose_task& k = p.task[t];
  const auto remove = [&] {
    for (auto& tasks : p.queue) tasks.erase(std::remove(tasks.begin(), tasks.end(), static_cast<int>(t)), tasks.end());
  };
  switch (which) {
    case 0:  // dropped wait
      if (k.waits.empty()) return false;
      k.waits.erase(k.waits.begin() + static_cast<std::ptrdiff_t>(pick(k.waits)));
      return true;
    case 1: {  // lowered threshold
      if (k.waits.empty()) return false;
      auto& w = k.waits[pick(k.waits)];
      return w.threshold-- > 1;
    }
    case 2: {  // swapped queue neighbours
      if (p.queue[q].size() < 2) return false;
      const auto i = static_cast<std::size_t>(below(random, static_cast<int>(p.queue[q].size()) - 1));
      std::swap(p.queue[q][i], p.queue[q][i + 1]);
      return true;
    }
    case 3: {  // merged events, thresholds kept
      const int a = below(random, p.events), b = below(random, p.events);
      for (auto& o : p.task) {
        for (auto& w : o.waits) w.event = w.event == b ? a : w.event;
        for (auto& e : o.signals) e = e == b ? a : e;
      }
      return a != b;
    }
    case 4:  // missing signal
      if (k.signals.empty()) return false;
      k.signals.erase(k.signals.begin());
      return true;
    case 5:  // duplicated task
      p.queue[q].insert(p.queue[q].begin(), static_cast<int>(t));
      return true;
    case 6:  // raised threshold
      if (k.waits.empty()) return false;
      ++k.waits[pick(k.waits)].threshold;
      return true;
    case 7: {  // two slots become one
      const int a = below(random, p.slots), b = below(random, p.slots);
      for (auto& o : p.task)
        for (auto& u : o.accesses) u.slot = u.slot == b ? a : u.slot;
      return a != b;
    }
    case 8:  // removed task
      remove();
      return true;
    case 9:  // wait moved to another event
      if (k.waits.empty()) return false;
      k.waits[pick(k.waits)].event = below(random, p.events);
      return true;
    default:  // task moved to another queue, or another place
      remove();
      p.queue[q].insert(p.queue[q].begin() + below(random, static_cast<int>(p.queue[q].size()) + 1),
                        static_cast<int>(t));
      return true;
  }
}

TEST(Verify, AgreesWithEveryInterleavingOfRandomPlans) {
  std::mt19937 random(7);
  tally n;
  for (int i = 0; i < 30000 && !HasFatalFailure(); ++i) {
    loose_plan p = random_plan(random, 3 + below(random, 9));
    schedule_queues(p, i % 2 == 0 ? hp::priority::upward_rank : hp::priority::reference_order);
    judge(p, n);
  }
  EXPECT_GT(n.safe, n.plans / 4);
  EXPECT_LT(n.safe, n.plans * 49 / 50);
  EXPECT_GT(n.proved, n.safe * 9 / 10) << n.plans << " plans, " << n.safe << " safe";
  RecordProperty("safe", n.safe);
  RecordProperty("proved", n.proved);
}

TEST(Verify, AgreesWithEveryInterleavingOfMutants) {
  const std::vector<loose_plan> plans = base_plans();
  std::mt19937 random(3);
  for (int which = 0; which < mutations && !HasFatalFailure(); ++which) {
    SCOPED_TRACE(which);
    tally n;
    for (int made = 0; made < 3000 && !HasFatalFailure();) {
      loose_plan p = plans[random() % plans.size()];
      if (!mutate(p, which, random)) continue;
      ++made;
      judge(p, n);
    }
    EXPECT_LT(n.safe, n.plans) << "no mutant of this class is unsafe";
  }
}

/// A random flow of runs on four queues, as a builder: conflicts mostly guarded by a wait for the earlier run's event,
/// some waits for part of the link's progress word, some runs that join the event of the run before.
struct random_runs {
  struct run {
    hp::task_draft draft;
    int tiles;
  };
  std::vector<run> runs;
  int events = 0, slots = 1;

  explicit random_runs(std::mt19937& random) {
    const int count = 2 + below(random, 4);
    events = count + 1;  // one each, and the link's progress word
    slots = 1 + below(random, 2);
    int tasks = 0, sent = 0;
    for (int r = 0; r < count && tasks < 9; ++r) {
      run u;
      u.tiles = 1 + below(random, 3);
      tasks += u.tiles;
      hp::task_draft& d = u.draft;
      d.task.kind = static_cast<hp::resource>(below(random, 3));
      d.task.duration = below(random, 4);
      d.task.item = 10 * r;
      d.task.part = below(random, 4) == 0 ? below(random, 3) : 0;
      const int uses = below(random, 3);
      for (int a = 0; a < uses; ++a) {
        const int begin = 2 + below(random, 3), length = 1 + below(random, 2), steps[] = {0, 1, 1, 2, 2, -1};
        d.access[d.accesses++] = {below(random, slots), begin, begin + length,
                                  below(random, 2) == 0 ? hp::access_mode::write : hp::access_mode::read,
                                  steps[below(random, 6)]};
      }
      for (int e = 0; e < r; ++e)
        if (d.waits < 3 &&
            ((meet(u, runs[static_cast<std::size_t>(e)]) && below(random, 25) != 0) || below(random, 10) == 0))
          d.wait[d.waits++] = {runs[static_cast<std::size_t>(e)].draft.signal[0], hp::all_signals};
      if (sent > 0 && below(random, 3) == 0) d.wait[d.waits++] = {count, 1 + below(random, sent)};
      d.signal[d.signals++] = r;
      if (d.task.kind == hp::resource::link) {
        d.signal[d.signals++] = count;
        sent += u.tiles;
      }
      runs.push_back(u);
    }
  }

  static bool meet(const run& x, const run& y) {
    for (int i = 0; i < x.tiles; ++i)
      for (int j = 0; j < y.tiles; ++j)
        for (int a = 0; a < x.draft.accesses; ++a)
          for (int b = 0; b < y.draft.accesses; ++b) {
            const hp::access &u = x.draft.access[a], &v = y.draft.access[b];
            const int one = (x.draft.task.part + i) * u.step, other = (y.draft.task.part + j) * v.step;
            if (u.slot == v.slot && u.begin + one < v.end + other && v.begin + other < u.end + one &&
                (u.mode == hp::access_mode::write || v.mode == hp::access_mode::write))
              return true;
          }
    return false;
  }

  template <class Flow>
  void operator()(Flow& f) const {
    hp::add_event(f, 0, events);
    hp::add_slot(f, 0, 0, 0, 64, slots, 64);
    for (const run& u : runs) hp::append(f, u.draft, u.tiles);
  }
};

constexpr int run_mutations = 14;

/// Changes what tiles share, or one tile of a run. False where chance picked nothing that it applies to.
bool mutate_runs(hp::dynamic_taskflow& f, int which, std::mt19937& random) {
  const auto pick = [&](int n) { return below(random, n); };
  hp::task &k = f.task[pick(f.size.tasks)], &o = f.task[pick(f.size.tasks)];
  switch (which) {
    case 0:  // none: the queues alone are changed
      return true;
    case 1:  // a tile takes the place of another part
      k.part += 1 - 2 * pick(2);
      return true;
    case 2:  // a step that lets tiles meet, or pulls them apart
      if (f.size.accesses == 0) return false;
      f.access[pick(f.size.accesses)].step = pick(4) - 1;
      return true;
    case 3:  // two runs share accesses
      k.access_begin = o.access_begin;
      k.access_end = o.access_end;
      return true;
    case 4:  // two runs share signals
      k.signal_begin = o.signal_begin;
      k.signal_end = o.signal_end;
      return true;
    case 5:  // two runs share waits
      k.wait_begin = o.wait_begin;
      k.wait_end = o.wait_end;
      return true;
    case 6:  // one tile without its last wait
      return k.wait_begin < k.wait_end-- || (++k.wait_end, false);
    case 7:  // one tile without its last signal
      return k.signal_begin < k.signal_end-- || (++k.signal_end, false);
    case 8: {  // lowered threshold of a whole run
      if (f.size.waits == 0) return false;
      hp::wait& w = f.wait[pick(f.size.waits)];
      return w.threshold > 1 && w.threshold-- > 1;
    }
    case 9:  // a run uses another slot, or in the other mode
      if (f.size.accesses == 0) return false;
      f.access[pick(f.size.accesses)].slot = pick(f.size.slots);
      f.access[pick(f.size.accesses)].mode = pick(2) == 0 ? hp::access_mode::read : hp::access_mode::write;
      return true;
    case 10:  // one tile of another class
      k.kind = static_cast<hp::resource>(pick(3));
      return true;
    case 11: {  // one tile with other events
      k.first_event = 1 - 2 * pick(2);
      for (int w = k.wait_begin; w < k.wait_end; ++w)
        if (f.wait[w].event + k.first_event < 0 || f.wait[w].event + k.first_event >= f.size.events) k.first_event = 0;
      for (int g = k.signal_begin; g < k.signal_end; ++g)
        if (f.signal[g] + k.first_event < 0 || f.signal[g] + k.first_event >= f.size.events) k.first_event = 0;
      return k.first_event != 0;
    }
    case 12:  // one tile with other slots
      k.first_slot = 1 - 2 * pick(2);
      for (int a = k.access_begin; a < k.access_end; ++a)
        if (f.access[a].slot + k.first_slot < 0 || f.access[a].slot + k.first_slot >= f.size.slots) k.first_slot = 0;
      return k.first_slot != 0;
    default:  // longer intervals
      if (f.size.accesses == 0) return false;
      ++f.access[pick(f.size.accesses)].end;
      return true;
  }
}

/// An order that respects the queues and no wait: what a plan that cannot run would claim.
void merge_queues(const loose_plan& p, hp::owned_schedule& s) {
  std::vector<std::size_t> next(p.queue.size());
  for (int position = 0; position < s.task_count; ++position) {
    std::size_t least = p.queue.size();
    for (std::size_t q = 0; q < p.queue.size(); ++q)
      if (next[q] < p.queue[q].size() && (least == p.queue.size() || p.queue[q][next[q]] < p.queue[least][next[least]]))
        least = q;
    s.order[position] = p.queue[least][next[least]++];
  }
}

/// Both checkers against the truth about a flow whose queues the scheduler chose and chance has changed.
void judge_runs(hp::dynamic_taskflow& f, std::mt19937& random, tally& n) {
  const hp::machine_shape machine{1, {2, 1, 1, 0, 0}};
  constexpr int queues = 4;
  f.size.signal_uses = f.size.access_uses = 0;
  for (int t = 0; t < f.size.tasks; ++t) {
    f.size.signal_uses += f.task[t].signal_end - f.task[t].signal_begin;
    f.size.access_uses += f.task[t].access_end - f.task[t].access_begin;
  }
  loose_plan p = expand(f, machine);
  schedule_queues(p, below(random, 2) == 0 ? hp::priority::upward_rank : hp::priority::reference_order);
  if (below(random, 2) == 0) {  // the tasks of one queue in another order, or dealt to both matrix cores
    std::vector<int>& q = p.queue[static_cast<std::size_t>(below(random, queues))];
    if (q.size() > 1) std::swap(q[0], q[1 + random() % (q.size() - 1)]);
    if (below(random, 2) == 0 && !p.queue[0].empty()) {
      p.queue[1].insert(p.queue[1].begin(), p.queue[0].back());
      p.queue[0].pop_back();
    }
    std::vector<int>& from = p.queue[static_cast<std::size_t>(below(random, queues))];
    if (below(random, 4) == 0 && !from.empty()) {  // a task in any queue, of its class or not
      const int t = from.back();
      from.pop_back();
      p.queue[static_cast<std::size_t>(below(random, queues))].push_back(t);
    }
  }
  hp::owned_schedule s(f.size.tasks, queues);
  s.machine = machine;
  for (std::size_t q = 0; q < queues; ++q) {
    s.queue_begin[q] = s.task_count;
    for (const int t : p.queue[q]) {
      s.queue_task[s.task_count++] = t;
      s.queue[t] = static_cast<int>(q);
    }
  }
  s.queue_begin[queues] = s.task_count;
  hp::owned_exact_scratch exact(f.size, queues);
  if (!hp::derive_order(f, s, exact)) merge_queues(p, s);
  const bool truth = safe_in_every_interleaving(p);
  ASSERT_EQ(hp::check_exactly(f, s, exact).code == hp::exact_code::safe, truth);
  hp::owned_verify_scratch x(f.size, queues);
  const bool proved = hp::verify(f, s, x).code == hp::verify_code::ok;
  ++n.plans;
  n.safe += truth;
  n.proved += proved;
  ASSERT_TRUE(truth || !proved) << "the local rule accepted an unsafe plan of runs";
}

TEST(Verify, AgreesWithEveryInterleavingOfRunsAndTheirMutants) {
  std::mt19937 random(5);
  for (int which = 0; which < run_mutations && !HasFatalFailure(); ++which) {
    SCOPED_TRACE(which);
    tally n;
    for (int made = 0; made < 6000 && !HasFatalFailure();) {
      const random_runs build(random);
      hp::owned_taskflow f(hp::measure(build));
      build(f);
      hp::seal(f);
      if (!mutate_runs(f, which, random)) continue;
      ++made;
      judge_runs(f, random, n);
    }
    EXPECT_GT(n.safe, n.plans / 20);
    EXPECT_LT(n.safe, n.plans) << "no plan of this class is unsafe";
    EXPECT_GT(n.proved, n.safe * 8 / 10) << n.plans << " plans, " << n.safe << " safe";
  }
}

TEST(Verify, ProvesEveryPlanOfTheScheduler) {
  for (const moe_tiles& m : {moe_tiles{16, 1, 0}, moe_tiles{16, 1, 3}, moe_tiles{8, 4, 2}, moe_tiles{8, 2, 1}})
    for (const hp::priority policy : {hp::priority::upward_rank, hp::priority::reference_order}) {
      const hp::taskflow_size n = hp::measure(m);
      const hp::machine_shape machine{m.ranks, {3, 2, 1, 0, 0}};
      const int queues = hp::queue_count(machine);
      hp::owned_taskflow f(n);
      m(f);
      hp::seal(f);
      hp::owned_schedule s(n.tasks, queues);
      hp::owned_schedule_scratch x(n, queues);
      ASSERT_EQ(hp::list_schedule(f, machine, {policy, 2000}, s, x), hp::schedule_status{});
      hp::owned_verify_scratch v(n, queues);
      const hp::verify_status proof = hp::verify(f, s, v);
      EXPECT_EQ(proof, hp::verify_status{})
          << to_text(proof.code) << " task " << proof.task << " other " << proof.other;
      hp::owned_exact_scratch e(n, queues);
      EXPECT_EQ(hp::check_exactly(f, s, e), hp::exact_status{});
    }
}

TEST(Verify, NamesTheFault) {
  loose_plan p;
  p.machine = {1, {1, 1, 0, 0, 0}};
  p.events = 1;
  p.slots = 1;
  p.task = {{hp::resource::aic, 0, 5, {}, {0}, {{0, 0, 4, hp::access_mode::write}}},
            {hp::resource::aiv, 0, 5, {}, {}, {{0, 2, 3, hp::access_mode::read}}}};
  p.queue = {{0}, {1}};
  realised open(p);
  hp::owned_verify_scratch x(open.flow.size, 2);
  EXPECT_EQ(hp::verify(open.flow, open.schedule, x),
            (hp::verify_status{hp::verify_code::conflict_is_not_ordered, 1, 0, -1, 0}));
  p.task[1].waits.push_back({0, 1});
  realised closed(p);
  EXPECT_EQ(hp::verify(closed.flow, closed.schedule, x), hp::verify_status{});
  closed.flow.wait[0].threshold = 2;
  EXPECT_EQ(hp::verify(closed.flow, closed.schedule, x),
            (hp::verify_status{hp::verify_code::wait_is_never_satisfied, 1, -1, 0}));
}

TEST(Verify, AWriteBesideReadOnesIsNotCoveredByTheirReader) {
  // 0 writes [0, 1), 1 reads it, 2 writes [1, 2) on a queue of its own, 3 overwrites both after 1 alone.
  loose_plan p;
  p.machine = {1, {1, 1, 1, 1, 0}};
  p.events = 3;
  p.slots = 1;
  p.task = {{hp::resource::aic, 0, 5, {}, {0}, {{0, 0, 1, hp::access_mode::write}}},
            {hp::resource::aiv, 0, 5, {{0, 1}}, {1}, {{0, 0, 1, hp::access_mode::read}}},
            {hp::resource::link, 0, 5, {}, {2}, {{0, 1, 2, hp::access_mode::write}}},
            {hp::resource::copy, 0, 5, {{1, 1}}, {}, {{0, 0, 2, hp::access_mode::write}}}};
  p.queue = {{0}, {1}, {2}, {3}};
  realised open(p);
  hp::owned_verify_scratch x(open.flow.size, 4);
  EXPECT_EQ(hp::verify(open.flow, open.schedule, x),
            (hp::verify_status{hp::verify_code::conflict_is_not_ordered, 3, 2, -1, 0}));
  p.task[3].waits.push_back({2, 1});
  realised closed(p);
  EXPECT_EQ(hp::verify(closed.flow, closed.schedule, x), hp::verify_status{});
}

TEST(Verify, RefusesAnOrderThatIsNoRunOfTheQueues) {
  const moe_tiles m{2, 1, 0};
  const hp::machine_shape machine{1, {2, 1, 1, 0, 0}};
  const hp::taskflow_size n = hp::measure(m);
  hp::owned_taskflow f(n);
  m(f);
  hp::seal(f);
  hp::owned_verify_scratch x(n, 4);
  const auto judged = [&](auto&& change) {
    hp::owned_schedule s(n.tasks, 4);
    hp::owned_schedule_scratch y(n, 4);
    hp::list_schedule(f, machine, {}, s, y);
    change(s);
    return hp::verify(f, s, x).code;
  };
  EXPECT_EQ(judged([](auto&) {}), hp::verify_code::ok);
  EXPECT_EQ(judged([](auto& s) { --s.task_count; }), hp::verify_code::task_count_differs);
  EXPECT_EQ(judged([](auto& s) { ++s.queue_begin[4]; }), hp::verify_code::queue_bounds_are_wrong);
  EXPECT_EQ(judged([&](auto& s) { s.order[3] = n.tasks; }), hp::verify_code::task_outside_the_flow);
  EXPECT_EQ(judged([](auto& s) { s.order[3] = s.order[2]; }), hp::verify_code::task_appears_twice);
  EXPECT_EQ(judged([](auto& s) { s.queue[s.queue_task[0]] = 2; }), hp::verify_code::queue_of_another_class_or_rank);
  EXPECT_EQ(judged([](auto& s) { s.queue[s.queue_task[0]] = -1; }), hp::verify_code::queue_of_another_class_or_rank);
  EXPECT_EQ(judged([](auto& s) { s.queue[s.queue_task[0]] = 1; }), hp::verify_code::queue_disagrees_with_order);
  EXPECT_EQ(judged([](auto& s) { std::swap(s.queue_task[0], s.queue_task[1]); }),
            hp::verify_code::queue_disagrees_with_order);
  for (const int wrong : {0, n.tasks + 1}) {
    const int kept = f.run[2];
    EXPECT_EQ(judged([&](auto&) { f.run[2] = wrong; }), hp::verify_code::runs_are_wrong);
    f.run[2] = kept;
  }
  EXPECT_EQ(judged([&](auto&) { --f.size.runs; }), hp::verify_code::runs_are_wrong);
}

constexpr moe_tiles small{3, 1, 2};
constexpr auto flow = hp::build_fixed<hp::measure(small)>(small);
constexpr auto plan = hp::schedule_fixed<6>(flow, hp::machine_shape{1, {3, 2, 1, 0, 0}});
static_assert(hp::verify(flow, plan) == hp::verify_status{});

constexpr hp::exact_code exactly() {
  hp::fixed_exact_scratch<hp::measure(small), 6> x;
  return hp::check_exactly(flow, plan, x).code;
}
static_assert(exactly() == hp::exact_code::safe);

constexpr hp::verify_code without_a_wait() {
  auto broken = flow;
  broken.task[1].wait_end = broken.task[1].wait_begin;
  return hp::verify(broken, plan).code;
}
static_assert(without_a_wait() == hp::verify_code::conflict_is_not_ordered);

}  // namespace
