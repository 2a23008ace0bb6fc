// SPDX-License-Identifier: Apache-2.0
#pragma once
// A pipeline schedule as a taskflow: each compute action a task of its rank's matrix core, in the schedule's order; each
// message an event that its consumer waits for and a slot that its producer writes and its consumer reads, so that the
// verifier proves each dependency between ranks.
//
// With link tasks a message is a task of the sender's link, which lasts the latency and occupies it; without them the
// latency is the simulator's `synchronisation`, and times are those of `replay`. Law, held by tests: without link tasks
// makespan, starts and ends equal the replay's; with them they are no earlier.
//
// Precondition: `check_schedule(s)` is ok. Transfers and actions of parameters in the lists are left out: the flow has its own.

#include <hyperparallel/pipeline/message_places.hpp>
#include <hyperparallel/pipeline/pipeline.hpp>
#include <hyperparallel/pipeline/replay_state.hpp>
#include <hyperparallel/taskflow/builder.hpp>
#include <hyperparallel/taskflow/static_taskflow.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Durations by kind of action, of one stage and micro-batch.
struct task_times {
  std::int64_t of[action_kinds] = {};
  constexpr void set(const stage_times& t) {
    of[static_cast<int>(action_kind::forward)] = of[static_cast<int>(action_kind::overlapped_forward)] = t.forward;
    of[static_cast<int>(action_kind::input_gradient)] = t.input_gradient;
    of[static_cast<int>(action_kind::weight_gradient)] = t.weight_gradient;
    of[static_cast<int>(action_kind::backward)] = t.backward();
  }
};

/// An event and a slot of one unit for each message, in the order of `places`. Returns how many.
template <class Flow, class Places>
constexpr int fill_messages(Flow& f, const Places& places, int ranks) {
  const int first_event = f.size.events, first_slot = f.size.slots;
  // Records are changed and copied: a constant evaluation pays more to make one.
  event in_memory{0, 1};
  slot address{0, 0, 0, 1};
  int number = 0;
  for (int r = 0; r < ranks; ++r) {
    in_memory.rank = address.rank = r;
    for (const int past = places.end.item[r]; number < past; number = number + 1) {
      address.offset = first_slot + number;
      f.event[first_event + number] = in_memory;
      f.slot[first_slot + number] = address;
    }
  }
  return number;
}

/// Places of the actions of micro-batches in the rows, in an order in which they can be executed: ranks in turn, upwards
/// and downwards, each as far as it goes. A pair stands there as its forward.
template <class Sizes>
constexpr typename Sizes::template per_entry<int> executable_order(const basic_pipeline_schedule<Sizes>& s) {
  constexpr int forward = kind_of_code::forward, weight_gradient = kind_of_code::weight_gradient;
  constexpr int pair = kind_of_code::overlapped_forward, recompute = kind_of_code::recompute;
  const int m = s.micro_batches, n = s.stages * m, ranks = s.ranks;
  // As in a replay: row `stage` of `input` is what F of the stage needs, row `stage` + 1 of `gradient` what I and B do.
  typename Sizes::template per_chunk<bool> input, gradient;
  (append_zeros(input, n + m), append_zeros(gradient, n + m));
  for (int k = 0; k < m; ++k) input.item[k] = gradient.item[n + k] = true;
  typename Sizes::template per_rank<int> position;
  for (int r = 0; r < ranks; ++r) position.push(s.first.item[r]);
  typename Sizes::template per_entry<int> order;
  append_zeros(order, s.action.size);
  auto& code = s.action.item;
  auto& has_input = input.item;
  auto& has_gradient = gradient.item;
  auto& entry = order.item;
  int actions = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (int turn = 0; turn < 2 * ranks; ++turn) {
      const int r = turn < ranks ? turn : 2 * ranks - 1 - turn;
      const int begin = position.item[r], end = s.first.item[r + 1];
      int at = begin;
      for (; at < end; at = at + 1) {
        const int x = code[at];
        if (x < 0) continue;
        const int kind = x / n, y = x - kind * n;
        if (kind > pair && kind != recompute) continue;
        entry[actions] = at;
        if (kind == forward || kind == pair) {
          if (!has_input[y]) break;
          if (kind == pair) {
            int next = at + 1;
            while (code[next] == idle_slot) ++next;
            const int z = code[next] % n;
            if (!has_gradient[z + m]) break;
            has_gradient[z] = true;
            at = next;
          }
          has_input[y + m] = true;
        } else if (kind < pair && kind != weight_gradient) {
          if (!has_gradient[y + m]) break;
          has_gradient[y] = true;
        }
        actions = actions + 1;
      }
      if (at == begin) continue;
      position.item[r] = at;
      moved = true;
    }
  }
  order.size = actions;
  return order;
}

/// A task like `transfer` that waits for message `sent` in the sender's memory and copies it to `received`, in the
/// receiver's.
template <class Flow>
constexpr void append_transfer(Flow& f, task transfer, int sent, int received, int further_runs, int& tasks, int& waits,
                               int& signals, int& accesses) {
  transfer.wait_begin = waits;
  transfer.signal_begin = signals;
  transfer.access_begin = accesses;
  f.wait[waits] = {sent, 1};
  f.signal[signals] = received;
  f.access[accesses] = {sent, 0, 1, access_mode::read};
  f.access[accesses + 1] = {received, 0, 1, access_mode::write};
  waits += 1;
  signals += 1;
  accesses += 2;
  transfer.wait_end = waits;
  transfer.signal_end = signals;
  transfer.access_end = accesses;
  f.task[tasks] = transfer;
  f.run[further_runs + tasks] = tasks;
  tasks += 1;
}

/// Tasks of the actions in `order`, each with its messages. One function, with what changes with each action in local
/// variables and arrays: a constant evaluation pays for calls and members.
template <class Flow, class Sizes, class Order>
constexpr void fill_tasks(Flow& f, const basic_pipeline_schedule<Sizes>& s, const pipeline_costs& c, bool link_tasks,
                          const message_places<Sizes>& places, const Order& order) {
  constexpr int forward = kind_of_code::forward, weight_gradient = kind_of_code::weight_gradient;
  constexpr int pair = kind_of_code::overlapped_forward, recompute = kind_of_code::recompute;
  const int m = s.micro_batches, stages = s.stages, n = stages * m;
  const int share = s.share(), copies = stages * s.copies;  // micro-batches of a copy; copies of all stages
  const taskflow_size before = f.size;
  const int further_runs = before.runs - before.tasks;
  auto& reads_from = places.read.item;
  auto& writes_to = places.written.item;
  auto& code = s.action.item;
  auto& owner = s.rank_of_stage.item;
  auto& entry = order.item;
  auto& wait = f.wait;
  auto& signal = f.signal;
  auto& access = f.access;
  const bool one_time = c.times.size <= 1;
  task_times times;
  times.of[recompute] = c.recompute;
  times.set(entry_of(c.times, stages, m, 0, 0));
  int tasks = before.tasks, waits = before.waits, signals = before.signals, accesses = before.accesses;
  int sent_hop[2] = {}, sent_item[2] = {};
  task action{}, transfer{};
  action.kind = resource::aic;
  transfer.kind = resource::link;
  transfer.duration = c.latency;
  action.first_event = transfer.first_event = before.events;
  action.first_slot = transfer.first_slot = before.slots;
  hyperparallel::wait for_message{0, 1};
  hyperparallel::access read{0, 0, 1, access_mode::read}, write{0, 0, 1, access_mode::write};
  for (int i = 0, actions = order.size; i < actions; i = i + 1) {
    const int at = entry[i], x = code[at], kind = x / n;
    int y = x - kind * n, hop = y / share, partner = -1, sends = 0;
    action.rank = owner[hop];
    if (!one_time) times.set(entry_of(c.times, stages, m, y / m, y % m));
    action.duration = times.of[kind];
    action.operation = kind;
    action.item = y;
    if (kind == pair) {
      int next = at + 1;
      while (code[next] == idle_slot) ++next;
      partner = code[next] % n;
      if (!one_time) times.set(entry_of(c.times, stages, m, partner / m, partner % m));
      action.duration = c.overlapped_pair >= 0 ? c.overlapped_pair : action.duration + times.of[code[next] / n];
    } else if (kind == weight_gradient || kind == recompute) {
      hop = -1;
    } else if (kind != forward) {
      hop = copies + hop;
    }
    action.wait_begin = waits;
    action.signal_begin = signals;
    action.access_begin = accesses;
    while (hop >= 0) {  // once for an action that has messages, twice for a pair
      const int k = y % share;
      int in = reads_from[hop], out = writes_to[hop];
      if (in >= 0) {
        in = in + k;
        for_message.event = read.slot = in;
        wait[waits] = for_message;
        access[accesses] = read;
        waits = waits + 1;
        accesses = accesses + 1;
      }
      if (out >= 0) {
        out = out + k;
        signal[signals] = out;
        write.slot = out;
        access[accesses] = write;
        signals = signals + 1;
        accesses = accesses + 1;
        sent_hop[sends] = hop;
        sent_item[sends] = y;
        sends = sends + 1;
      }
      if (partner < 0) break;
      y = partner;
      hop = copies + y / share;
      partner = -1;
    }
    action.wait_end = waits;
    action.signal_end = signals;
    action.access_end = accesses;
    f.task[tasks] = action;
    f.run[further_runs + tasks] = tasks;
    tasks = tasks + 1;
    if (!link_tasks) continue;
    for (int j = 0; j < sends; j = j + 1) {
      const int sent = sent_hop[j], k = sent_item[j] % share;
      transfer.rank = action.rank;
      transfer.operation = sent < copies ? kind_of_code::send_forward : kind_of_code::send_backward;
      transfer.item = sent_item[j];
      append_transfer(f, transfer, writes_to[sent] + k, places.arriving.item[sent] + k, further_runs, tasks, waits,
                      signals, accesses);
    }
  }
  f.run[further_runs + tasks] = tasks;
  f.size.tasks = tasks;
  f.size.runs = further_runs + tasks;
  f.size.waits = waits;
  f.size.signals = signals;
  f.size.accesses = accesses;
  f.size.signal_uses += signals - before.signals;
  f.size.access_uses += accesses - before.accesses;
}

template <class Flow, class Sizes>
constexpr void fill_pipeline(Flow& f, const basic_pipeline_schedule<Sizes>& s, const pipeline_costs& c,
                             bool link_tasks) {
  const message_places<Sizes> places(s, link_tasks);
  const int messages = fill_messages(f, places, s.ranks);
  fill_tasks(f, s, c, link_tasks, places, executable_order(s));
  f.size.events += messages;
  f.size.slots += messages;
}

}  // namespace detail

/// Operations of the tasks: the kind of the action; of a pair that of its forward, of a link task that of the send.
/// The item is stage · micro-batches + micro-batch. On storage that only counts one look at each entry is enough.
template <class Flow, class Sizes>
constexpr void lower_pipeline(Flow& f, const basic_pipeline_schedule<Sizes>& s, const pipeline_costs& c,
                              bool link_tasks = false) {
  if constexpr (Flow::stores)
    detail::fill_pipeline(f, s, c, link_tasks);
  else
    detail::count_pipeline(f.size, s, link_tasks);
}

namespace detail {

template <class Pipeline, bool LinkTasks>
struct pipeline_builder {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const auto rows = Pipeline::evaluated::rows;  // an element of a variable here is read in less time
    lower_pipeline(f, rows, Pipeline::evaluated::request().costs, LinkTasks);
  }
};

/// Without link tasks a signal takes the latency.
template <class Pipeline, bool LinkTasks>
constexpr schedule_options pipeline_options() {
  return {priority::listed_queues, LinkTasks ? 0 : Pipeline::evaluated::request().costs.latency};
}

/// A matrix core and a link for each rank.
constexpr machine_shape pipeline_machine(int ranks) { return {ranks, {1, 0, 1, 0, 0, 0}}; }

}  // namespace detail

/// The taskflow of a pipeline: built, scheduled in the schedule's order, verified and simulated as far as it is asked for.
template <class Pipeline, bool LinkTasks = false>
using pipeline_taskflow =
    static_taskflow<detail::pipeline_builder<Pipeline, LinkTasks>, detail::pipeline_machine(Pipeline::ranks),
                    detail::pipeline_options<Pipeline, LinkTasks>()>;

}}  // namespace hyperparallel::v0_2
