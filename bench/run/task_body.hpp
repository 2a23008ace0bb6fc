// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tasks of a measured graph do: a chain of dependent multiplications and additions of a calibrated length (not
// a loop on the clock, which would count a preempted thread's time as work), or a note of when they ran.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "alternating.hpp"
#include "task_graphs.hpp"

namespace bench {

inline std::int64_t compute_steps = 0;

/// The task itself: one call.
inline void compute(int task) {
  double x = 1.0 + 1e-9 * task;
  for (std::int64_t i = 0; i < compute_steps; ++i) x = x * 1.0000001 + 1e-9;
  asm volatile("" : : "g"(x));  // somebody wants the result
}

/// Steps that take `nanoseconds`, by the fastest of twenty trials.
inline std::int64_t steps_for(double nanoseconds) {
  constexpr std::int64_t trial = 100'000;
  double fastest = 1e300;
  compute_steps = trial;
  for (int i = 0; i < 20; ++i) fastest = std::min(fastest, time_ns([] { compute(1); }));
  return static_cast<std::int64_t>(nanoseconds / fastest * static_cast<double>(trial));
}

/// Notes the order of beginnings and ends. One graph at a time.
class order_check {
 public:
  static void restart(int tasks) {
    begun = std::vector<std::atomic<int>>(at(tasks));
    ended = std::vector<std::atomic<int>>(at(tasks));
    clock = 0;
    runs = 0;
  }

  static void note(int task) {
    begun[at(task)] = ++clock;
    ++runs;
    ended[at(task)] = ++clock;
  }

  /// Every task has run once, after the tasks before it had ended.
  static bool holds(const dependences& d) {
    bool right = runs == d.tasks();
    for (int t = 0; t < d.tasks(); ++t) {
      right &= ended[at(t)] > 0;
      for (const int p : d.before[at(t)]) right &= ended[at(p)] < begun[at(t)];
    }
    return right;
  }

 private:
  inline static std::vector<std::atomic<int>> begun, ended;
  inline static std::atomic<int> clock, runs;
};

}  // namespace bench
