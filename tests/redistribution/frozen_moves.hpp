// SPDX-License-Identifier: Apache-2.0
#pragma once
// A frozen table of moves, partial states included, whose plans and certificates are evaluated twice: by the compiler,
// and at run time on the same inputs.

#include <hyperparallel/layout/tensor_map.hpp>
#include <hyperparallel/redistribution/certificate.hpp>

namespace frozen {

namespace hp = hyperparallel;

struct move {
  int mesh[3];
  int from[3];  ///< per axis: the dim that it shards, -1 replicates, -2 sums, -3 takes the maximum
  int to[3];
  int padded;
  hp::extent_t extent[2];
};

inline constexpr move moves[] = {
    {{2, 2, 2}, {0, 1, -1}, {1, 0, -1}, 0, {8, 8}},     {{2, 2, 2}, {-2, -1, -1}, {-1, -1, -1}, 0, {8, 8}},
    {{2, 2, 2}, {-2, 0, -1}, {1, 0, -1}, 0, {8, 8}},    {{2, 2, 2}, {-2, -2, 0}, {0, 1, -1}, 0, {8, 8}},
    {{2, 2, 2}, {-1, 0, -1}, {-2, 1, -1}, 0, {8, 8}},   {{2, 2, 2}, {-1, 0, 0}, {-3, 1, -1}, 0, {8, 8}},
    {{2, 2, 2}, {-2, -1, 0}, {-1, 0, -1}, 0, {8, 8}},   {{2, 2, 2}, {-2, 0, 1}, {-2, 1, 0}, 0, {8, 8}},
    {{6, 4, 1}, {0, -1, -1}, {-1, 0, -1}, 0, {24, 2}},  {{2, 3, 1}, {-1, 0, -1}, {0, -1, -1}, 3, {9, 5}},
    {{2, 3, 1}, {-2, 0, -1}, {1, -1, -1}, 3, {7, 11}},  {{2, 3, 1}, {-3, -1, -1}, {-1, -2, -1}, 3, {7, 11}},
    {{2, 2, 2}, {-2, -3, -1}, {-1, -1, -1}, 0, {8, 8}}, {{2, 2, 2}, {0, -1, -1}, {0, -1, -1}, 0, {8, 8}},
};
inline constexpr int move_count = static_cast<int>(sizeof(moves) / sizeof(moves[0]));

/// Everything the core says of one move.
struct move_findings {
  hp::move_code code = hp::move_code::ok;
  int axis = 0;
  hp::plan_kind kind = hp::plan_kind::no_op;
  int step_count = 0;
  int parts = 0;  ///< of dealt boxes
  hp::move_certificate certificate{};
  int last_sender = 0;
  hp::box last_part{};
  friend constexpr bool operator==(const move_findings&, const move_findings&) = default;
};

constexpr hp::layout_value placed(const int (&mesh)[3], const int (&axes)[3], int padded) {
  hp::mesh_shape m;
  m.axis_count = 3;
  for (int a = 0; a < 3; ++a) m.size[a] = mesh[a];
  hp::layout_value l = hp::replicated(m, 2);
  l.padded = static_cast<unsigned>(padded);
  for (int d = 0; d < 2; ++d)
    for (int a = 0; a < 3; ++a)
      if (axes[a] == d) hp::append_cut(l, {d, a, 1, mesh[a]});
  for (int a = 0; a < 3; ++a)
    if (axes[a] < -1) l.partial[a] = axes[a] == -2 ? hp::reduce_op::sum : hp::reduce_op::max;
  return l;
}

constexpr move_findings examine(const move& x) {
  move_findings f;
  const hp::shape s(x.extent[0], x.extent[1]);
  const hp::move_plan p = hp::plan_move(placed(x.mesh, x.from, x.padded), placed(x.mesh, x.to, x.padded), s);
  f.code = p.code;
  f.axis = p.axis;
  f.kind = p.kind;
  f.step_count = p.step_count;
  if (p.step_count == 0) return f;
  hp::extent_t tally[3 * 24] = {};
  f.certificate = hp::certify(p, tally);
  const hp::move_step& last = p.step[p.step_count - 1];
  f.parts = last.replicas.split != 0 ? last.replicas.parts : 0;
  const hp::step_receiver r = hp::receiver_of(last, s, hp::position_count(last.target.mesh) - 1);
  if (r.transfers == 0) return f;
  const hp::transfer t = hp::transfer_at(last, r, r.transfers - 1);
  f.last_sender = t.sender;
  f.last_part = t.part;
  return f;
}

struct move_table {
  move_findings of[move_count];
};

/// One constant for each row, so that no evaluation is long.
template <int Row>
inline constexpr move_findings compiled_move = examine(moves[Row]);

template <int N, int... Rows>
struct count_rows : count_rows<N - 1, N - 1, Rows...> {};
template <int... Rows>
struct count_rows<0, Rows...> {
  static constexpr move_table table{{compiled_move<Rows>...}};
};

/// What the compiler found.
inline constexpr move_table compiled_moves = count_rows<move_count>::table;

}  // namespace frozen
