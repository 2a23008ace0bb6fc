// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pattern of a step (pull_pattern.hpp), from the digits of its layouts and the groups of the links.
//
// Law: the pattern of a step is that of every tensor which its layouts cut into the same digits. O((digits + levels)²).

#include <hyperparallel/layout/digits.hpp>
#include <hyperparallel/redistribution/interconnect.hpp>
#include <hyperparallel/redistribution/move_step.hpp>
#include <hyperparallel/redistribution/pull_pattern.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// A digit of the tensor and the parts of positions that own it on both sides, by their strides; 0: no device.
struct owned_digit {
  int size = 0, held = 0, wanted = 0;
  bool within = false;  ///< who wants it shards the source, by this digit or another one
};

/// A step as its pattern needs it.
struct step_digits {
  step_kind kind = step_kind::pull;
  int positions = 1;
  int count = 0;
  owned_digit digit[max_digits];
  int every_count = 0;  ///< parts of positions over which there is a sender with each value
  alike_parts every[max_axes];
  int turned_count = 0;  ///< parts of a replica's position that the receiver's determine
  alike_parts turned[2 * max_axes];
  int shares = 1;
  shape box{};  ///< extents of what one receiver takes from one piece
};

/// False where cuts do not nest, or no pattern describes the replicas or the fill.
constexpr bool digits_of_step(const move_step& step, const shape& s, step_digits& x) {
  const mesh_shape& m = step.source.mesh;
  const bool collects = step.kind == step_kind::collect, shared = collects || step.kind == step_kind::spread;
  if (step.target_ranks.count > 0 || step.filled != 0 || step.replicas.split != 0) return false;
  if (collects && step.replicas.link_count > 0) return false;
  int stride[max_axes] = {};
  x.positions = 1;
  for (int a = m.axis_count - 1; a >= 0; --a) {
    stride[a] = x.positions;
    x.positions *= m.size[a];
  }
  const digit_table t = refine(step.source, step.target, s);
  if (!t.refinable) return false;
  const unsigned sharding = cut_axes(step.source);
  x.kind = step.kind;
  x.box = s;
  for (int i = 0; i < t.count; ++i) {
    const digit& d = t.digit[i];
    x.box.extent[d.dim] /= d.size;
    x.digit[x.count++] = {d.size, d.source_axis < 0 ? 0 : stride[d.source_axis] * d.source_stride,
                          d.target_axis < 0 ? 0 : stride[d.target_axis] * d.target_stride,
                          d.target_axis >= 0 && (sharding >> d.target_axis & 1u) != 0};
  }
  const unsigned every = step.kind == step_kind::pull     ? 0u
                         : step.kind == step_kind::spread ? step.shared
                                                          : step.reduced;
  for (int a = 0; a < m.axis_count; ++a) {
    if ((every >> a & 1u) != 0) x.every[x.every_count++] = {stride[a], 0, m.size[a]};
    if (const int b = step.replicas.axis[a]; b != a && (sharding >> a & 1u) == 0)
      x.turned[x.turned_count++] = {stride[a], stride[b], m.size[a]};
    if (shared && (step.shared >> a & 1u) != 0) x.shares *= m.size[a];
  }
  for (int i = 0; i < step.replicas.link_count; ++i) {
    const replica_link& l = step.replicas.link[i];
    x.turned[x.turned_count++] = {stride[l.axis] * l.stride, stride[l.from] * l.from_stride, l.size};
  }
  return true;
}

/// What makes a pattern of a step. Groups of the `nested` innermost levels are cuts of positions; others need not divide
/// them (pattern_groups.hpp).
struct pattern_maker {
  const step_digits& step;
  pull_pattern& p;
  int nested = max_link_levels;

  constexpr bool add_part(int begin, int size) { return p.digits.add(begin) && p.digits.add(begin * size); }

  /// Cuts within one of two parts that are alike cut the other one.
  constexpr bool match(int a, int b, int size) {
    if (p.digits.at(a * size) == p.digits.at(a) + 1 && p.digits.at(b * size) == p.digits.at(b) + 1) return true;
    for (int i = 0; i < p.digits.count; ++i) {
      const int c = p.digits.cut[i];
      if (c > a && c < a * size && !p.digits.add(b * (c / a))) return false;
      if (c > b && c < b * size && !p.digits.add(a * (c / b))) return false;
    }
    return true;
  }
  constexpr bool match_all() {
    for (int before = -1; before != p.digits.count;) {
      before = p.digits.count;
      for (int i = 0; i < step.count; ++i)
        if (const owned_digit& x = step.digit[i]; x.held > 0 && x.wanted > 0 && x.held != x.wanted)
          if (!match(x.held, x.wanted, x.size)) return false;
      for (int i = 0; i < step.turned_count; ++i)
        if (!match(step.turned[i].stride, step.turned[i].other, step.turned[i].size)) return false;
    }
    return true;
  }

  constexpr bool cut_positions(const topology_value& t) {
    p.digits.count = 1;
    p.digits.cut[0] = 1;
    p.digits.cut[1] = step.positions;
    for (int l = 0; l < t.level_count && l < nested; ++l)
      if (t.level[l].group < step.positions && !p.digits.add(t.level[l].group)) return false;
    for (int i = 0; i < step.count; ++i) {
      const owned_digit& x = step.digit[i];
      if (x.held > 0 && !add_part(x.held, x.size)) return false;
      if (x.wanted > 0 && x.wanted != x.held && !add_part(x.wanted, x.size)) return false;
    }
    for (int i = 0; i < step.every_count; ++i)
      if (!add_part(step.every[i].stride, step.every[i].size)) return false;
    for (int i = 0; i < step.turned_count; ++i)
      if (const alike_parts& x = step.turned[i]; !add_part(x.stride, x.size) || !add_part(x.other, x.size))
        return false;
    return match_all();
  }

  constexpr void name_levels(const topology_value& t) {
    for (int i = 0, l = 0; i < p.digits.count; ++i) {
      while (l < t.level_count && t.level[l].group < p.digits.cut[i + 1]) ++l;
      p.level[i] = l < t.level_count ? l : not_connected;
    }
  }

  /// The digits of a sender in a part: those of the receiver at `other`, or where that is 0 any.
  constexpr void enter(int stride, int size, int other) {
    for (int i = p.digits.at(stride), k = other > 0 ? p.digits.at(other) : -1; size > 1; ++i) {
      p.from[i] = k < 0 ? -1 : k++;
      size /= p.digits.size(i);
    }
  }

  /// A box is dealt in chunks of the dim that the shares divide most evenly, as `part_of` does.
  constexpr void deal() {
    p.shares = step.shares;
    for (int d = 0; d < step.box.rank; ++d) p.plane *= step.box.extent[d];
    for (int d = 0; d < step.box.rank && step.shares > 1; ++d) {
      const extent_t n = step.box.extent[d], c = ceil_divide(n, step.shares);
      if (d > 0 && c * p.planes >= p.chunk * n) continue;
      p.planes = n;
      p.chunk = c;
    }
    p.plane /= p.planes;
  }

  /// False where cuts do not nest. `p` is new.
  constexpr bool make(const topology_value& t) {
    if (!cut_positions(t)) return false;
    name_levels(t);
    for (int i = 0; i < p.digits.count; ++i) {
      p.from[i] = i;
      p.dealt[i] = false;
    }
    for (int i = 0; i < step.turned_count; ++i) enter(step.turned[i].stride, step.turned[i].size, step.turned[i].other);
    for (int i = 0; i < step.count; ++i) {
      const owned_digit& x = step.digit[i];
      if (step.kind != step_kind::collect) {
        if (x.held > 0 && x.held != x.wanted) enter(x.held, x.size, x.wanted);
      } else if (x.held == 0) {
        p.boxes *= x.within ? x.size : 1;
      } else if (x.wanted > 0 && !x.within) {
        p.tie[p.tie_count++] = {x.held, x.wanted, x.size};
      }
    }
    p.spreads = step.kind == step_kind::spread;
    for (int i = 0; i < step.every_count; ++i) {
      const alike_parts& x = step.every[i];
      enter(x.stride, x.size, 0);
      for (int k = 0; k < p.digits.count && p.spreads; ++k)
        if (p.digits.cut[k] >= x.stride && p.digits.cut[k] < x.stride * x.size) p.dealt[k] = true;
    }
    deal();
    return true;
  }
};

}}}  // namespace hyperparallel::v0_2::detail
