// SPDX-License-Identifier: Apache-2.0
#pragma once
// What people call a queue: its class, and its unit where a rank has several: "AIC 0", "AIV 3", "link", "copy in".

#include <string>

#include <hyperparallel/taskflow/task.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace report {

constexpr const char* name_of(resource kind) {
  constexpr const char* names[resource_count] = {"AIC", "AIV", "link", "copy in", "copy out", "host"};
  return names[static_cast<int>(kind)];
}

namespace detail {

/// A queue number taken apart; the inverse of `first_queue(machine, rank, kind) + unit`.
struct queue_place {
  int rank = 0;
  resource kind = resource::aic;
  int unit = 0;
  friend constexpr bool operator==(const queue_place&, const queue_place&) = default;
};

/// Domain: 0 <= queue < queue_count(machine). O(1).
constexpr queue_place place_of_queue(const machine_shape& machine, int queue) {
  const int per_rank = hyperparallel::detail::queues_per_rank(machine);
  queue_place p{queue / per_rank, resource::aic, queue % per_rank};
  int kind = 0;
  while (p.unit >= machine.queues[kind]) p.unit -= machine.queues[kind++];
  p.kind = static_cast<resource>(kind);
  return p;
}

/// The queue's name within its rank. Domain as above.
inline std::string queue_name(const machine_shape& machine, int queue) {
  const queue_place p = place_of_queue(machine, queue);
  const std::string name = name_of(p.kind);
  return machine.queues[static_cast<int>(p.kind)] == 1 ? name : name + " " + std::to_string(p.unit);
}

}  // namespace detail

}}}  // namespace hyperparallel::v0_2::report
