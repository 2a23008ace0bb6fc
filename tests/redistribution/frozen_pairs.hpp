// SPDX-License-Identifier: Apache-2.0
#pragma once
// A frozen table of redistributions whose plans are evaluated twice: by the compiler, and at run time on the same
// inputs.

#include <hyperparallel/redistribution.hpp>

namespace frozen {

namespace hp = hyperparallel;

struct pair {
  int mesh[3];
  const char* from[3];
  const char* to[3];
  int rank;
  hp::extent_t extent[3];
};

inline constexpr pair pairs[] = {
    {{2, 2, 2}, {"x", "", ""}, {"", "x", ""}, 3, {8, 8, 8}},
    {{2, 2, 2}, {"x", "y", ""}, {"y", "x", ""}, 3, {8, 8, 8}},
    {{2, 2, 2}, {"x,y", "z", ""}, {"", "z,y,x", ""}, 3, {8, 8, 8}},
    {{2, 2, 2}, {"x", "", ""}, {"", "x,y", ""}, 3, {8, 8, 8}},
    {{2, 2, 2}, {"y", "z,x", ""}, {"z", "y", "x"}, 3, {8, 8, 8}},
    {{2, 2, 2}, {"y,x", "z", ""}, {"", "y", "x"}, 3, {8, 8, 8}},
    {{4, 2, 2}, {"x", "y", ""}, {"", "y,x", "z"}, 3, {16, 16, 16}},
    {{4, 2, 2}, {"z,y", "", ""}, {"x", "", ""}, 3, {16, 16, 16}},
    {{2, 4, 8}, {"x", "y", "z"}, {"z", "y", "x"}, 3, {64, 4096, 7168}},
    {{2, 4, 8}, {"", "", ""}, {"z,y,x", "", ""}, 3, {64, 4096, 7168}},
    {{2, 3, 1}, {"x,y", "", ""}, {"y,x", "", ""}, 2, {12, 12, 0}},
    {{2, 3, 1}, {"x", "", ""}, {"y", "", ""}, 2, {12, 12, 0}},
    {{3, 4, 1}, {"x,y", "", ""}, {"", "y", ""}, 2, {24, 8, 0}},
    {{2, 2, 2}, {"x", "", ""}, {"", "x", ""}, 2, {7, 8, 0}},
    {{2, 2, 2}, {"x", "x", ""}, {"", "x", ""}, 2, {8, 8, 0}},
};
inline constexpr int pair_count = static_cast<int>(sizeof(pairs) / sizeof(pairs[0]));

/// Everything the core says of one pair.
struct findings {
  hp::mesh_code mesh = hp::mesh_code::ok;
  hp::layout_status from{}, to{};
  hp::plan_code plan = hp::plan_code::ok;
  hp::plan_kind kind = hp::plan_kind::no_op;
  bool refined = false;
  hp::extent_t fan_in = 0, messages = 0, received = 0, bound = 0, bound_sum = 0, last_sender = 0, last_volume = 0;
  hp::box last_slice{};
  friend constexpr bool operator==(const findings&, const findings&) = default;
};

constexpr findings examine(const pair& x) {
  findings f;
  const char* names[] = {"x", "y", "z"};
  const hp::mesh_result m = hp::make_mesh(names, 3, x.mesh, 3);
  f.mesh = m.status.code;
  const hp::layout_result from = hp::layout_from_map(m.mesh, x.from, x.rank),
                          to = hp::layout_from_map(m.mesh, x.to, x.rank);
  f.from = from.status;
  f.to = to.status;
  hp::shape s;
  for (int d = 0; d < x.rank; ++d) s.extent[s.rank++] = x.extent[d];
  const hp::redistribution_plan p = hp::plan_redistribution(from.layout, to.layout, s);
  f.plan = p.status.code;
  if (p.status.code != hp::plan_code::ok) return f;
  f.kind = p.kind;
  f.refined = p.refined;
  f.fan_in = p.fan_in;
  f.messages = p.messages;
  f.received = p.received_maximum;
  f.bound = p.lower_bound;
  f.bound_sum = hp::enumerate_bound(from.layout, to.layout, s).sum;
  const int last = hp::position_count(m.mesh.shape) - 1;
  const hp::receiver r = hp::receiver_at(from.layout, to.layout, s, p.replicas, hp::coordinates_of(m.mesh.shape, last));
  const hp::exchange_box b = hp::box_at(from.layout, r, r.boxes - 1);
  f.last_sender = b.sender;
  f.last_volume = hp::volume(b.global);
  f.last_slice = hp::slice_of(to.layout, s, last).box;
  return f;
}

struct table {
  findings of[pair_count];
};

constexpr table examine_all() {
  table t{};
  for (int i = 0; i < pair_count; ++i) t.of[i] = examine(pairs[i]);
  return t;
}

/// What the compiler found.
inline constexpr table compiled = examine_all();

}  // namespace frozen
