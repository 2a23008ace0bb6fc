// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random flows with macro tasks: small chains, several instances on several ranks, other tasks between, all in arrays
// that a test can change; and ten classes of mistakes.

#include <memory>

#include <hyperparallel/taskflow/macro_proof.hpp>
#include <hyperparallel/taskflow/macro_schedule.hpp>
#include <hyperparallel/taskflow/unroll_macro_tasks.hpp>

#include "oracle.hpp"

namespace taskflow_test {

/// A use of units of a slot, by a task that signals `event`.
struct guarded_use {
  int slot;
  hp::slot_interval units;
  bool writes;
  int event;
};

inline bool meet(const guarded_use& a, const guarded_use& b) {
  return a.slot == b.slot && (a.writes || b.writes) && a.units.begin < b.units.end && b.units.begin < a.units.end;
}

/// A random chain of few tasks that is safe on its own slots: each conflict has a wait.
inline loose_plan random_chain(std::mt19937& random, const hp::machine_shape& machine) {
  loose_plan p;
  p.machine = machine;
  p.slots = 2 + below(random, 3);
  const int tasks = 2 + below(random, 6);
  p.events = tasks;
  for (int s = 0; s < p.slots; ++s) p.place.push_back({below(random, machine.ranks), 0, 64 * s, 64});
  for (int t = 0; t < tasks; ++t) {
    loose_task k;
    k.rank = below(random, machine.ranks);
    k.kind = static_cast<hp::resource>(below(random, 3));
    k.duration = 1 + below(random, 9);
    k.signals = {t};
    for (int u = 1 + below(random, 2); u > 0; --u) {
      const int begin = below(random, 3);
      k.accesses.push_back({below(random, p.slots), begin, begin + 1 + below(random, 2),
                            below(random, 2) == 0 ? hp::access_mode::write : hp::access_mode::read});
    }
    for (const loose_task& o : p.task) {
      bool meets = below(random, 12) == 0;
      for (const auto& a : k.accesses)
        for (const auto& b : o.accesses) meets = meets || collide(p, a, b);
      if (meets) k.waits.push_back({o.signals[0], hp::all_signals});
    }
    p.task.push_back(k);
  }
  schedule_queues(p, below(random, 2) == 0 ? hp::priority::upward_rank : hp::priority::reference_order);
  freeze_thresholds(p);
  return p;
}

/// What a mistake changes before the outer flow is written; -1: nothing.
enum class macro_mutation {
  none = -1,
  dropped_access,
  read_for_write,
  slots_overlapped,
  foreign_task_between,
  dropped_head_wait,
  dropped_heads,
  shared_event,
  changed_queue_order,
  private_slot_read,
  tail_not_awaited,
};
inline constexpr int macro_mutation_count = 10;
inline constexpr const char* macro_mutation_names[macro_mutation_count] = {"access dropped from the contract",
                                                                           "read for write",
                                                                           "slots of the chain overlapped",
                                                                           "foreign task between",
                                                                           "head's wait dropped",
                                                                           "tail's heads dropped",
                                                                           "event shared by two instances",
                                                                           "queue order of the chain",
                                                                           "private slot read outside",
                                                                           "tail not awaited"};

/// A chain with schedule, places and contract.
struct chain_world {
  explicit chain_world(const loose_plan& p)
      : plan(p), made(p), contract(static_cast<int>(p.queue.size()), p.slots), place(p.place.size()) {}

  /// Slots into blocks by chance: some alone and whole, some side by side with others of their rank.
  void place_slots(std::mt19937& random) {
    std::vector<int> end, rank;
    for (std::size_t s = 0; s < place.size(); ++s) {
      const int block = below(random, static_cast<int>(end.size()) + 1);
      const auto b = static_cast<std::size_t>(block);
      if (b < end.size() && (rank[b] != plan.place[s].rank || end[b] == hp::whole_slot)) {
        --s;
        continue;
      }
      if (b == end.size()) {
        rank.push_back(plan.place[s].rank);
        if (below(random, 4) == 0) {
          end.push_back(hp::whole_slot);
          place[s] = {block, 0, hp::whole_slot};
          continue;
        }
        end.push_back(below(random, 2));
      }
      place[s] = {block, end[b], end[b] + 4};
      end[b] += 4 + below(random, 2);
    }
    blocks = static_cast<int>(end.size());
  }

  loose_plan plan;
  realised made;
  hp::owned_macro_contract contract;
  std::vector<hp::macro_place> place;
  int blocks = 0;

  auto chain() { return hp::macro_chain{made.flow, made.schedule, place.data(), contract}; }
};

struct macro_world {
  explicit macro_world(std::mt19937& random, macro_mutation mistake = macro_mutation::none)
      : flow(room()), which(mistake) {
    machine = {1 + below(random, 2), {1 + below(random, 2), 1, 1, 0, 0}};
    for (auto& one : chains) {
      hp::machine_shape own = machine;
      own.ranks = 1 + below(random, machine.ranks);
      one = std::make_unique<chain_world>(random_chain(random, own));
      one->place_slots(random);
      if (&one == &chains[0]) applied = change_chain(*one, random);
      hp::describe_chain(one->chain(), one->blocks);
      if (&one == &chains[0]) applied = change_contract(one->contract, random) || applied;
    }
    write(random);
    if (applied || which == macro_mutation::none) schedule_outer();
    if (below(random, 4) == 0 && which == macro_mutation::none) reorder(random);
    if (!applied) applied = change_flow(random);
    if (schedule && which == macro_mutation::dropped_heads) reorder(random);
  }

  /// Of all conditions, the chains' first.
  hp::macro_status prove() {
    const hp::tier_capacities tiers{&capacity, 1};
    for (auto& one : chains) {
      const hp::macro_status found = hp::prove_chain(one->chain(), tiers);
      if (found.code != hp::macro_code::ok) return found;
    }
    return hp::prove_macro_tasks(flow, *schedule, tiers, table(), chains[0]->contract, chains[1]->contract);
  }
  hp::macro_table table() const { return {instance.data(), static_cast<int>(instance.size()), block.data()}; }
  int queues() const { return hp::queue_count(machine); }

  /// The unrolled flow with its queues.
  struct unrolled {
    explicit unrolled(macro_world& w) : flow(measured(w)), schedule(flow_tasks, w.queues()), exact(size, w.queues()) {
      const auto a = w.chains[0]->chain(), b = w.chains[1]->chain();
      hp::unroll_macro_tasks(w.flow, w.table(), a, b)(flow);
      hp::seal(flow);
      complete = hp::unroll_schedule(flow, w.flow, *w.schedule, w.table(), schedule, exact, a, b);
    }
    const hp::taskflow_size& measured(macro_world& w) {
      size = hp::measure(hp::unroll_macro_tasks(w.flow, w.table(), w.chains[0]->chain(), w.chains[1]->chain()));
      flow_tasks = size.tasks;
      return size;
    }
    hp::taskflow_size size;
    int flow_tasks = 0;
    hp::owned_taskflow flow;
    hp::owned_schedule schedule;
    hp::detail::owned_exact_scratch exact;
    bool complete = false;
  };

  hp::machine_shape machine{};
  std::unique_ptr<chain_world> chains[2];
  hp::owned_taskflow flow;
  std::unique_ptr<hp::owned_schedule> schedule;
  std::vector<hp::macro_instance> instance;
  std::vector<hp::macro_block> block;
  std::int64_t capacity = std::int64_t{1} << 40;
  macro_mutation which;
  bool applied = false;

 private:
  static hp::taskflow_size room() { return {400, 8000, 2000, 4000, 2000, 16, 2000, 4000, 400}; }
  static std::size_t pick(std::mt19937& random, std::size_t n) {
    return static_cast<std::size_t>(below(random, static_cast<int>(n)));
  }

  /// Waits of a use for all that it meets.
  void guard(std::mt19937& random, const std::vector<guarded_use>& earlier, const guarded_use& u,
             std::vector<int>& events) const {
    for (const guarded_use& o : earlier)
      if (meet(o, u) && std::find(events.begin(), events.end(), o.event) == events.end() &&
          (which != macro_mutation::none || below(random, 200) != 0))
        events.push_back(o.event);
  }

  void write_task(std::mt19937& random, std::vector<guarded_use>& uses) {
    const int event = hp::add_event(flow, 0);
    hp::add_task(flow, static_cast<hp::resource>(below(random, 3)), below(random, machine.ranks), 1 + below(random, 9),
                 100, 0);
    std::vector<int> events;
    std::vector<guarded_use> own;
    for (int u = 1 + below(random, 2); u > 0; --u) {
      const int begin = below(random, 40), slot = below(random, flow.size.slots);
      const guarded_use use{slot, {begin, begin + 1 + below(random, 6)}, below(random, 2) == 0, event};
      guard(random, uses, use, events);
      own.push_back(use);
      hp::add_access(flow, slot, use.units.begin, use.units.end,
                     use.writes ? hp::access_mode::write : hp::access_mode::read);
    }
    for (const int e : events) hp::add_wait(flow, e);
    hp::add_signal(flow, event);
    uses.insert(uses.end(), own.begin(), own.end());
  }

  /// Blocks of an instance on intervals of slots that no other block of it has.
  bool place_blocks(std::mt19937& random, const chain_world& one, int first_rank, std::vector<hp::macro_block>& at) {
    std::vector<guarded_use> taken;
    for (int b = 0; b < one.blocks; ++b) {
      const hp::slot own = one.contract.block[b];
      bool placed = false;
      for (int turn = 0; turn < 40 && !placed; ++turn) {
        const int slot = below(random, flow.size.slots);
        const bool whole = own.offset + own.bytes == hp::whole_slot;
        const int begin = whole ? below(random, 3) : below(random, 24);
        const int first = begin + static_cast<int>(own.offset);
        const guarded_use use{slot, {first, whole ? hp::whole_slot : first + static_cast<int>(own.bytes)}, true, 0};
        if (flow.slot[slot].rank != own.rank + first_rank) continue;
        placed = true;
        for (const guarded_use& o : taken) placed = placed && !meet(o, use);
        if (!placed) continue;
        taken.push_back(use);
        at.push_back({slot, begin});
      }
      if (!placed) return false;
    }
    return true;
  }

  void write_instance(std::mt19937& random, std::vector<guarded_use>& uses, int& first_event) {
    const int kind = which == macro_mutation::none ? below(random, 2) : below(random, 4) / 3;
    const chain_world& one = *chains[kind];
    const int first_rank = below(random, machine.ranks - one.contract.machine.ranks + 1);
    std::vector<hp::macro_block> at;
    if (!place_blocks(random, one, first_rank, at)) return;
    const auto& c = one.contract;
    const int event = hp::add_event(flow, first_rank, c.queues);
    std::vector<std::vector<int>> events(static_cast<std::size_t>(c.queues));
    std::vector<guarded_use> own;
    for (int i = 0; i < c.queues; ++i)
      for (int b = 0; b < c.blocks; ++b)
        for (const bool writes : {false, true}) {
          const hp::slot_interval u = (writes ? c.write : c.read)[i * c.blocks + b];
          if (u.begin >= u.end) continue;
          const hp::macro_block to = at[static_cast<std::size_t>(b)];
          const guarded_use use{to.slot, hp::detail::mapped_interval(u, to.begin), writes, event + i};
          guard(random, uses, use, events[static_cast<std::size_t>(i)]);
          own.push_back(use);
        }
    const int number = static_cast<int>(instance.size()) + 1, first_block = static_cast<int>(block.size());
    const int first = hp::add_instance(
        flow, c, number, first_rank, at.data(),
        [&](auto& f, int i) {
          for (const int e : events[static_cast<std::size_t>(i)]) hp::add_wait(f, e);
        },
        [&](auto& f, int i) { hp::add_signal(f, event + i); });
    instance.push_back({kind, first, first_rank, first_event, first_block});
    first_event += c.events;
    block.insert(block.end(), at.begin(), at.end());
    uses.insert(uses.end(), own.begin(), own.end());
  }

  void write(std::mt19937& random) {
    for (int r = 0; r < machine.ranks; ++r) hp::add_slot(flow, r, 0, 0, 64, 4, 64);
    std::vector<guarded_use> uses;
    int first_event = 0;
    for (int step = 3 + below(random, 6); step > 0; --step) {
      if (below(random, 5) < 3) {
        write_instance(random, uses, first_event);
      } else {
        write_task(random, uses);
      }
    }
    hp::seal(flow);
    flow.thresholds = 1;
    for (auto& one : instance) one.first_event += flow.size.events;
  }

  void schedule_outer() {
    schedule = std::make_unique<hp::owned_schedule>(flow.size.tasks, queues());
    std::vector<std::int64_t> room_of_load(static_cast<std::size_t>(queues() + 1));
    std::int64_t* const load = room_of_load.data();
    hp::schedule_macro_tasks(flow, machine, table(), *schedule, load, chains[0]->contract, chains[1]->contract);
  }

  /// Queues as lists into the schedule, with an order if there is one.
  static bool freeze(const hp::dynamic_taskflow& f, const std::vector<std::vector<int>>& lists,
                     hp::dynamic_schedule& s) {
    int position = 0;
    for (std::size_t q = 0; q < lists.size(); ++q) {
      s.queue_begin[q] = position;
      for (const int t : lists[q]) {
        s.queue[t] = static_cast<int>(q);
        s.queue_task[position++] = t;
      }
    }
    s.queue_begin[lists.size()] = position;
    hp::detail::owned_exact_scratch x(f.size, static_cast<int>(lists.size()));
    return hp::detail::derive_order(f, s, x);
  }

  std::vector<std::vector<int>> lists_of_queues() const {
    std::vector<std::vector<int>> lists(static_cast<std::size_t>(queues()));
    for (std::size_t q = 0; q < lists.size(); ++q)
      lists[q].assign(schedule->queue_task + schedule->queue_begin[q],
                      schedule->queue_task + schedule->queue_begin[q + 1]);
    return lists;
  }

  /// A head goes before what its queue runs before it, with its tail: the queue's order is no longer the flow's.
  void reorder(std::mt19937& random) {
    if (instance.empty()) return;
    auto lists = lists_of_queues();
    const int t = random_member(random, 0), n = chains[instance_of(t).chain]->contract.queues;
    auto& list = lists[static_cast<std::size_t>(schedule->queue[t])];
    const auto at = std::find(list.begin(), list.end(), t) - list.begin();
    auto to = below(random, static_cast<int>(at) + 1);
    if (flow.task[list[static_cast<std::size_t>(to)]].instance > 0) --to;
    list.erase(list.begin() + at, list.begin() + at + 2);
    list.insert(list.begin() + to, {t, t + n});
    freeze(flow, lists, *schedule);
  }

  bool change_chain(chain_world& one, std::mt19937& random) {
    if (which == macro_mutation::slots_overlapped && below(random, 2) == 0) {
      const std::size_t a = pick(random, one.place.size()), b = pick(random, one.place.size());
      hp::macro_place &x = one.place[a], &y = one.place[b];
      if (a == b || one.plan.place[a].rank != one.plan.place[b].rank || x.end == hp::whole_slot) return false;
      y = {x.block, x.begin + below(random, 3), x.end + 3};
      return true;
    }
    return false;
  }

  bool change_contract(hp::owned_macro_contract& c, std::mt19937& random) {
    const int cells = c.queues * c.blocks;
    switch (which) {
      case macro_mutation::dropped_access: {
        hp::slot_interval& u = (below(random, 2) == 0 ? c.read : c.write)[below(random, cells)];
        if (below(random, 2) == 0 || u.begin == u.end) return false;
        u = {0, 0};
        hp::detail::sum_up(c);
        return true;
      }
      case macro_mutation::read_for_write: {
        const int i = below(random, cells);
        if (below(random, 2) == 0 || c.write[i].begin == c.write[i].end) return false;
        hp::detail::widen(c.read[i], c.write[i]);
        c.write[i] = {0, 0};
        hp::detail::sum_up(c);
        return true;
      }
      case macro_mutation::dropped_heads: {
        const int i = below(random, c.queues), j = below(random, c.queues);
        if (below(random, 2) == 0 || i == j || !c.needs[i * c.queues + j]) return false;
        for (int k = 0; k < c.queues; ++k) c.needs[i * c.queues + k] = i == k;
        hp::detail::sum_up(c);
        return true;
      }
      case macro_mutation::changed_queue_order: {
        chain_world& one = *chains[0];
        auto lists = one.plan.queue;
        auto& q = lists[pick(random, lists.size())];
        if (q.size() < 2) return false;
        const std::size_t i = pick(random, q.size() - 1);
        std::swap(q[i], q[i + 1]);
        freeze(one.made.flow, lists, one.made.schedule);
        return true;
      }
      default:
        return false;
    }
  }

  int random_member(std::mt19937& random, int end) const {
    const hp::macro_instance& one = instance[pick(random, instance.size())];
    const int n = chains[one.chain]->contract.queues;
    return one.first_task + end * n + below(random, n);
  }

  bool drop_wait(int t, std::mt19937& random) {
    hp::task& k = flow.task[t];
    if (k.wait_begin == k.wait_end) return false;
    std::swap(flow.wait[k.wait_begin + below(random, k.wait_end - k.wait_begin)], flow.wait[k.wait_end - 1]);
    --k.wait_end;
    return true;
  }

  bool change_flow(std::mt19937& random) {
    bool changed = false;
    if (instance.empty()) return false;
    switch (which) {
      case macro_mutation::none:
        return false;
      case macro_mutation::dropped_access:
      case macro_mutation::read_for_write: {
        // Of head and tail, which share them, or of one of them.
        const int t = random_member(random, 0), n = chains[instance_of(t).chain]->contract.queues;
        const int one = below(random, 3);
        hp::task &head = flow.task[t], &tail = flow.task[t + n];
        if (head.access_begin == head.access_end) return false;
        hp::access& u = flow.access[head.access_begin + below(random, head.access_end - head.access_begin)];
        if (which == macro_mutation::read_for_write) {
          if (u.mode == hp::access_mode::read) return false;
          u.mode = hp::access_mode::read;
        } else {
          std::swap(u, flow.access[head.access_end - 1]);
          head.access_end -= one != 1;
          tail.access_end -= one != 2;
          flow.size.access_uses -= one == 0 ? 2 : 1;
        }
        // Who no longer meets it no longer waits for it, in part of the cases.
        if (below(random, 2) == 0) drop_wait(t, random);
        changed = true;
        break;
      }
      case macro_mutation::slots_overlapped: {
        const hp::macro_instance& one = instance[pick(random, instance.size())];
        const int n = chains[one.chain]->blocks, a = below(random, n), b = below(random, n);
        const auto& c = chains[one.chain]->contract;
        if (a == b || c.block[a].rank != c.block[b].rank) return false;
        hp::macro_block &x = block[static_cast<std::size_t>(one.first_block + a)],
                        &y = block[static_cast<std::size_t>(one.first_block + b)];
        const hp::macro_block was = y;
        y = {x.slot, x.begin + below(random, 3)};
        // Heads say so, too, and tails with them.
        for (int m = 0; m < c.queues; ++m) {
          const hp::task& k = flow.task[one.first_task + m];
          for (int u = k.access_begin; u < k.access_end; ++u) {
            hp::access& use = flow.access[u];
            const std::int64_t begin = was.begin + c.block[b].offset;
            if (use.slot != was.slot || use.begin < begin || use.begin >= begin + c.block[b].bytes) continue;
            use.slot = y.slot;
            use.begin += y.begin - was.begin;
            if (use.end != hp::whole_slot) use.end += y.begin - was.begin;
          }
        }
        changed = true;
        break;
      }
      case macro_mutation::dropped_head_wait:
        changed = drop_wait(random_member(random, 0), random);
        break;
      case macro_mutation::tail_not_awaited: {
        const int t = below(random, flow.size.tasks);
        changed = flow.task[t].instance == 0 && drop_wait(t, random);
        break;
      }
      case macro_mutation::dropped_heads:
        changed = drop_wait(random_member(random, 1), random);
        break;
      case macro_mutation::private_slot_read: {
        // Another task, without a wait, uses what an instance uses.
        const int t = random_member(random, 1), o = below(random, flow.size.tasks);
        hp::task& other = flow.task[o];
        const hp::task& k = flow.task[t];
        if (other.instance != 0 || k.access_begin == k.access_end ||
            flow.task[o].access_end == flow.task[o].access_begin)
          return false;
        const hp::access from = flow.access[k.access_begin + below(random, k.access_end - k.access_begin)];
        hp::access& into = flow.access[other.access_begin];
        if (flow.slot[from.slot].rank != other.rank && below(random, 2) == 0) return false;
        into.slot = from.slot;
        into.begin = from.begin;
        into.end = from.end;
        if (from.mode == hp::access_mode::read || below(random, 3) == 0) into.mode = hp::access_mode::write;
        changed = true;
        break;
      }
      case macro_mutation::shared_event: {
        const std::size_t a = pick(random, instance.size()), b = pick(random, instance.size());
        if (a == b) return false;
        if (below(random, 3) != 0) {
          instance[b].first_event = instance[a].first_event;
        } else {  // the head's events
          const int t = instance[a].first_task, o = instance[b].first_task;
          if (flow.task[t].signal_begin == flow.task[t].signal_end ||
              flow.task[o].signal_begin == flow.task[o].signal_end)
            return false;
          const int from = flow.signal[flow.task[o].signal_begin], to = flow.signal[flow.task[t].signal_begin];
          for (int g = 0; g < flow.size.signals; ++g)
            if (flow.signal[g] == from) flow.signal[g] = to;
          for (int w = 0; w < flow.size.waits; ++w)
            if (flow.wait[w].event == from) flow.wait[w].event = to;
          flow.event[to].signals += flow.event[from].signals;
          flow.event[from].signals = 0;
        }
        changed = true;
        break;
      }
      case macro_mutation::foreign_task_between: {
        schedule_outer();
        auto lists = lists_of_queues();
        const int t = random_member(random, 0);
        auto& list = lists[static_cast<std::size_t>(schedule->queue[t])];
        const int moved = list[pick(random, list.size())];
        if (std::abs(flow.task[moved].instance) == std::abs(flow.task[t].instance)) return false;
        list.erase(std::find(list.begin(), list.end(), moved));
        list.insert(std::find(list.begin(), list.end(), t) + 1, moved);
        freeze(flow, lists, *schedule);
        return true;
      }
      case macro_mutation::changed_queue_order:
        return false;
    }
    schedule_outer();
    return changed;
  }

  const hp::macro_instance& instance_of(int t) const {
    return instance[static_cast<std::size_t>(std::abs(flow.task[t].instance) - 1)];
  }
};

}  // namespace taskflow_test
