// SPDX-License-Identifier: Apache-2.0
#pragma once
// A neighbour that disturbs: a process of its own that computes without end on one core. It ends with the object, and
// with the bench, however that ends.

#include <csignal>
#include <stdexcept>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hyperparallel/exec/cores.hpp>

namespace bench {

class busy_process {
 public:
  /// Domain: no other thread has been started yet. Throws std::runtime_error where the system refuses.
  explicit busy_process(int core) {
    const pid_t parent = getpid();
    process_ = fork();
    if (process_ < 0) throw std::runtime_error("no process can be started to keep a core busy");
    if (process_ > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const hyperparallel::scoped_pin pin(core);
    if (!pin.pinned() || getppid() != parent) _exit(1);
    for (;;) asm volatile("" ::: "memory");
  }
  busy_process(const busy_process&) = delete;
  busy_process& operator=(const busy_process&) = delete;
  ~busy_process() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }

 private:
  pid_t process_;
};

}  // namespace bench
