// SPDX-License-Identifier: Apache-2.0
#pragma once
// Waiting with an end: MPI has no waits that give up, so every wait here tests and yields until a deadline.
//
// Yielding matters where processes outnumber cores: a process that spins inside MPI holds the core that the awaited
// one needs. Who yields is behind all that compute, for a slice of time each; who sleeps is before them when it wakes. So a
// wait in which others have had the core for long sleeps between looks. On a core of its own a process never sleeps.
// Law: `poll_until` looks at least once, and returns within its deadline plus one look and one yield or sleep.

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <hyperparallel/mpi/error.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

using mpi_clock = std::chrono::steady_clock;

/// Calls `done()` until it returns true or the deadline passes; returns whether it did.
template <class Done>
bool poll_until(mpi_clock::time_point deadline, const Done& done) {
  using std::chrono::microseconds;
  mpi_clock::duration given{};  // to others, by yields that did not return at once
  for (;;) {
    if (done()) return true;
    const mpi_clock::time_point now = mpi_clock::now();
    if (now >= deadline) return false;
    if (given > microseconds(100)) {
      std::this_thread::sleep_for(microseconds(10));
      continue;
    }
    std::this_thread::yield();
    if (const auto away = mpi_clock::now() - now; away > microseconds(2)) given += away;
  }
}

/// A duration for a message: "2 s" or "250 ms".
inline std::string to_text(std::chrono::milliseconds time) {
  const auto count = time.count();
  return count % 1000 == 0 ? std::to_string(count / 1000) + " s" : std::to_string(count) + " ms";
}

/// Messages in flight, told apart by the order in which they were added.
class mpi_requests {
 public:
  /// Where to put the next request; valid until the next call.
  MPI_Request* add() { return &request_.emplace_back(MPI_REQUEST_NULL); }

  /// Looks once. Calls `completed(index, code, status)` for each request that has ended since, well or not; returns
  /// whether all have.
  template <class Completed>
  bool look(const Completed& completed) {
    index_.resize(request_.size());
    status_.resize(request_.size());
    int ended = 0;
    const int code =
        MPI_Testsome(static_cast<int>(request_.size()), request_.data(), &ended, index_.data(), status_.data());
    if (code != MPI_ERR_IN_STATUS) check_mpi(code, "MPI_Testsome");
    for (int i = 0; ended != MPI_UNDEFINED && i < ended; ++i) {
      const MPI_Status& status = status_[static_cast<std::size_t>(i)];
      completed(index_[static_cast<std::size_t>(i)], code == MPI_SUCCESS ? MPI_SUCCESS : status.MPI_ERROR, status);
    }
    return std::ranges::all_of(request_, [](MPI_Request r) { return r == MPI_REQUEST_NULL; });
  }

  bool is_active(std::size_t index) const { return request_[index] != MPI_REQUEST_NULL; }
  std::size_t size() const { return request_.size(); }
  void clear() { request_.clear(); }

 private:
  std::vector<MPI_Request> request_;
  std::vector<int> index_;
  std::vector<MPI_Status> status_;
};

}}}  // namespace hyperparallel::v0_2::detail
