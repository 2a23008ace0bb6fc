// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of parallel_copy.hpp; see support/compiled.hpp.

#include <atomic>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <utility>
#include <vector>

#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/transfer/parallel_copy.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY parallel_copy::parallel_copy(copy_schedule schedule, const copy_options& options)
    : schedule_(std::move(schedule)), choice_(schedule_.bytes(), options.streaming_from) {
  std::vector<int> cores = allowed_cores();
  const int available = allowed_core_count(cores);
  const int threads = thread_count(options.threads, available);
  if (!options.pin || static_cast<int>(cores.size()) < threads) cores.clear();
  share_ = detail::make_owned_array<share>(static_cast<std::size_t>(threads));
  for (int w = 0; w < threads; ++w) share_[static_cast<std::size_t>(w)].part = schedule_.part(w, threads);
  crew_ = detail::make_owned<crew>(threads, std::move(cores), threads <= available ? options.spin : 0, &enter, this);
}

HYPERPARALLEL_BODY run_result parallel_copy::run(const progress& watch) {
  if (running_.exchange(true, std::memory_order_acquire)) throw std::logic_error("the copy is already running");
  struct release {
    std::atomic<bool>& flag;
    ~release() { flag.store(false, std::memory_order_release); }
  } const guard{running_};
  watch_ = watch;
  for (int w = 0; w < threads(); ++w) moved_by(w).store(0, std::memory_order_relaxed);
  if (watch_.report != nullptr) set_next_report();
  ending_.restart();
  const std::int64_t begin = detail::steady_nanoseconds();
  crew_->run(watch_.period_nanoseconds(), [this]() noexcept { report(); });
  if (ending_.why.load(std::memory_order_seq_cst) == detail::run_end::progress_failed)
    std::rethrow_exception(std::exchange(ending_.error, nullptr));
  if (finished() != schedule_.bytes()) return run_result::cancelled;
  choice_.took(detail::steady_nanoseconds() - begin);
  if (watch_.report != nullptr) watch_.report(watch_.user, finished(), schedule_.bytes());
  return run_result::complete;
}

HYPERPARALLEL_BODY std::int64_t parallel_copy::finished() const {
  std::int64_t sum = 0;
  for (int w = 0; w < threads(); ++w) sum += moved_by(w).load(std::memory_order_relaxed);
  return sum;
}

HYPERPARALLEL_BODY int parallel_copy::thread_count(int asked, int available) const {
  const std::int64_t worth = schedule_.bytes() >> 20;
  const int automatic = worth < available ? static_cast<int>(worth) : available;
  const int threads = asked > 0 ? asked : automatic;
  return threads < 1 ? 1 : threads > max_threads ? max_threads : threads;
}

HYPERPARALLEL_BODY void parallel_copy::work(int me) {
  std::atomic<std::int64_t>& moved = moved_by(me);
  schedule_.run(share_[static_cast<std::size_t>(me)].part, choice_.next(), [&](std::int64_t bytes) noexcept {
    moved.store(moved.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
    if (me == 0 && watch_.report != nullptr) report();
    return ending_.running(std::memory_order_relaxed);
  });
}

HYPERPARALLEL_BODY void parallel_copy::report() noexcept {
  if (detail::steady_nanoseconds() < next_report_ || !ending_.running(std::memory_order_relaxed)) return;
  set_next_report();
  try {
    watch_.report(watch_.user, finished(), schedule_.bytes());
  } catch (...) {
    if (ending_.claim(detail::run_end::progress_failed)) ending_.error = std::current_exception();
  }
}

}}  // namespace hyperparallel::v0_2
