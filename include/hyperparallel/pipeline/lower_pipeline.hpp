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

/// Ranks in turn, upwards and downwards, each as far as it goes: so the order of tasks can be executed. One function, with
/// what changes with each action in local variables and arrays: a constant evaluation pays for calls and members.
template <class Flow, class Sizes>
constexpr void fill_pipeline(Flow& f, const basic_pipeline_schedule<Sizes>& s, const pipeline_costs& c,
                             bool link_tasks) {
  constexpr int forward = kind_of_code::forward, weight_gradient = kind_of_code::weight_gradient;
  constexpr int pair = kind_of_code::overlapped_forward, recompute = kind_of_code::recompute;
  const int m = s.micro_batches, stages = s.stages, n = stages * m, ranks = s.ranks;
  const int share = s.share(), copies = stages * s.copies;  // micro-batches of a copy; copies of all stages
  const message_places<Sizes> places(s, link_tasks);
  auto& reads_from = places.read.item;
  auto& writes_to = places.written.item;
  auto& code = s.action.item;
  auto& task = f.task;
  auto& wait = f.wait;
  auto& signal = f.signal;
  auto& access = f.access;
  const taskflow_size before = f.size;
  const int first_event = before.events, first_slot = before.slots, further_runs = before.runs - before.tasks;
  int next_event = first_event, next_slot = first_slot;
  // Records are changed and copied: a constant evaluation pays more to make one.
  hyperparallel::event in_memory{0, 1};
  hyperparallel::slot address{0, 0, 0, 1};
  for (int r = 0; r < ranks; ++r) {
    in_memory.rank = address.rank = r;
    for (const int past = first_slot + places.end.item[r]; next_slot < past; next_slot = next_slot + 1) {
      address.offset = next_slot;
      f.event[next_event] = in_memory;
      f.slot[next_slot] = address;
      next_event = next_event + 1;
    }
  }
  // As in a replay: row `stage` of `input` is what F of the stage needs, row `stage` + 1 of `gradient` what I and B do.
  typename Sizes::template per_chunk<bool> input, gradient;
  (append_zeros(input, n + m), append_zeros(gradient, n + m));
  for (int k = 0; k < m; ++k) input.item[k] = gradient.item[n + k] = true;
  auto& has_input = input.item;
  auto& has_gradient = gradient.item;
  typename Sizes::template per_rank<int> position;
  for (int r = 0; r < ranks; ++r) position.push(s.first.item[r]);

  const bool one_time = c.times.size <= 1;
  task_times times;
  times.of[recompute] = c.recompute;
  times.set(entry_of(c.times, stages, m, 0, 0));
  int tasks = before.tasks, waits = before.waits, signals = before.signals, accesses = before.accesses;
  int sent_hop[2] = {}, sent_item[2] = {};
  hyperparallel::task action{}, transfer{};
  action.kind = resource::aic;
  transfer.kind = resource::link;
  transfer.duration = c.latency;
  action.first_event = transfer.first_event = first_event;
  action.first_slot = transfer.first_slot = first_slot;
  hyperparallel::wait for_message{0, 1};
  hyperparallel::access read{0, 0, 1, access_mode::read}, write{0, 0, 1, access_mode::write};
  for (bool moved = true; moved;) {
    moved = false;
    for (int turn = 0; turn < 2 * ranks; ++turn) {
      const int r = turn < ranks ? turn : 2 * ranks - 1 - turn;
      const int begin = position.item[r], end = s.first.item[r + 1];
      int at = begin;
      action.rank = transfer.rank = r;
      for (; at < end; at = at + 1) {
        const int x = code[at];
        if (x < 0) continue;
        int kind = 0, y = x, hop = -1, partner = -1;
        if (x >= n) {
          kind = x / n;
          if (kind > pair && kind != recompute) continue;
          y = x - kind * n;
        }
        if (kind == forward || kind == pair) {
          if (!has_input[y]) break;
          hop = y / share;
        } else if (kind < pair && kind != weight_gradient) {
          if (!has_gradient[y + m]) break;
          hop = copies + y / share;
        }
        if (!one_time) times.set(entry_of(c.times, stages, m, y / m, y % m));
        action.duration = times.of[kind];
        if (kind == pair) {
          int next = at + 1;
          while (code[next] == idle_slot) ++next;
          const int z = code[next] % n;
          if (!has_gradient[z + m]) break;
          if (!one_time) times.set(entry_of(c.times, stages, m, z / m, z % m));
          action.duration = c.overlapped_pair >= 0 ? c.overlapped_pair : action.duration + times.of[code[next] / n];
          partner = z;
          at = next;
        }
        action.operation = kind;
        action.item = y;
        action.wait_begin = waits;
        action.signal_begin = signals;
        action.access_begin = accesses;
        int sends = 0;
        while (hop >= 0) {  // once for an action that has messages, twice for a pair
          if (hop < copies)
            has_input[y + m] = true;
          else
            has_gradient[y] = true;
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
        task[tasks] = action;
        f.run[further_runs + tasks] = tasks;
        tasks = tasks + 1;
        if (!link_tasks) continue;
        for (int i = 0; i < sends; i = i + 1) {
          const int sent = sent_hop[i], k = sent_item[i] % share, out = writes_to[sent] + k,
                    in = places.arriving.item[sent] + k;
          for_message.event = read.slot = out;
          write.slot = in;
          wait[waits] = for_message;
          signal[signals] = in;
          access[accesses] = read;
          access[accesses + 1] = write;
          transfer.operation = sent < copies ? kind_of_code::send_forward : kind_of_code::send_backward;
          transfer.item = sent_item[i];
          transfer.wait_begin = waits;
          transfer.signal_begin = signals;
          transfer.access_begin = accesses;
          waits = waits + 1;
          signals = signals + 1;
          accesses = accesses + 2;
          transfer.wait_end = waits;
          transfer.signal_end = signals;
          transfer.access_end = accesses;
          task[tasks] = transfer;
          f.run[further_runs + tasks] = tasks;
          tasks = tasks + 1;
        }
      }
      if (at == begin) continue;
      position.item[r] = at;
      moved = true;
    }
  }
  f.run[further_runs + tasks] = tasks;
  f.size = {tasks,
            waits,
            signals,
            accesses,
            next_event,
            next_slot,
            before.signal_uses + signals - before.signals,
            before.access_uses + accesses - before.accesses,
            further_runs + tasks};
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

}  // namespace detail

/// A matrix core and a link for each rank.
constexpr machine_shape pipeline_machine(int ranks) { return {ranks, {1, 0, 1, 0, 0, 0}}; }

/// The taskflow of a pipeline: built, scheduled in the schedule's order, verified and simulated as far as it is asked for.
template <class Pipeline, bool LinkTasks = false>
using pipeline_taskflow =
    static_taskflow<detail::pipeline_builder<Pipeline, LinkTasks>, pipeline_machine(Pipeline::ranks),
                    detail::pipeline_options<Pipeline, LinkTasks>()>;

}}  // namespace hyperparallel::v0_2
