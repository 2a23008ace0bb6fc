// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ctrl-C and SIGTERM as a wish that training may grant at the end of a step. A second one ends the process at once, as
// it would have without this.

#include <signal.h>
#include <atomic>

namespace train_text {

inline constexpr int interrupted_status = 130;  ///< as a shell tells of a program that Ctrl-C has ended

namespace detail {
inline std::atomic<bool> wished = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may write it");

inline void wish(int) {
  wished = true;
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
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
