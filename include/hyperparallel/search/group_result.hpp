// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a search of groups (group_search.hpp) is limited by, and what it answers: plans of sub-models with the clocks of their steps,
// and the certificate of what was passed over. Units: picoseconds, bytes.

#include <hyperparallel/hardware/hardware_status.hpp>
#include <hyperparallel/price/module_times.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

inline constexpr int most_searched_modules = 8, most_found_groups = 5;

}  // namespace detail

struct group_limits {
  growing_array<short_text> strategies{};  ///< by name; none: zero1, zero3, tp, dp-tp. One rank has "single".
  int played = 256;                        ///< plans whose clocks are played
  int listed = 1 << 18;                    ///< plans that are kept to be played
  extent_t memory = 0;                     ///< of a device; 0: its first tier
};

/// A plan that was played.
struct found_groups {
  submodel_plan plan{};
  extent_t bound = 0;   ///< its longest group computes as long
  extent_t memory = 0;  ///< of the rank that needs most, by address
  part_times times{};
};

struct group_certificate {
  bool complete = true;      ///< every plan was played, or has a bound that is no less than the best time
  extent_t lower_bound = 0;  ///< no plan of the space that fits takes less; 0: nothing is known
  extent_t partitions = 0;   ///< of the modules
  extent_t plans = 0;        ///< of the space, as far as its groups are accepted one by one
  extent_t by_bound = 0;     ///< passed over since their work takes as long as the best step, or longer
  extent_t played = 0;
  extent_t refused = 0, too_large = 0;         ///< of those played: by the partitioner or the clock; for the memory
  extent_t measured = 0;                       ///< sets of modules on ranks under a strategy
  extent_t law_breaks = 0;                     ///< groups that compute less than their bound: it does not hold then
  extent_t least_memory = 0;                   ///< of the plans that are too large
  submodel_code why = submodel_code::ok;       ///< the last refusal of a set of modules
  strategy_code strategy = strategy_code::ok;  ///< likewise
  friend constexpr bool operator==(const group_certificate&, const group_certificate&) = default;
};

struct group_search {
  submodel_status groups{};
  hardware_status hardware{};
  growing_array<found_groups> best{};  ///< by rising time, at most most_found_groups
  group_certificate certificate{};
  constexpr bool ok() const { return !best.empty(); }
};

}}  // namespace hyperparallel::v0_2
