// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans of the kinds that a lowering writes, small enough for every interleaving and, with other numbers, large.

#include <string>

#include "flows.hpp"

namespace taskflow_test {

/// Writes a loose plan: slots one behind the other in their tier, tasks in reference order.
struct plan_writer {
  loose_plan plan;

  explicit plan_writer(const hp::machine_shape& machine) { plan.machine = machine; }

  int events(int count) {
    plan.events += count;
    return plan.events - count;
  }
  int slots(int count, int rank, std::int64_t bytes, int tier = 0) {
    const auto t = static_cast<std::size_t>(tier);
    if (plan.capacity.size() <= t) plan.capacity.resize(t + 1);
    for (int i = 0; i < count; ++i) {
      std::int64_t offset = 0;
      for (const hp::slot& s : plan.place)
        if (s.rank == rank && s.tier == tier) offset = s.offset + s.bytes;
      plan.place.push_back({rank, tier, offset, bytes});
      plan.capacity[t] = std::max(plan.capacity[t], offset + bytes);
    }
    plan.slots += count;
    return plan.slots - count;
  }
  plan_writer& task(hp::resource kind, int rank, std::int64_t duration, int pair = -1) {
    plan.task.push_back({kind, rank, duration, {}, {}, {}, pair});
    return *this;
  }
  plan_writer& wait(int event, int threshold = hp::all_signals) {
    plan.task.back().waits.push_back({event, threshold});
    return *this;
  }
  plan_writer& signal(int event) {
    plan.task.back().signals.push_back(event);
    return *this;
  }
  plan_writer& read(int slot, int begin = 0, int end = hp::whole_slot) {
    plan.task.back().accesses.push_back({slot, begin, end, hp::access_mode::read});
    return *this;
  }
  plan_writer& write(int slot, int begin = 0, int end = hp::whole_slot) {
    plan.task.back().accesses.push_back({slot, begin, end, hp::access_mode::write});
    return *this;
  }
  loose_plan frozen(hp::priority policy) {
    schedule_queues(plan, policy);
    freeze_thresholds(plan);
    return plan;
  }
};

/// Experts of a MoE layer over ranks: rows of every source are put into an expert's slot, products of `tiles` tasks and an
/// activation follow, results go back to their sources. Serialized, a stage waits for all of the one before it.
inline loose_plan experts_plan(int ranks, int experts, int tiles, bool serialized, hp::priority policy) {
  plan_writer w({ranks, {2, 1, 1, 0, 0}});
  const auto at = [&](int r, int e) { return r * experts + e; };
  const int all = ranks * experts, routed = w.events(all), gate = w.events(all), active = w.events(all),
            down = w.events(all), back = w.events(ranks), size = 8 * tiles;
  std::vector<int> token, in, wide, act, out, home;
  for (int r = 0; r < ranks; ++r) token.push_back(w.slots(1, r, size * all));
  for (std::vector<int>* const slots : {&in, &wide, &act, &out})
    for (int r = 0; r < ranks; ++r)
      for (int e = 0; e < experts; ++e) slots->push_back(w.slots(1, r, size * ranks));
  for (int r = 0; r < ranks; ++r) home.push_back(w.slots(1, r, size * all));
  const auto slot = [&](const std::vector<int>& of, int r, int e) { return of[static_cast<std::size_t>(at(r, e))]; };
  const auto wait_for = [&](int stage, int r, int e) {
    for (int k = serialized ? 0 : e; k < (serialized ? experts : e + 1); ++k) w.wait(stage + at(r, k));
  };
  for (int e = 0; e < experts; ++e)
    for (int from = 0; from < ranks; ++from)
      for (int k = 1; k <= ranks; ++k) {
        const int to = (from + k) % ranks, first = size * at(to, e);
        w.task(hp::resource::link, from, 6 + k).signal(routed + at(to, e));
        w.read(token[static_cast<std::size_t>(from)], first, first + size);
        w.write(slot(in, to, e), size * from, size * from + size);
      }
  const auto products = [&](int waits, int signals, const std::vector<int>& from, const std::vector<int>& to, int r,
                            int e) {
    const int part = size * ranks / tiles;
    for (int i = 0; i < tiles; ++i) {
      w.task(hp::resource::aic, r, 9 + i % 2).signal(signals + at(r, e));
      wait_for(waits, r, e);
      w.read(slot(from, r, e)).write(slot(to, r, e), part * i, part * i + part);
    }
  };
  const auto activate = [&](int r, int e) {
    w.task(hp::resource::aiv, r, 4).signal(active + at(r, e));
    wait_for(gate, r, e);
    w.read(slot(wide, r, e)).write(slot(act, r, e));
  };
  const auto send_back = [&](int r, int e) {
    for (int k = 1; k <= ranks; ++k) {
      const int to = (r + k) % ranks, first = size * at(r, e);
      w.task(hp::resource::link, r, 6 + k).signal(back + to);
      wait_for(down, r, e);
      w.read(slot(out, r, e), size * to, size * to + size);
      w.write(home[static_cast<std::size_t>(to)], first, first + size);
    }
  };
  for (int stage = 0; stage < 4; ++stage)
    for (int r = 0; r < ranks; ++r)
      for (int e = 0; e < experts; ++e) switch (stage) {
          case 0:
            products(routed, gate, in, wide, r, e);
            break;
          case 1:
            activate(r, e);
            break;
          case 2:
            products(active, down, act, out, r, e);
            break;
          default:
            send_back(r, e);
        }
  for (int r = 0; r < ranks; ++r)
    w.task(hp::resource::aiv, r, 12).wait(back + r).read(home[static_cast<std::size_t>(r)]);
  return w.frozen(policy);
}

/// Weights of `experts` take turns in `buffers` buffers, each read by `tiles` matmuls; the copies' progress word says
/// which have arrived.
inline loose_plan window_plan(int experts, int buffers, int tiles, hp::priority policy) {
  plan_writer w({1, {2, 0, 0, 1, 0, 0}});
  const int ready = w.events(1), freed = w.events(experts), source = w.slots(experts, 0, 32, 1);
  const int buffer = w.slots(buffers, 0, 32), result = w.slots(experts, 0, 8 * tiles);
  for (int e = 0; e < experts; ++e) {
    w.task(hp::resource::copy_in, 0, 7).signal(ready).read(source + e).write(buffer + e % buffers);
    if (e >= buffers) w.wait(freed + e - buffers);
    for (int i = 0; i < tiles; ++i)
      w.task(hp::resource::aic, 0, 5 + i % 3)
          .wait(ready, e + 1)
          .signal(freed + e)
          .read(buffer + e % buffers)
          .write(result + e, 8 * i, 8 * i + 8);
  }
  return w.frozen(policy);
}

/// All-gather → matmul: every rank puts its shard into the gather buffer of every other one, part by part, and each
/// part releases its matmul tile. `steps` layers take turns in one buffer: a put waits until its reader is done.
inline loose_plan gather_plan(int ranks, int steps, hp::priority policy) {
  plan_writer w({ranks, {1, 0, 1, 0, 0}});
  std::vector<int> shard, gathered, result;
  for (int r = 0; r < ranks; ++r) {
    shard.push_back(w.slots(1, r, 16));
    gathered.push_back(w.slots(1, r, 16 * ranks));
    result.push_back(w.slots(steps, r, 16 * ranks));
  }
  const auto event = [&, first = w.events(2 * steps * ranks * ranks)](int what, int step, int to, int from) {
    return first + ((what * steps + step) * ranks + to) * ranks + from;
  };
  for (int s = 0; s < steps; ++s) {
    for (int from = 0; from < ranks; ++from)
      for (int k = 1; k < ranks; ++k) {
        const int to = (from + k) % ranks, into = gathered[static_cast<std::size_t>(to)];
        w.task(hp::resource::link, from, 6 + k).signal(event(0, s, to, from));
        if (s > 0) w.wait(event(1, s - 1, to, from));
        w.read(shard[static_cast<std::size_t>(from)]).write(into, 16 * from, 16 * from + 16);
      }
    for (int r = 0; r < ranks; ++r)
      for (int k = 0; k < ranks; ++k) {
        const int from = (r + k) % ranks, into = result[static_cast<std::size_t>(r)] + s;
        w.task(hp::resource::aic, r, 9);
        if (from == r) {
          w.read(shard[static_cast<std::size_t>(r)]);
        } else {
          w.wait(event(0, s, r, from)).signal(event(1, s, r, from));
          w.read(gathered[static_cast<std::size_t>(r)], 16 * from, 16 * from + 16);
        }
        w.write(into, 16 * from, 16 * from + 16);
      }
  }
  return w.frozen(policy);
}

/// Matmul → reduce-scatter: tile i of every rank goes to rank i % ranks, which adds what arrives in rising rank.
inline loose_plan scatter_plan(int ranks, int tiles, hp::priority policy) {
  plan_writer w({ranks, {1, 1, 1, 0, 0}});
  std::vector<int> partial, staged, sum;
  for (int r = 0; r < ranks; ++r) {
    partial.push_back(w.slots(1, r, 8 * tiles));
    staged.push_back(w.slots(1, r, 8 * tiles * ranks));
    sum.push_back(w.slots(1, r, 8 * tiles));
  }
  const int made = w.events(ranks * tiles), arrived = w.events(ranks * tiles), added = w.events(ranks * tiles);
  for (int i = 0; i < tiles; ++i) {
    const int owner = i % ranks, into = staged[static_cast<std::size_t>(owner)];
    for (int r = 0; r < ranks; ++r) {
      const int own = partial[static_cast<std::size_t>(r)], at = 8 * (i * ranks + r);
      w.task(hp::resource::aic, r, 8).signal(made + i * ranks + r).write(own, 8 * i, 8 * i + 8);
      w.task(hp::resource::link, r, 3).wait(made + i * ranks + r).signal(arrived + i * ranks + r);
      w.read(own, 8 * i, 8 * i + 8).write(into, at, at + 8);
    }
    for (int r = 0; r < ranks; ++r) {
      const int at = 8 * (i * ranks + r);
      w.task(hp::resource::aiv, owner, 2).wait(arrived + i * ranks + r).signal(added + i * ranks + r);
      if (r > 0) w.wait(added + i * ranks + r - 1);
      w.read(into, at, at + 8).write(sum[static_cast<std::size_t>(owner)], 8 * i, 8 * i + 8);
    }
  }
  return w.frozen(policy);
}

/// Messages between ranks by rendezvous: the receiver offers its buffer and blocks its link until the data are there,
/// the sender waits for the offer. `from[m]` sends message m to the next rank.
inline loose_plan rendezvous_plan(int ranks, const std::vector<int>& from, int buffers) {
  plan_writer w({ranks, {1, 0, 1, 0, 0}});
  const int messages = static_cast<int>(from.size());
  std::vector<int> source, inbox, last(static_cast<std::size_t>(ranks * buffers), -1);
  std::vector<int> received(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    source.push_back(w.slots(messages, r, 8));
    inbox.push_back(w.slots(buffers, r, 8));
  }
  const int made = w.events(messages), offered = w.events(messages), sent = w.events(messages);
  const int complete = w.events(messages), used = w.events(messages);
  for (int m = 0; m < messages; ++m) {
    const int s = from[static_cast<std::size_t>(m)], r = (s + 1) % ranks;
    const int turn = received[static_cast<std::size_t>(r)]++ % buffers;
    const int data = source[static_cast<std::size_t>(s)] + m, into = inbox[static_cast<std::size_t>(r)] + turn;
    int& tenant = last[static_cast<std::size_t>(r * buffers + turn)];
    w.task(hp::resource::aic, s, 4).signal(made + m).write(data);
    w.task(hp::resource::link, r, 1, m).signal(offered + m);
    if (tenant >= 0) w.wait(used + tenant);
    w.task(hp::resource::link, s, 5, m).wait(made + m).wait(offered + m).signal(sent + m).read(data).write(into);
    w.task(hp::resource::link, r, 1, m).wait(sent + m).signal(complete + m);
    w.task(hp::resource::aic, r, 6).wait(complete + m).signal(used + m).read(into);
    tenant = m;
  }
  return w.frozen(hp::priority::reference_order);
}

/// Forward and backward of `batches` micro-batches through `stages` ranks; a stage keeps `kept` activations, so a
/// forward waits until the backward that used its place is done.
inline loose_plan pipeline_plan(int stages, int batches, int kept, hp::priority policy) {
  plan_writer w({stages, {1, 0, 1, 0, 0}});
  std::vector<int> activation, gradient;
  for (int s = 0; s < stages; ++s) {
    activation.push_back(w.slots(kept, s, 8));
    gradient.push_back(w.slots(batches, s, 8));
  }
  enum { computed, sent, derived, returned, kinds };
  const auto event = [&, first = w.events(kinds * stages * batches)](int kind, int s, int b) {
    return first + (kind * stages + s) * batches + b;
  };
  const auto place = [&](int s, int b) { return activation[static_cast<std::size_t>(s)] + b % kept; };
  const auto forward = [&](int b) {
    for (int s = 0; s < stages; ++s) {
      if (s > 0) {
        w.task(hp::resource::link, s - 1, 2).wait(event(computed, s - 1, b)).signal(event(sent, s, b));
        if (b >= kept) w.wait(event(derived, s, b - kept));
        w.read(place(s - 1, b)).write(place(s, b), 0, 4);
      }
      w.task(hp::resource::aic, s, 5).signal(event(computed, s, b));
      if (s > 0) w.wait(event(sent, s, b)).read(place(s, b), 0, 4);
      if (b >= kept) w.wait(event(derived, s, b - kept));
      w.write(place(s, b), s > 0 ? 4 : 0, 8);
    }
  };
  const auto backward = [&](int b) {
    for (int s = stages - 1; s >= 0; --s) {
      const int own = gradient[static_cast<std::size_t>(s)] + b;
      if (s + 1 < stages) {
        w.task(hp::resource::link, s + 1, 2).wait(event(derived, s + 1, b)).signal(event(returned, s, b));
        w.read(gradient[static_cast<std::size_t>(s + 1)] + b).write(own, 0, 4);
      }
      w.task(hp::resource::aic, s, 8).signal(event(derived, s, b)).read(place(s, b));
      w.wait(s + 1 < stages ? event(returned, s, b) : event(computed, s, b));
      // The activation was sent on: its place is free for the next one when that has been read, too.
      if (s + 1 < stages) w.wait(event(sent, s + 1, b)).read(own, 0, 4);
      w.write(own, 4, 8);
    }
  };
  for (int b = 0; b < batches + kept; ++b) {
    if (b < batches) forward(b);
    if (b >= kept - 1 && b - kept + 1 < batches) backward(b - kept + 1);
  }
  return w.frozen(policy);
}

struct named_plan {
  std::string name;
  loose_plan plan;
};

/// Real plans of at most 60 tasks.
inline std::vector<named_plan> small_real_plans() {
  constexpr auto rank = hp::priority::upward_rank, listed = hp::priority::reference_order;
  std::vector<named_plan> all;
  const auto add = [&](const char* name, loose_plan p) {
    freeze_thresholds(p);
    all.push_back({name, std::move(p)});
  };
  const hp::machine_shape machine{1, {2, 1, 1, 0, 0}};
  add("MoE tiles", loosen(moe_tiles{6, 1, 0}, machine));
  add("MoE tiles, 2 buffers", loosen(moe_tiles{6, 1, 2}, machine));
  add("MoE tiles, 1 buffer", loosen(moe_tiles{5, 1, 1}, machine));
  add("experts, 1 rank", experts_plan(1, 3, 2, false, listed));
  add("experts, 2 ranks", experts_plan(2, 2, 2, false, listed));
  add("experts, 2 ranks, by rank", experts_plan(2, 2, 3, false, rank));
  add("experts, serialized", experts_plan(2, 2, 2, true, rank));
  add("weight window", window_plan(10, 3, 4, listed));
  add("all-gather, matmul, 2 ranks", gather_plan(2, 8, rank));
  add("all-gather, matmul, 3 ranks", gather_plan(3, 3, listed));
  add("matmul, reduce-scatter", scatter_plan(2, 6, rank));
  add("rendezvous, 2 ranks", rendezvous_plan(2, {0, 1, 0, 0, 1, 1, 0}, 2));
  add("rendezvous, 3 ranks", rendezvous_plan(3, {0, 1, 2, 0, 1, 2}, 1));
  add("pipeline, 3 stages", pipeline_plan(3, 5, 3, rank));
  add("pipeline, 2 stages", pipeline_plan(2, 9, 3, listed));
  return all;
}

/// A real plan of random numbers, of fewer than 30 tasks.
inline loose_plan random_real_plan(std::mt19937& random) {
  const hp::priority policy = below(random, 2) == 0 ? hp::priority::upward_rank : hp::priority::reference_order;
  const int kind = below(random, 6), n = below(random, 2), two = below(random, 2), three = below(random, 3);
  std::vector<int> from(static_cast<std::size_t>(3 + three));
  for (int& r : from) r = below(random, 2 + n);
  loose_plan p = kind == 0   ? loosen(moe_tiles{1 + n, 1, three}, {1, {2, 1, 1, 0, 0}}, policy)
                 : kind == 1 ? window_plan(2 + three, 1 + two, 1 + 2 * n + two, policy)
                 : kind == 2 ? gather_plan(2 + n, 1 + three * (1 - n), policy)
                 : kind == 3 ? scatter_plan(2, 1 + two, policy)
                 : kind == 4 ? rendezvous_plan(2 + n, from, 1 + two)
                             : pipeline_plan(2, 1 + three, 1 + two, policy);
  freeze_thresholds(p);
  return p;
}

}  // namespace taskflow_test
