// SPDX-License-Identifier: Apache-2.0
#pragma once
// What steps of a program have read and written, by storage: whether another step may change places with them.
//
// Law: two steps may where neither writes what the other one reads or writes. Sets are emptied in O(1); O(accesses) a step.

#include <hyperparallel/strategy/lifetimes.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Storages by number, emptied at once.
class storage_set {
 public:
  constexpr explicit storage_set(int storages) : mark_(storages, 0) {}
  constexpr void clear() { ++round_; }
  constexpr void add(int s) { mark_.item[s] = round_; }
  constexpr bool has(int s) const { return mark_.item[s] == round_; }

 private:
  growing_array<int> mark_;
  int round_ = 1;
};

/// What steps have read and written.
struct step_accesses {
  storage_set read, written;
  constexpr explicit step_accesses(int storages) : read(storages), written(storages) {}
  constexpr void clear() {
    read.clear();
    written.clear();
  }
  constexpr void add(const sharded_program& p, const program_step& s) {
    visit_values(p, s, [&](int v, bool writes) { (writes ? written : read).add(p.value.item[v].storage); });
  }
  /// Whether the step may not change places with these.
  constexpr bool meets(const sharded_program& p, const program_step& s) const {
    bool met = false;
    visit_values(p, s, [&](int v, bool writes) {
      const int storage = p.value.item[v].storage;
      met = met || written.has(storage) || (writes && read.has(storage));
    });
    return met;
  }
};

}}}  // namespace hyperparallel::v0_2::detail
