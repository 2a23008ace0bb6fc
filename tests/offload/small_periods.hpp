// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small periods by hand, also in constant expressions.

#include <hyperparallel/offload/offload_program.hpp>

#include <initializer_list>

namespace offload_testing {

namespace hp = hyperparallel;

/// A byte takes a picosecond.
inline constexpr hp::offload_link terabyte_link{1'000'000'000'000, 0};

/// Operators without storages; a slower tier of 1000 bytes, with a link in and a link out.
constexpr hp::offload_program two_tiers(hp::extent_t budget, int operators, hp::extent_t duration,
                                        const hp::offload_link& in = terabyte_link,
                                        const hp::offload_link& out = terabyte_link) {
  hp::offload_program p;
  p.link.push(in);
  p.link.push(out);
  p.tier.push({budget, -1, -1});
  p.tier.push({1000, 0, 1});
  for (int q = 0; q < operators; ++q) p.op.push({duration, -1, false});
  return p;
}

/// `s` with these accesses, labelled with its number, which it returns.
constexpr int add_accessed(hp::offload_program& p, hp::offload_storage s,
                           std::initializer_list<hp::storage_access> accesses) {
  s.first_access = p.access.size;
  s.access_count = static_cast<int>(accesses.size());
  s.label = p.storage.size;
  for (const hp::storage_access& a : accesses) p.access.push(a);
  return p.storage.push(s);
}

/// Value v of `values` is made by operator v and read by the v-th last one, as in a forward and a backward pass.
constexpr void add_mirrored(hp::offload_program& p, int values, const hp::offload_storage& each) {
  for (int v = 0; v < values; ++v) add_accessed(p, each, {{v, false, true}, {p.op.size - 1 - v, true, false}});
}

/// Three layers forward and backward, of which the second can be recomputed, and a weight that both passes use.
constexpr hp::offload_program three_layers(hp::extent_t budget) {
  hp::offload_program p = two_tiers(budget, 7, 40, {1'000'000'000'000, 2}, {500'000'000'000, 2});
  add_mirrored(p, 3, {.bytes = 20});
  for (int l = 0; l < 3; ++l) p.storage[l].bytes += 3 * l;
  p.storage[1].recompute = 30;
  add_accessed(p, {.bytes = 15, .persistent = true}, {{1, true, false}, {6, true, true}});
  return p;
}

}  // namespace offload_testing
