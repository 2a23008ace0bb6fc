// SPDX-License-Identifier: Apache-2.0
#pragma once
// 1F1B and interleaved 1F1B with their sends and receives in the order in which MindSpore HyperParallel lists them, for
// ranks that block in transfers (`blocking_rows`).
//
// 1F1B: stages of even number send each forward at once, those of odd number before the next one, so that neighbours meet.
// Interleaved: in slots of unit time as torch keeps them, m < P as one round; in each slot first the computes of all ranks,
// then the messages of even ranks, then of odd ones. For m < P and three ranks or more these lists may run a backward before
// its receive: a defect of the reference, kept as it is; `check_schedule` refuses it.
//
// References: MindSpore HyperParallel, scheduler.py (Schedule1F1B, ScheduleInterleaved1F1B).

#include <hyperparallel/pipeline/messages.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Complexity: linear in the entries. Precondition: `check_shape` of P ranks, one stage each, is ok.
constexpr pipeline_schedule mindspore_1f1b_lists(int ranks, int micro_batches) {
  using enum action_kind;
  pipeline_schedule s = empty_schedule({ranks, 1, micro_batches}, stage_placement::loop);
  row_writer out(s, false);
  const int m = micro_batches;
  for (int r = 0; r < ranks; ++r) {
    const bool first = r == 0, last = r + 1 == ranks;
    const int warm_up = ranks - r < m ? ranks - r : m;
    const auto transfer = [&](bool exists, action_kind kind, int k) {
      if (exists) out.put({kind, r, k});
    };
    for (int k = 0; k < warm_up; ++k) {
      transfer(!first, receive_forward, k);
      if (r % 2 == 1) transfer(!last && k > 0, send_forward, k - 1);
      out.forward(r, k);
      if (r % 2 == 0) transfer(!last && k + 1 < warm_up, send_forward, k);
    }
    const bool owes = ranks - r <= m;  // the send of the last forward waits for the first gradient
    transfer(!last && !owes, send_forward, warm_up - 1);
    for (int b = 0; b < m; ++b) {
      const int next = b + warm_up;
      transfer(!last, receive_backward, b);
      transfer(!last && owes && next <= m, send_forward, next - 1);
      out.backward(r, b);
      transfer(!first, send_backward, b);
      if (next >= m) continue;
      transfer(!first, receive_forward, next);
      out.forward(r, next);
    }
    s.first.push(s.action.size);
  }
  return s;
}

namespace detail {

/// Compute in slots of unit time. Micro-batches go in max(1, ⌊m / P⌋) rounds, the first m mod rounds of them one longer.
constexpr pipeline_schedule mindspore_interleaved_slots(const pipeline_shape& n) {
  pipeline_schedule s = empty_schedule(n, stage_placement::loop);
  row_writer out(s, true);
  const int m = n.micro_batches, all = n.chunks * m, rounds = m / n.ranks > 1 ? m / n.ranks : 1;
  const int gap = m < n.ranks ? n.ranks - m : 0;  // idle slots behind a group, as if it had P micro-batches
  struct step {
    int chunk, micro_batch;
    bool ends_group;
  };
  const auto step_at = [&](int at, bool backwards) -> step {
    int begin = 0, size = 0;
    for (int round = 0;; ++round, begin += size) {
      size = m / rounds + (round < m % rounds ? 1 : 0);
      if (at < n.chunks * size) break;
      at -= n.chunks * size;
    }
    return {backwards ? n.chunks - 1 - at / size : at / size, begin + at % size, at % size + 1 == size};
  };
  const int first_round = m / rounds + (m % rounds > 0 ? 1 : 0);
  for (int r = 0; r < n.ranks; ++r) {
    const bool last = r + 1 == n.ranks;
    const int behind = n.ranks - 1 - r, wanted = (n.chunks - 1) * first_round + 2 * behind;
    const int warm_up = wanted < all ? wanted : all;
    const auto forward = [&](int at) {
      const step one = step_at(at, false);
      out.forward(one.chunk * n.ranks + r, one.micro_batch);
      return one.ends_group;
    };
    const auto backward = [&](int at) {
      const step one = step_at(at, true);
      out.backward(one.chunk * n.ranks + r, one.micro_batch);
      return one.ends_group;
    };
    out.idle(r);
    for (int i = 0; i < warm_up; ++i)
      if (forward(i) && (i + 1 < warm_up || last)) out.idle(gap);
    out.idle((2 * behind > m ? 2 * behind - m : 0) + behind);
    for (int i = warm_up; i < all; ++i) {
      forward(i);
      if (backward(i - warm_up) && last) out.idle(gap);
    }
    for (int i = all - warm_up; i < all; ++i) {
      out.idle();
      if (backward(i)) out.idle(gap);
    }
    s.first.push(s.action.size);
  }
  return s;
}

}  // namespace detail

/// Precondition: `check_shape(n)` is ok. Complexity: slots times ranks.
constexpr pipeline_schedule mindspore_interleaved_lists(const pipeline_shape& n) {
  const pipeline_schedule slots = detail::mindspore_interleaved_slots(n);
  growing_array<growing_array<int>> row(n.ranks);
  int most = 0;
  for (int r = 0; r < n.ranks; ++r) most = slots.row_size(r) > most ? slots.row_size(r) : most;
  const auto code_in = [&](int r, int slot) {
    return slot < slots.row_size(r) ? slots.action[slots.first[r] + slot] : idle_slot;
  };
  for (int slot = 0; slot < most; ++slot) {
    for (int r = 0; r < n.ranks; ++r)
      if (code_in(r, slot) != idle_slot) row[r].push(code_in(r, slot));
    for (int parity = 0; parity < 2; ++parity)
      for (int r = parity; r < n.ranks; r += 2) {
        if (code_in(r, slot) == idle_slot) continue;
        const pipeline_action a = slots.coding().action(code_in(r, slot));
        const bool forwards = a.kind == action_kind::forward;
        const pipeline_action send{forwards ? action_kind::send_forward : action_kind::send_backward, a.stage,
                                   a.micro_batch};
        const detail::message_end end = detail::message_of(slots, send);
        if (end.number < 0) continue;
        row[r].push(slots.coding().code(send));
        row[end.peer].push(slots.coding().code(detail::action_of_message(slots, end.number, false)));
      }
  }
  pipeline_schedule s = empty_schedule(n, stage_placement::loop);
  for (int r = 0; r < n.ranks; ++r) {
    for (const int code : row[r]) s.action.push(code);
    s.first.push(s.action.size);
  }
  return s;
}

}}  // namespace hyperparallel::v0_2
