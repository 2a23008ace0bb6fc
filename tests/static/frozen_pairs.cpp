// SPDX-License-Identifier: Apache-2.0
// Laws of the value core inside constant expressions, without a test framework and within the compilers' default
// limits. The run-time twins are tests/redistribution and tests/layout; the frozen table is examined there on the same
// inputs.
#include "../redistribution/frozen_pairs.hpp"

namespace {

namespace hp = hyperparallel;

/// Every layout of a 2x2 matrix over two dims: axis a is unused, or on dim 0 or 1, and on one dim in either order.
constexpr hp::layout_value small_layout(int index) {
  hp::layout_value l;
  l.mesh = {2, {2, 2}};
  l.rank = 2;
  const int place[2] = {index % 3 - 1, index / 3 % 3 - 1};  // -1: unused
  const bool turned = index / 9 == 1;
  for (int d = 0; d < 2; ++d)
    for (int k = 0; k < 2; ++k) {
      const int a = turned ? 1 - k : k;
      if (place[a] == d) hp::append_cut(l, {d, a, 1, 2});
    }
  return l;
}

constexpr bool slices_tile(const hp::layout_value& l, const hp::shape& s) {
  hp::extent_t held = 0, shards = 1;
  for (int i = 0; i < l.cut_count; ++i) shards *= l.cut[i].size;
  for (int p = 0; p < 4; ++p) {
    const hp::box b = hp::slice_of(l, s, p).box;
    held += hp::volume(b);
    for (int q = 0; q < p; ++q) {
      const hp::box other = hp::slice_of(l, s, q).box;
      if (!(other == b) && hp::volume(hp::intersection(other, b)) > 0) return false;
    }
  }
  return held * shards == hp::element_count(s).value * 4;
}

constexpr bool every_layout_tiles() {
  for (int i = 0; i < 18; ++i)
    if (!slices_tile(small_layout(i), {4, 8})) return false;
  return true;
}
static_assert(every_layout_tiles());

constexpr bool every_pair_meets_its_bound() {
  const hp::shape s{4, 8};
  for (int i = 0; i < 18; ++i)
    for (int j = 0; j < 18; ++j) {
      const hp::layout_value a = small_layout(i), b = small_layout(j);
      const hp::redistribution_plan p = hp::plan_redistribution(a, b, s);
      if (p.received_maximum != hp::enumerate_bound(a, b, s).maximum || p.received_maximum != p.lower_bound)
        return false;
      for (int r = 0; r < 4; ++r)
        if (hp::received_by(a, b, s, p.replicas, r) != hp::least_received(a, b, s, hp::coordinates_of(a.mesh, r)))
          return false;
    }
  return true;
}
static_assert(every_pair_meets_its_bound());

constexpr bool frozen_plans_meet_their_bounds() {
  for (const frozen::findings& f : frozen::compiled.of)
    if (f.received != f.bound) return false;
  return true;
}
static_assert(frozen_plans_meet_their_bounds());

static_assert(frozen::compiled.of[0].kind == hp::plan_kind::all_to_all && frozen::compiled.of[0].received == 128);
static_assert(frozen::compiled.of[10].kind == hp::plan_kind::collective_permute || !frozen::compiled.of[10].refined);
static_assert(frozen::compiled.of[13].plan == hp::plan_code::source_is_refused);
static_assert(frozen::compiled.of[14].from.code == hp::layout_code::axis_is_used_twice);

}  // namespace
