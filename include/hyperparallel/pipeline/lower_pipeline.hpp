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

#include <hyperparallel/pipeline/messages.hpp>
#include <hyperparallel/pipeline/pipeline.hpp>
#include <hyperparallel/taskflow/builder.hpp>
#include <hyperparallel/taskflow/static_taskflow.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Operations of the tasks: the kind of the action; of a pair that of its forward, of a link task that of the send.
/// The item is stage · micro-batches + micro-batch.
template <class Flow, class Sizes>
constexpr void lower_pipeline(Flow& f, const basic_pipeline_schedule<Sizes>& s, const pipeline_costs& c,
                              bool link_tasks = false) {
  const int m = s.micro_batches, n = s.stages * m, share = s.share();
  const stage_peers<Sizes> peers(s);
  typename Sizes::template per_message<int> event_of, slot_of;  // and 1; 0: the message is not made
  typename Sizes::template per_chunk<bool> forwards, gradients;
  (append_zeros(event_of, 2 * n), append_zeros(slot_of, 2 * n), append_zeros(forwards, n), append_zeros(gradients, n));
  typename Sizes::template per_rank<int> from;
  for (int r = 0; r < s.ranks; ++r) from.push(s.first[r]);

  const auto time_of = [&](const pipeline_action& a) {
    const stage_times t = entry_of(c.times, s.stages, m, a.stage, a.micro_batch);
    switch (a.kind) {
      case action_kind::forward:
      case action_kind::overlapped_forward:
        return t.forward;
      case action_kind::input_gradient:
        return t.input_gradient;
      case action_kind::weight_gradient:
        return t.weight_gradient;
      case action_kind::backward:
        return t.backward();
      case action_kind::recompute:
        return c.recompute;
      default:
        return std::int64_t{0};
    }
  };
  const auto is_forward = [](action_kind k) {
    return k == action_kind::forward || k == action_kind::overlapped_forward;
  };
  const auto is_gradient = [](action_kind k) { return k == action_kind::input_gradient || k == action_kind::backward; };
  // The message that an action needs from another rank, −1: none; and whether its inputs have been made.
  const auto needed = [&](const pipeline_action& a) {
    const int y = a.stage * m + a.micro_batch;
    if (is_forward(a.kind)) return peers.gradient.item[y / share] >= 0 ? y - m : -1;
    return is_gradient(a.kind) && peers.forward.item[y / share] >= 0 ? n + y + m : -1;
  };
  const auto made = [&](const pipeline_action& a) -> int {
    const int y = a.stage * m + a.micro_batch;
    if (is_forward(a.kind)) return peers.forward.item[y / share] >= 0 ? y : -1;
    return is_gradient(a.kind) && peers.gradient.item[y / share] >= 0 ? n + y : -1;
  };
  const auto ready = [&](const pipeline_action& a) {
    const int y = a.stage * m + a.micro_batch;
    if (is_forward(a.kind)) return a.stage == 0 || forwards.item[y - m];
    return !is_gradient(a.kind) || a.stage + 1 == s.stages || gradients.item[y + m];
  };
  const auto wait_and_read = [&](int number) {
    if (number < 0) return;
    add_wait(f, event_of.item[number] - 1);
    add_access(f, slot_of.item[number] - 1, 0, 1, access_mode::read);
  };
  const auto signal_and_write = [&](int number) {
    add_signal(f, event_of.item[number] - 1);
    add_access(f, slot_of.item[number] - 1, 0, 1, access_mode::write);
  };
  const auto open_message = [&](int number, int rank) {
    event_of.item[number] = add_event(f, rank) + 1;
    slot_of.item[number] = add_slot(f, rank, 0, number, 1) + 1;
  };

  for (bool left = true; left;) {
    left = false;
    for (int r = 0; r < s.ranks; ++r) {
      int at = from.item[r];
      const int end = s.first.item[r + 1];
      pipeline_action a{};
      for (; at < end; ++at) {
        if (s.action.item[at] == idle_slot) continue;
        a = s.coding().action(s.action.item[at]);
        if (is_compute(a.kind) || a.kind == action_kind::recompute) break;
      }
      from.item[r] = at;
      if (at == end || !ready(a)) continue;
      pipeline_action partner{action_kind::recompute};  // of a pair
      std::int64_t time = time_of(a);
      if (a.kind == action_kind::overlapped_forward) {
        while (s.action.item[++at] == idle_slot) continue;
        partner = s.coding().action(s.action.item[at]);
        if (!ready(partner)) continue;
        time = c.overlapped_pair >= 0 ? c.overlapped_pair : time + time_of(partner);
      }
      left = true;
      from.item[r] = at + 1;
      const int out = made(a), out_back = made(partner);
      const int peer = out < 0   ? -1
                       : out < n ? peers.forward.item[out / share]
                                 : peers.gradient.item[(out - n) / share];
      const int peer_back = out_back < 0 ? -1 : peers.gradient.item[(out_back - n) / share];
      // With link tasks the message is first in its sender's memory.
      if (out >= 0) open_message(out, link_tasks ? r : peer);
      if (out_back >= 0) open_message(out_back, link_tasks ? r : peer_back);
      add_task(f, resource::aic, r, time, static_cast<int>(a.kind), a.stage * m + a.micro_batch);
      wait_and_read(needed(a));
      wait_and_read(needed(partner));
      if (out >= 0) signal_and_write(out);
      if (out_back >= 0) signal_and_write(out_back);
      const auto send = [&](int number, int to, const pipeline_action& by, action_kind kind) {
        if (number < 0 || !link_tasks) return;
        const int event = event_of.item[number] - 1, slot = slot_of.item[number] - 1;
        open_message(number, to);
        add_task(f, resource::link, r, c.latency, static_cast<int>(kind), by.stage * m + by.micro_batch);
        add_wait(f, event);
        add_access(f, slot, 0, 1, access_mode::read);
        signal_and_write(number);
      };
      send(out, peer, a, is_forward(a.kind) ? action_kind::send_forward : action_kind::send_backward);
      send(out_back, peer_back, partner, action_kind::send_backward);
      const pipeline_action both[] = {a, partner};
      for (const pipeline_action& done : both) {
        if (is_forward(done.kind)) forwards.item[done.stage * m + done.micro_batch] = true;
        if (is_gradient(done.kind)) gradients.item[done.stage * m + done.micro_batch] = true;
      }
    }
  }
}

namespace detail {

template <class Pipeline, bool LinkTasks>
struct pipeline_builder {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    lower_pipeline(f, Pipeline::make(), Pipeline::evaluated::request().costs, LinkTasks);
  }
};

}  // namespace detail

/// A matrix core and a link for each rank.
constexpr machine_shape pipeline_machine(int ranks) { return {ranks, {1, 0, 1, 0, 0, 0}}; }

/// The taskflow of a pipeline: built, scheduled in the schedule's order, verified and simulated as far as it is asked for.
template <class Pipeline, bool LinkTasks = false>
using pipeline_taskflow =
    static_taskflow<detail::pipeline_builder<Pipeline, LinkTasks>, pipeline_machine(Pipeline::ranks),
                    schedule_options{priority::reference_order}>;

}}  // namespace hyperparallel::v0_2
