// SPDX-License-Identifier: Apache-2.0
#pragma once
// What happens to tier 0 and to the links while a period runs, as clock and timeline tell it.
//
// Laws that every told sequence keeps: operators start in order; a gap's events come as store (where one is needed),
// detach, prefetch, where it wraps prefetch first; `alive` never exceeds the capacity.

#include <hyperparallel/offload/offload_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class offload_event_kind : unsigned char {
  compute,   ///< operator `index` starts: what it defines or recomputes is in tier 0 from here on
  store,     ///< the copy out of gap `index` starts
  detach,    ///< the storage of gap `index` leaves tier 0
  prefetch,  ///< the copy in of gap `index` starts: its room is taken
  release,   ///< storage `index` dies
};

struct offload_event {
  offload_event_kind kind = offload_event_kind::compute;
  int index = 0;
  int after = -1;  ///< the last operator that has started, places in the order of issue
  extent_t time = 0;
  extent_t alive = 0;  ///< bytes in tier 0 from here on
  friend constexpr bool operator==(const offload_event&, const offload_event&) = default;
};

constexpr const char* to_text(offload_event_kind k) {
  constexpr const char* texts[] = {"compute", "store", "detach", "prefetch", "release"};
  return texts[static_cast<int>(k)];
}

}}  // namespace hyperparallel::v0_2
