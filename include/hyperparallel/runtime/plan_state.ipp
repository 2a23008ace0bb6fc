// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of plan_state.hpp; see support/compiled.hpp.

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include <hyperparallel/runtime/plan_state.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

HYPERPARALLEL_BODY plan_state::plan_state(const plan_view& p, const std::vector<int>& worker_of, int workers)
    : plan_(p),
      workers_(workers),
      words_(p.size.queues + p.size.counters),
      queue_(std::make_unique<queue_state[]>(at(p.size.queues))),
      worker_(std::make_unique<worker_state[]>(at(workers))),
      bit_(at(p.size.queues)),
      kernel_(at(p.operations)),
      has_fence_(workers > 1 && has_asymmetric_fence()) {
  std::vector<std::uint64_t> signallers(at(p.size.counters), 0);
  for (int q = 0; q < p.size.queues; ++q) {
    bit_[at(q)] = 1ULL << worker_of[at(q)];
    words_[q].period = static_cast<std::uint32_t>(p.queue_begin[q + 1] - p.queue_begin[q]);
    if (words_[q].period != 0) worker_[at(worker_of[at(q)])].queue.push_back(q);
    for (int r = p.queue_begin[q]; r < p.queue_begin[q + 1]; ++r)
      for (int k = signal_begin(p, r); k < p.record[r].signal_end; ++k)
        signallers[at(p.signal[k] - p.size.queues)] |= bit_[at(q)];
  }
  for (int w = 0; w < workers; ++w) worker_[at(w)].live.resize(worker_[at(w)].queue.size());
  for (int c = 0; c < p.size.counters; ++c) {
    sync_words::word& w = words_[p.size.queues + c];
    w.period = static_cast<std::uint32_t>(p.counter_total[c]);
    for (int i = p.listener_begin[c]; i < p.listener_begin[c + 1]; ++i) w.listeners |= bit_[at(p.listener[i])];
    w.is_private = w.listeners == signallers[at(c)] && (w.listeners & (w.listeners - 1)) == 0;
  }
  rewind();
}

HYPERPARALLEL_BODY std::int64_t plan_state::finished() const {
  std::int64_t sum = 0;
  for (int q = 0; q < plan_.size.queues; ++q) sum += head(q) - plan_.queue_begin[q];
  return sum;
}

HYPERPARALLEL_BODY void plan_state::number_runs_from(std::uint32_t generation) {
  generation_ = generation;
  words_.level(generation);
}

HYPERPARALLEL_BODY void plan_state::end(bool complete) {
  ++generation_;
  if (!complete) words_.level(generation_);
}

HYPERPARALLEL_BODY void plan_state::fail(run_end why, int record) noexcept {
  if (!ending_.claim(why)) return;
  ending_.record = record;
  ending_.error = std::current_exception();
  ring_all();
}

HYPERPARALLEL_BODY void plan_state::begin_run(bool waiters_fence) {
  waiters_fence_ = waiters_fence && has_fence_;
  rewind();
  idle_.store(0, std::memory_order_relaxed);
  runs_begun_.store(runs_begun() + 1, std::memory_order_relaxed);
  ending_.restart();
}

HYPERPARALLEL_BODY void plan_state::publish(int me, int q, std::uint32_t value, int reader, int reader_end) noexcept {
  std::atomic<std::uint32_t>& word = words_[q].value;
  if (waiters_fence_) {
    word.store(value, std::memory_order_release);
    light_fence();
    ring(listeners(me, reader, reader_end));
    return;
  }
  const std::uint64_t others = listeners(me, reader, reader_end);
  if (others == 0)
    word.store(value, std::memory_order_release);
  else
    word.exchange(value, std::memory_order_seq_cst);
  ring(others);
}

HYPERPARALLEL_BODY std::uint64_t plan_state::listeners(int me, int reader, int reader_end) const noexcept {
  std::uint64_t workers = 0;
  for (; reader != reader_end; ++reader) workers |= bit_[at(plan_.reader[reader])];
  return workers & ~(1ULL << me);
}

HYPERPARALLEL_BODY void plan_state::raise(int me, int counter) noexcept {
  sync_words::word& w = words_[counter];
  if (w.is_private) {
    w.value.store(w.value.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  } else {
    w.value.fetch_add(1, std::memory_order_seq_cst);
    ring(w.listeners & ~(1ULL << me));
  }
}

HYPERPARALLEL_BODY void plan_state::go_idle() {
  const std::uint64_t now = idle_.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (static_cast<int>(now & 0xffffffffU) != workers_) return;
  bool blocked = false;
  for (int q = 0; q < plan_.size.queues; ++q) {
    const int next = head(q);
    if (next == plan_.queue_begin[q + 1]) continue;
    int w = wait_begin(plan_, next);
    const int wait_end = plan_.record[next].wait_end;
    while (w < wait_end && holds(plan_.wait[w], std::memory_order_seq_cst)) ++w;
    if (w == wait_end) return;
    blocked = true;
  }
  if (blocked && idle_.load(std::memory_order_seq_cst) == now) stop(run_end::deadlocked);
}

HYPERPARALLEL_BODY void plan_state::rewind() {
  for (int q = 0; q < plan_.size.queues; ++q) {
    queue_state& c = queue_[at(q)];
    const int first = plan_.queue_begin[q];
    c.next.store(first, std::memory_order_relaxed);
    c.end = plan_.queue_begin[q + 1];
    c.wait = wait_begin(plan_, first);
    c.reader = reader_begin(plan_, first);
    c.signal = signal_begin(plan_, first);
  }
}

}}}  // namespace hyperparallel::v0_2::detail
