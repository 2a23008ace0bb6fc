// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ctrl-C and SIGTERM as a wish that training may grant at the end of a step. A second one, later, ends the process at once, as
// it would have without this.

#include <signal.h>
#include <atomic>
#include <cstdint>
#include <ctime>

namespace train_text {

inline constexpr int interrupted_status = 130;  ///< as a shell tells of a program that Ctrl-C has ended

namespace detail {
inline std::atomic<bool> wished = false;
inline std::atomic<std::int64_t> wished_at = 0;  // milliseconds
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free,
              "a signal handler may write them");

/// Whoever ends a job may signal both the process and its group: what comes within a fifth of a second is the same wish.
inline void wish(int signal) {
  struct timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t time = std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
  if (!wished) wished_at = time;
  wished = true;
  if (time - wished_at < 200) return;
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}
}  // namespace detail

/// From here on signals are wishes, except where whoever started the process has it ignore them.
inline void listen_for_interruption() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction now{};
    if (::sigaction(signal, nullptr, &now) != 0 || now.sa_handler == SIG_IGN) continue;
    now = {};
    now.sa_handler = detail::wish;
    now.sa_flags = SA_RESTART;
    ::sigaction(signal, &now, nullptr);
  }
}

inline bool is_interrupted() { return detail::wished; }

}  // namespace train_text
