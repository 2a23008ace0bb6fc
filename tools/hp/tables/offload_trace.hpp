// SPDX-License-Identifier: Apache-2.0
#pragma once
// A period written down operator by operator, on a device and a host behind a link for each direction.

#include <initializer_list>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include <hyperparallel/offload/offload_planner.hpp>

namespace tables {

namespace hp = hyperparallel;

class offload_trace {
 public:
  hp::offload_program program;

  /// Two links like `link`; the host holds whatever leaves the device.
  offload_trace(std::int64_t budget, const hp::offload_link& link) {
    program.link.push(link);
    program.link.push(link);
    program.tier.push({.capacity = budget});
    program.tier.push({.capacity = hp::terabyte, .in_link = 0, .out_link = 1});
  }
  int add_operator(std::int64_t duration) { return program.op.push({.duration = duration}); }
  /// Accesses by rising operator. The reference lasts until the next storage.
  hp::offload_storage& add_storage(std::int64_t bytes, std::initializer_list<hp::storage_access> accesses) {
    const int s = program.storage.push({.bytes = bytes,
                                        .first_access = program.access.size,
                                        .access_count = static_cast<int>(accesses.size()),
                                        .label = program.storage.size});
    for (const hp::storage_access& one : accesses) program.access.push(one);
    return program.storage[s];
  }
};

/// The time of all operators of a period alone.
inline std::int64_t operator_time(const hp::offload_program& p) {
  std::int64_t sum = 0;
  for (const hp::offload_operator& one : p.op) sum += one.duration;
  return sum;
}

/// A feasible plan. Throws where the program is not well formed or nothing runs.
inline hp::planned_offload planned(const hp::offload_program& p, const char* what) {
  hp::planned_offload r = hp::plan_offload(p);
  if (r.status.code != hp::offload_code::ok)
    throw std::logic_error(fmt::format("{}: {}", what, to_text(r.status.code)));
  if (!r.certificate.feasible)
    throw std::logic_error(fmt::format("{}: no plan for {} bytes, at least {} are needed", what, p.tier[0].capacity,
                                       r.certificate.least_budget));
  return r;
}

inline double seconds(std::int64_t picoseconds) {
  return static_cast<double>(picoseconds) / static_cast<double>(hp::second);
}

}  // namespace tables
