// SPDX-License-Identifier: Apache-2.0
#pragma once
// Several compiled splits of devices among modules, one of them chosen for each step from the load that was seen.
//
//   hp::growing_array<hp::compiled_split> compiled = …;      for images heavy, for sound heavy, …
//   const hp::split_choice c = hp::choose_split(compiled, seen);
//   compiled[c.split]                                        the fastest that has room for what was seen
//   hp::choose_split(compiled, seen, {.split = 1, .steps = 50, .move = 400'000});   from split 1, for 50 steps
//
// A program has extents that are fixed when it is compiled, so a split has room for so much of each module, and takes the
// same time whatever fills it. Laws: the chosen one has room for the load, and none that has takes less: of splits alike that
// under way, then the first. With a present split, to leave its devices costs `move`, and what is least is that and the time of `steps` steps:
// so a run that chooses before each phase of equal loads takes at most as long as any one split, plus its moves.
// Complexity: O(splits · modules).

#include <hyperparallel/groups/split.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A split that is compiled, and what a step under it takes, in any unit.
struct compiled_split {
  growing_array<int> devices{};    ///< of each module
  growing_array<extent_t> room{};  ///< of each module: the most that a step may have for it, in any unit
  extent_t time = 0;               ///< of a step
};

/// Where a run is: the split under way, how many steps are alike, and what it takes to leave its devices.
struct present_split {
  int split = -1;  ///< none so far
  extent_t steps = 1;
  extent_t move = 0;
};

enum class split_choice_code : unsigned char {
  ok,
  no_split_is_compiled,
  split_has_other_modules,  ///< split `split` has `given` modules, the load `expected`
  time_is_negative,         ///< of split `split`, or of the move
  present_is_no_split,      ///< `given` of `expected`
  times_overflow,           ///< of split `split`
  load_is_too_large  ///< `given` of module `module`, `expected` is the largest room; -1: no one module is to blame
};

constexpr const char* name_of(split_choice_code c) {
  return detail::enum_name(
      "ok\0no_split_is_compiled\0split_has_other_modules\0time_is_negative\0present_is_no_split\0times_overflow\0"
      "load_is_too_large",
      c);
}

struct split_choice {
  split_choice_code code = split_choice_code::ok;
  int split = -1;     ///< the chosen one, or the one to blame
  extent_t time = 0;  ///< of its steps and the move to it
  int module = -1;
  extent_t given = 0, expected = 0;
  constexpr bool ok() const { return code == split_choice_code::ok; }
  friend constexpr bool operator==(const split_choice&, const split_choice&) = default;
};

namespace detail {

constexpr bool has_room(const compiled_split& s, const growing_array<extent_t>& load) {
  for (int m = 0; m < load.size; ++m)
    if (s.room.item[m] < load.item[m]) return false;
  return true;
}

constexpr split_choice check_compiled(const growing_array<compiled_split>& all, int modules, const present_split& now) {
  using code = split_choice_code;
  if (all.empty()) return {.code = code::no_split_is_compiled};
  if (now.split < -1 || now.split >= all.size)
    return {.code = code::present_is_no_split, .given = now.split, .expected = all.size};
  for (int s = 0; s < all.size; ++s) {
    const compiled_split& one = all.item[s];
    for (const int given : {one.devices.size, one.room.size})
      if (given != modules)
        return {.code = code::split_has_other_modules, .split = s, .given = given, .expected = modules};
    if (one.time < 0 || now.move < 0) return {.code = code::time_is_negative, .split = s};
  }
  return {};
}

/// Why no split has room: the first module for which the largest has too little.
constexpr split_choice no_room(const growing_array<compiled_split>& all, const growing_array<extent_t>& load) {
  for (int m = 0; m < load.size; ++m) {
    extent_t most = all.item[0].room.item[m];
    for (const compiled_split& s : all) most = larger(most, s.room.item[m]);
    if (load.item[m] > most)
      return {.code = split_choice_code::load_is_too_large, .module = m, .given = load.item[m], .expected = most};
  }
  return {.code = split_choice_code::load_is_too_large};
}

}  // namespace detail

/// The fastest compiled split that has room for the load of each module.
constexpr split_choice choose_split(const growing_array<compiled_split>& compiled, const growing_array<extent_t>& load,
                                    const present_split& now = {}) {
  split_choice best = detail::check_compiled(compiled, load.size, now);
  if (!best.ok()) return best;
  for (int i = -1; i < compiled.size; ++i) {
    const int s = i < 0 ? now.split : i;  // the present one first
    if (s < 0 || (i >= 0 && s == now.split) || !detail::has_room(compiled.item[s], load)) continue;
    const bool stays = now.split < 0 || compiled.item[now.split].devices == compiled.item[s].devices;
    extent_t time = 0;
    if (multiply_overflows(compiled.item[s].time, now.steps, time) || add_overflows(time, stays ? 0 : now.move, time))
      return {.code = split_choice_code::times_overflow, .split = s};
    if (best.split >= 0 && time >= best.time) continue;
    best.split = s;
    best.time = time;
  }
  return best.split >= 0 ? best : detail::no_room(compiled, load);
}

}}  // namespace hyperparallel::v0_2
