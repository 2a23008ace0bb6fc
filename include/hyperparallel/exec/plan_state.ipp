// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of plan_state.hpp; see support/compiled.hpp.

#include <atomic>
#include <cstdint>
#include <exception>
#include <vector>

#include <hyperparallel/exec/plan_state.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

HYPERPARALLEL_BODY plan_state::plan_state(const plan_view& p, const std::vector<int>& worker_of, int workers,
                                          int sharing, bool waiters_fence)
    : plan_(p),
      workers_(workers),
      words_(p.size.queues + p.size.counters),
      queue_(detail::make_owned_array<queue_state>(at(p.size.queues))),
      worker_(detail::make_owned_array<worker_state>(at(workers))),
      home_(worker_of),
      servers_(at(p.size.queues)),
      kernel_(at(p.operations)),
      waiters_fence_(waiters_fence && workers > 1 && has_asymmetric_fence()) {
  const std::uint64_t together = sharing < 64 ? bit(sharing) - 1 : ~0ULL;
  std::vector<std::uint64_t> signallers(at(p.size.counters), 0);
  for (int q = 0; q < p.size.queues; ++q) {
    servers_[at(q)] = worker_of[at(q)] < sharing ? together : bit(worker_of[at(q)]);
    queue_[at(q)].end = p.queue_begin[q + 1];
    words_[q].period = static_cast<std::uint32_t>(p.queue_begin[q + 1] - p.queue_begin[q]);
    for (int r = p.queue_begin[q]; r < p.queue_begin[q + 1]; ++r)
      for (int k = signal_begin(p, r); k < p.record[r].signal_end; ++k)
        signallers[at(p.signal[k] - p.size.queues)] |= servers_[at(q)];
  }
  for (int w = 0; w < workers; ++w) worker_[at(w)].own.resize(at(p.size.queues));
  for (int c = 0; c < p.size.counters; ++c) {
    sync_words::word& w = words_[p.size.queues + c];
    w.period = static_cast<std::uint32_t>(p.counter_total[c]);
    std::uint64_t listeners = 0;
    for (int i = p.listener_begin[c]; i < p.listener_begin[c + 1]; ++i) listeners |= servers_[at(p.listener[i])];
    w.is_private = listeners == signallers[at(c)] && (listeners & (listeners - 1)) == 0;
  }
  rewind();
}

HYPERPARALLEL_BODY std::int64_t plan_state::finished() const {
  std::int64_t sum = 0;
  for (int q = 0; q < plan_.size.queues; ++q) sum += head(q) - plan_.queue_begin[q];
  return sum;
}

HYPERPARALLEL_BODY void plan_state::number_runs_from(std::uint32_t generation) {
  generation_.store(generation, std::memory_order_relaxed);
  words_.level(generation);
}

HYPERPARALLEL_BODY void plan_state::close() noexcept {
  constexpr int patience = 1000;
  constexpr std::int64_t look_again = 200'000;  // nanoseconds
  for (int q = 0; q < plan_.size.queues; ++q)
    for (int tries = 0;; ++tries) {
      const std::uint32_t seen = worker_[0].bell.prepare();
      int open = queue_state::open;
      if (queue_[at(q)].holder.compare_exchange_strong(open, queue_state::closed, std::memory_order_seq_cst)) break;
      if (tries < patience)
        spin_pause();
      else
        worker_[0].bell.park(seen, look_again);
    }
  worker_[0].bell.leave();
}

HYPERPARALLEL_BODY void plan_state::end(bool complete) {
  const std::uint32_t next = generation_.load(std::memory_order_relaxed) + 1;
  generation_.store(next, std::memory_order_relaxed);
  if (!complete) words_.level(next);
}

HYPERPARALLEL_BODY void plan_state::fail(run_end why, int record) noexcept {
  if (!ending_.claim(why)) return;
  ending_.record = record;
  ending_.error = std::current_exception();
  ring_all();
}

HYPERPARALLEL_BODY void plan_state::begin_run() {
  rewind();
  int unfinished = 0;
  for (int q = 0; q < plan_.size.queues; ++q) unfinished += words_[q].period != 0 ? 1 : 0;
  unfinished_.store(unfinished, std::memory_order_relaxed);
  runs_begun_.store(runs_begun() + 1, std::memory_order_relaxed);
  ending_.restart();
  for (int q = 0; q < plan_.size.queues; ++q) queue_[at(q)].holder.store(queue_state::open, std::memory_order_release);
  ring_all();  // who fell asleep in a run before
}

HYPERPARALLEL_BODY void plan_state::finish(int me, int q) noexcept {
  const bool last = unfinished_.fetch_sub(1, std::memory_order_seq_cst) == 1;
  release(me, q);
  if (last) worker_[0].bell.ring();
}

HYPERPARALLEL_BODY bool plan_state::publish(int me, int q, std::uint32_t value, bool goes_on) noexcept {
  std::atomic<std::uint32_t>& word = words_[q].value;
  if (waiters_fence_) {
    word.store(value, std::memory_order_release);
    light_fence();
    if (goes_on || !somebody_rests(me)) return false;
    word.exchange(value, std::memory_order_seq_cst);  // before the look at who holds what
    return true;
  }
  if (workers_ == 1) {
    word.store(value, std::memory_order_release);
    return false;
  }
  word.exchange(value, std::memory_order_seq_cst);
  return !goes_on && (resting_.load(std::memory_order_seq_cst) & ~bit(me)) != 0;
}

HYPERPARALLEL_BODY void plan_state::raise(int me, int counter) noexcept {
  sync_words::word& w = words_[counter];
  if (w.is_private) {
    w.value.store(w.value.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return;
  }
  w.value.fetch_add(1, std::memory_order_seq_cst);
  if ((resting_.load(std::memory_order_seq_cst) & ~bit(me)) == 0) return;
  const int c = counter - plan_.size.queues;
  for (int i = plan_.listener_begin[c]; i < plan_.listener_begin[c + 1]; ++i) wake_for(me, plan_.listener[i]);
}

HYPERPARALLEL_BODY void plan_state::offer_readers(int me, int reader, int reader_end) noexcept {
  for (; reader != reader_end; ++reader) wake_for(me, plan_.reader[reader]);
}

HYPERPARALLEL_BODY void plan_state::offer_all(int me) noexcept {
  for (int q = 0; q < plan_.size.queues; ++q) wake_for(me, q);
}

HYPERPARALLEL_BODY void plan_state::offer_closed_to(int me) noexcept {
  for (int q = 0; q < plan_.size.queues; ++q)
    if (!may_serve(me, q)) wake_for(me, q);
}

HYPERPARALLEL_BODY void plan_state::wake_for(int me, int q) noexcept {
  const std::uint64_t resting = resting_.load(std::memory_order_seq_cst) & servers_[at(q)] & ~bit(me);
  if (resting == 0 || !is_waiting_for_a_worker(q, std::memory_order_seq_cst)) return;
  for (std::uint64_t left = resting; left != 0; left &= left - 1)
    if (worker_[at(__builtin_ctzll(left))].bell.parked.load(std::memory_order_seq_cst) == 0) return;
  const int favoured = queue_[at(q)].favours.load(std::memory_order_relaxed);
  const int other = __builtin_ctzll(resting);
  worker_[at((resting & bit(favoured)) != 0 ? favoured : other)].bell.ring();
}

HYPERPARALLEL_BODY bool plan_state::hand_over(int me) noexcept {
  bool given = false;
  for (int q = 0; q < plan_.size.queues; ++q) {
    queue_state& c = queue_[at(q)];
    const std::uint64_t others =
        resting_.load(std::memory_order_relaxed) & servers_[at(q)] & ~bit(me) & ~lost_.load(std::memory_order_relaxed);
    int favoured = me;
    if (others == 0 || !c.favours.compare_exchange_strong(favoured, __builtin_ctzll(others), std::memory_order_relaxed))
      continue;
    worker_[at(__builtin_ctzll(others))].bell.ring();
    given = true;
  }
  return given;
}

HYPERPARALLEL_BODY void plan_state::end_deadlock(int me) noexcept {
  // Two looks at heads that find the same, in one run, with nobody at work: in between nothing happened at all.
  const std::uint32_t run = runs_begun();
  const auto position = [&]() -> std::int64_t {
    std::int64_t sum = 0;
    for (int q = 0; q < plan_.size.queues; ++q) {
      if (queue_[at(q)].holder.load(std::memory_order_seq_cst) != queue_state::open) return -1;
      sum += head(q);
    }
    return sum;
  };
  const std::int64_t before = position();
  if (before < 0) return;
  for (int q = 0; q < plan_.size.queues; ++q)
    if (is_ready(q, std::memory_order_seq_cst)) return;
  if (position() != before || plan_.size.queues == 0 || !take(me, 0)) return;
  // While it holds a queue no other run can begin.
  if (runs_begun() == run && !is_over(std::memory_order_seq_cst)) stop(run_end::deadlocked);
  release(me, 0);
}

HYPERPARALLEL_BODY void plan_state::rewind() {
  const std::uint64_t lost = lost_.load(std::memory_order_relaxed);
  for (int q = 0; q < plan_.size.queues; ++q) {
    queue_state& c = queue_[at(q)];
    const int first = plan_.queue_begin[q], home = home_[at(q)];
    const std::uint64_t all = servers_[at(q)] & ((1ULL << (workers_ - 1) << 1) - 1), others = all & ~lost;
    // Where all have lost theirs the caller begins: it has a core right now.
    c.favours.store((lost & bit(home)) == 0 ? home : __builtin_ctzll(others != 0 ? others : all),
                    std::memory_order_relaxed);
    c.next.store(first, std::memory_order_relaxed);
    c.wait = wait_begin(plan_, first);
    c.reader = reader_begin(plan_, first);
    c.signal = signal_begin(plan_, first);
  }
}

}}}  // namespace hyperparallel::v0_2::detail
