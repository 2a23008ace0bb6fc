// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a whole move takes over each kind of link, step by step. Law: its time is the sum of its steps' times.
// Units: elements, picoseconds. O(steps · levels).

#include <hyperparallel/redistribution/move_candidate.hpp>
#include <hyperparallel/redistribution/step_levels.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Steps in which nothing is received are left out.
struct move_load {
  move_candidate candidate = move_candidate::exchange;
  growing_array<step_levels> step;
  cost_code code = cost_code::ok;  ///< of the steps, or why no candidate is carried
  friend constexpr bool operator==(const move_load&, const move_load&) = default;

  constexpr void add(const step_levels& one) {
    if (one.code != cost_code::ok) code = one.code;
    if (one.received > 0) step.push(one);
  }
};

constexpr time_cost time_of(const move_load& load, extent_t element_bytes, const interconnect& net) {
  time_cost time{load.code, 0};
  for (const step_levels& one : load.step) time = then(time, time_of(one, element_bytes, net));
  return time;
}

namespace detail {

/// Elements, and messages, of the busiest receivers of all steps on one level; of a full mesh elements of the busiest
/// links along one axis, and steps over it.
constexpr extent_t elements_over(const move_load& load, int level) {
  extent_t sum = 0;
  for (const step_levels& one : load.step) sum += one.level[level].elements;
  return sum;
}
constexpr extent_t messages_over(const move_load& load, int level) {
  extent_t sum = 0;
  for (const step_levels& one : load.step) sum += one.level[level].messages;
  return sum;
}
/// Elements that all devices receive in all steps.
constexpr extent_t received_by_all(const move_load& load) {
  extent_t sum = 0;
  for (const step_levels& one : load.step) sum += one.received;
  return sum;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
