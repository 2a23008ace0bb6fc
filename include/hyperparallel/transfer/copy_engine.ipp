// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of copy_engine.hpp; see support/compiled.hpp.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/transfer/copy_engine.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY copy_engine::copy_engine(offload_link link, copy_engine_options options)
    : link_(link), options_(std::move(options)) {
  if (link.bytes_per_second < 1) throw copy_error(copy_code::bandwidth_is_not_positive, {}, 0);
  if (link.latency < 0) throw copy_error(copy_code::latency_is_negative, {}, 0);
  if (options_.chunk < 1) throw copy_error(copy_code::chunk_is_not_positive, {}, 0);
  if (options_.driver == copy_driver::automatic)
    options_.driver = allowed_core_count(allowed_cores()) > 1 ? copy_driver::thread : copy_driver::caller;
  if (has_thread()) thread_ = std::thread([this]() noexcept { live(); });
}

HYPERPARALLEL_BODY copy_engine::~copy_engine() {
  {
    const std::lock_guard lock(mutex_);
    for (; !queue_.empty(); queue_.pop_front()) end(*queue_.front(), copy_state::cancelled);
    if (running_ != nullptr) running_->stop.store(true, std::memory_order_seq_cst);
    dismissed_ = true;
  }
  bell_.ring();
  if (thread_.joinable()) thread_.join();
}

HYPERPARALLEL_BODY copy_ticket copy_engine::submit(std::string tensor, std::byte* to, const std::byte* from,
                                                   std::int64_t bytes) {
  if (bytes < 0) throw copy_error(copy_code::size_is_negative, tensor, bytes);
  if (bytes > 0 && (to == nullptr || from == nullptr)) throw copy_error(copy_code::address_is_null, tensor, bytes);
  const std::less<const std::byte*> before;
  if (bytes > 0 && before(to, from + bytes) && before(from, to + bytes))
    throw copy_error(copy_code::ranges_overlap, tensor, bytes);
  const std::int64_t duration = link_copy_time(link_, bytes);
  if (duration == longest_time) throw copy_error(copy_code::takes_too_long, tensor, bytes);
  copy_ticket ticket;
  ticket.job_ = std::make_shared<detail::copy_job>();
  detail::copy_job& job = *ticket.job_;
  job.tensor = std::move(tensor);
  job.to = to;
  job.from = from;
  job.bytes = bytes;
  job.duration = duration;
  {
    const std::lock_guard lock(mutex_);
    job.times.submitted = now();
    queue_.push_back(ticket.job_);
  }
  bell_.ring();
  return ticket;
}

HYPERPARALLEL_BODY copy_state copy_engine::state(const copy_ticket& ticket) noexcept {
  if (!ticket) return copy_state::complete;
  std::unique_lock lock(mutex_);
  if (!has_thread())
    while (!detail::is_over(ticket.job_->state) && running_ == nullptr && !queue_.empty() &&
           std::max(queue_.front()->times.submitted, free_) + queue_.front()->duration <= now())
      perform_first(lock);
  return ticket.job_->state;
}

HYPERPARALLEL_BODY copy_state copy_engine::settle(const copy_ticket& ticket) noexcept {
  if (!ticket) return copy_state::complete;
  std::unique_lock lock(mutex_);
  if (detail::is_over(ticket.job_->state)) return ticket.job_->state;
  const std::int64_t before = now();
  while (!detail::is_over(ticket.job_->state))
    if (has_thread() || running_ != nullptr)
      over_.wait(lock);
    else
      perform_first(lock);
  statistics_.waited += now() - before;
  return ticket.job_->state;
}

HYPERPARALLEL_BODY void copy_engine::wait(const copy_ticket& ticket) {
  const copy_state s = settle(ticket);
  if (s == copy_state::failed) throw failure(ticket);
  if (s == copy_state::cancelled) throw copy_error(copy_code::cancelled, ticket.job_->tensor, ticket.job_->bytes);
}

HYPERPARALLEL_BODY copy_error copy_engine::failure(const copy_ticket& ticket) const {
  const std::lock_guard lock(mutex_);
  return {copy_code::failed, ticket.job_->tensor, ticket.job_->bytes, ticket.job_->complaint};
}

HYPERPARALLEL_BODY bool copy_engine::cancel(const copy_ticket& ticket) noexcept {
  if (!ticket) return false;
  std::unique_lock lock(mutex_);
  detail::copy_job& job = *ticket.job_;
  if (detail::is_over(job.state)) return false;
  if (job.state == copy_state::waiting) {
    queue_.erase(std::find(queue_.begin(), queue_.end(), ticket.job_));
    end(job, copy_state::cancelled);
    return true;
  }
  job.stop.store(true, std::memory_order_seq_cst);
  bell_.ring();
  over_.wait(lock, [&] { return detail::is_over(job.state); });
  return job.state == copy_state::cancelled;
}

HYPERPARALLEL_BODY copy_times copy_engine::times(const copy_ticket& ticket) const {
  const std::lock_guard lock(mutex_);
  return ticket ? ticket.job_->times : copy_times{};
}

HYPERPARALLEL_BODY copy_statistics copy_engine::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

HYPERPARALLEL_BODY void copy_engine::perform_first(std::unique_lock<std::mutex>& lock) noexcept {
  const std::shared_ptr<detail::copy_job> job = running_ = queue_.front();
  queue_.pop_front();
  job->state = copy_state::running;
  job->times.started = std::max(job->times.submitted, free_);
  const std::int64_t due = job->times.due = job->times.started + job->duration;
  lock.unlock();

  bool whole = false;
  const std::int64_t begin = now();
  std::int64_t moved = begin;
  std::string complaint = detail::complaint_of([&] {
    const bool all = move_bytes(*job);
    moved = now();
    whole = all && await(due, *job);
  });

  lock.lock();
  job->complaint = std::move(complaint);
  free_ = whole ? due : std::clamp(now(), job->times.started, due);
  statistics_.busy += std::max(free_ - job->times.started, moved - begin);
  running_ = nullptr;
  end(*job, whole ? copy_state::complete : job->complaint.empty() ? copy_state::cancelled : copy_state::failed);
}

HYPERPARALLEL_BODY bool copy_engine::move_bytes(detail::copy_job& job) const {
  for (std::int64_t done = 0; done < job.bytes;) {
    if (job.stop.load(std::memory_order_relaxed)) return false;
    const std::int64_t bytes = std::min(options_.chunk, job.bytes - done);
    if (options_.move)
      options_.move(job.to + done, job.from + done, bytes);
    else
      std::memcpy(job.to + done, job.from + done, static_cast<std::size_t>(bytes));
    done += bytes;
  }
  return true;
}

HYPERPARALLEL_BODY bool copy_engine::await(std::int64_t due, const detail::copy_job& job) noexcept {
  for (;;) {
    const std::uint32_t seen = bell_.prepare();
    const std::int64_t left = due - now() - options_.spin;
    if (left <= 0 || job.stop.load(std::memory_order_seq_cst)) break;
    bell_.park(seen, left / nanosecond);
  }
  bell_.leave();
  while (now() < due) {
    if (job.stop.load(std::memory_order_relaxed)) return false;
    detail::spin_pause();
  }
  return true;
}

HYPERPARALLEL_BODY void copy_engine::end(detail::copy_job& job, copy_state s) noexcept {
  job.state = s;
  job.times.ended = now();
  if (s == copy_state::complete) {
    ++statistics_.copies;
    statistics_.bytes += job.bytes;
    statistics_.most_late = std::max(statistics_.most_late, job.times.ended - job.times.due);
  } else {
    ++(s == copy_state::failed ? statistics_.failed : statistics_.cancelled);
  }
  over_.notify_all();
}

HYPERPARALLEL_BODY void copy_engine::live() noexcept {
  const scoped_pin pin(options_.core);
  for (;;) {
    const std::uint32_t seen = bell_.prepare();
    std::unique_lock lock(mutex_);
    if (!queue_.empty()) {
      bell_.leave();
      perform_first(lock);
      continue;
    }
    if (dismissed_) return;
    lock.unlock();
    bell_.park(seen);
  }
}

}}  // namespace hyperparallel::v0_2
