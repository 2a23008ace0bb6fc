// SPDX-License-Identifier: Apache-2.0
#pragma once
// Hardware that cannot carry a program on 8 devices, each wrong in one number.

#include <hyperparallel/hardware/hardware_status.hpp>
#include <hyperparallel/hardware/presets.hpp>

#include <vector>

namespace refused {

namespace hp = hyperparallel;

struct hardware {
  const char* what;
  hp::device_value device;
  hp::topology_value topology;
};

/// Two levels: groups of so many ranks.
constexpr hp::topology_value two_levels(int inner, int outer) {
  hp::topology_value t;
  t.level_count = 2;
  t.level[0] = {"near", inner, 100 * hp::gigabyte, hp::microsecond};
  t.level[1] = {"far", outer, 10 * hp::gigabyte, hp::microsecond};
  return t;
}

constexpr hp::device_value without_cold_rate() {
  hp::device_value d = hp::matrix384::device;
  d.gmm_cold = {};
  return d;
}
constexpr hp::device_value without_vector_rate() {
  hp::device_value d = hp::matrix384::device;
  d.vector_flops = 0;
  return d;
}
constexpr hp::device_value standing_memory() { return hp::with_bandwidth(hp::matrix384::device, hp::hbm, 0); }

constexpr hp::topology_value without_bandwidth() {
  hp::topology_value t = two_levels(2, 8);
  t.level[1].bandwidth = 0;
  return t;
}

/// Rows and columns of private links.
constexpr hp::full_mesh_value square(int x, int y) {
  hp::full_mesh_value m;
  m.level_count = 2;
  m.level[0] = {"column", x, 50 * hp::gigabyte, hp::microsecond};
  m.level[1] = {"row", y, 100 * hp::gigabyte, hp::microsecond};
  return m;
}

inline std::vector<hardware> each() {
  const hp::device_value& die = hp::matrix384::device;
  const hp::topology_value& links = hp::matrix384::topology;
  return {{"no device", hp::device_value{}, links},
          {"no rate of products", without_cold_rate(), links},
          {"no rate of vector work", without_vector_rate(), links},
          {"no bandwidth of memory", standing_memory(), links},
          {"no links", die, hp::topology_value{}},
          {"groups of 8 and 12", die, two_levels(8, 12)},
          {"links that stand", die, without_bandwidth()},
          {"links that join 4 of 8", die, two_levels(2, 4)}};
}

}  // namespace refused
