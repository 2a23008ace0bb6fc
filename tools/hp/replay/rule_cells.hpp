// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which operand layouts meet under a rule and what each device then has, worked out from boxes alone.
//
// A box of a tensor is a cell where it is one interval of every factor. Operands meet iff on every device all of them
// have the same interval of each factor (or the whole of one that yields), factors that must be whole or need a halo
// are whole, and the cells of all devices together are every point of the factors; the results are there iff the
// device's cell is a box of them.

#include <hyperparallel/layout/slice.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "rule_reading.hpp"

namespace replay {

/// One interval a factor; of factors that nothing is known of yet, an interval before 0.
using cell = std::vector<hp::interval>;

/// The interval of a dim as intervals of its factors `f`, major to minor. False where it is no product of intervals, or
/// where a factor is already there with another interval, unless one of the two is whole and yields.
inline bool decode_dim(hp::interval at, const std::vector<int>& f, const std::vector<hp::extent_t>& size,
                       const hp::factor_rule& rule, cell& c) {
  for (std::size_t i = 0; i < f.size(); ++i) {
    hp::extent_t minor = 1;
    for (std::size_t k = i + 1; k < f.size(); ++k) minor *= size[static_cast<std::size_t>(f[k])];
    const hp::interval whole{0, size[static_cast<std::size_t>(f[i])]};
    hp::interval own{at.begin / minor, hp::ceil_divide(at.end, minor)};
    if (own.end - own.begin == 1) {
      at = {at.begin - own.begin * minor, at.end - own.begin * minor};
    } else {
      if (at.begin % minor != 0 || at.end % minor != 0) return false;
      at = {0, minor};
    }
    hp::interval& known = c[static_cast<std::size_t>(f[i])];
    if (known.begin < 0 || (known == whole && rule.factor[f[i]].yields))
      known = own;
    else if (!(known == own) && !(own == whole && rule.factor[f[i]].yields))
      return false;
  }
  return true;
}

/// The way back: no interval where a factor is cut although a more major one of the dim has several of its indices.
inline std::optional<hp::interval> encode_dim(const cell& c, const std::vector<int>& f,
                                              const std::vector<hp::extent_t>& size) {
  hp::interval at{0, 1};
  bool several = false;
  for (const int i : f) {
    const hp::interval own = c[static_cast<std::size_t>(i)];
    const hp::extent_t n = size[static_cast<std::size_t>(i)];
    if (several && !(own == hp::interval{0, n})) return std::nullopt;
    if (several)
      at = {at.begin * n, at.end * n};
    else
      at = {at.begin * n + own.begin, at.begin * n + own.end};
    several = several || own.end - own.begin > 1;
  }
  return at;
}

/// What every device has of operands and results, per tensor and device, and which axes leave the results partial.
struct expectation {
  std::vector<std::vector<hp::box>> operand{};
  std::vector<std::vector<hp::box>> result{};
  bool partial[hp::max_axes] = {};
};

/// The boxes of `c` in some tensors, one more for each. False where one has none.
inline bool add_boxes(const cell& c, const std::vector<dim_list>& tensors, const std::vector<hp::extent_t>& size,
                      std::vector<std::vector<hp::box>>& boxes) {
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    hp::box b;
    for (const std::vector<int>& dim : tensors[t]) {
      const std::optional<hp::interval> at = encode_dim(c, dim, size);
      if (!at) return false;
      b.dim[b.rank++] = *at;
    }
    boxes[t].push_back(b);
  }
  return true;
}

/// Whether a step along `axis` leads to another part of a reduction factor. False in `whole` where that is so for some
/// steps only: a part of an axis has no partial state.
inline bool reduces_along(const read_rule& r, const std::vector<cell>& of_device, const hp::mesh_shape& mesh, int axis,
                          bool& whole) {
  bool some = false, all = true;
  for (int p = 0; p < hp::position_count(mesh); ++p)
    for (int i = 0; i < hp::coordinates_of(mesh, p).at[axis]; ++i) {
      hp::coordinate c = hp::coordinates_of(mesh, p);
      c.at[axis] = i;
      const cell& here = of_device[static_cast<std::size_t>(p)];
      const cell& there = of_device[static_cast<std::size_t>(hp::position_of(mesh, c))];
      bool differs = false;
      for (std::size_t f = 0; f < here.size(); ++f)
        differs = differs || (r.rule.factor[f].kind == hp::factor_kind::reduction && !(here[f] == there[f]));
      some = some || differs;
      all = all && differs;
    }
  whole = all || !some;
  return some;
}

/// The expectation of operand layouts that meet; nothing for others.
inline std::optional<expectation> expect(const read_rule& r, const std::vector<hp::extent_t>& size,
                                         const std::vector<hp::shape>& shapes,
                                         const std::vector<const hp::layout_value*>& l, const hp::mesh_shape& mesh) {
  expectation e;
  e.operand.resize(r.operand.size());
  e.result.resize(r.result.size());
  std::vector<cell> of_device, distinct;
  hp::extent_t points = 1, covered = 0;
  for (const hp::extent_t n : size) points *= n;
  for (int p = 0; p < hp::position_count(mesh); ++p) {
    cell c(size.size(), hp::interval{-1, -1});
    for (std::size_t o = 0; o < r.operand.size(); ++o) {
      const hp::box b = hp::slice_at(*l[o], shapes[o], hp::coordinates_of(mesh, p));
      for (std::size_t d = 0; d < r.operand[o].size(); ++d)
        if (!decode_dim(b.dim[d], r.operand[o][d], size, r.rule, c)) return std::nullopt;
    }
    hp::extent_t volume = 1;
    for (std::size_t f = 0; f < size.size(); ++f) {
      const hp::factor_kind kind = r.rule.factor[f].kind;
      if (c[f].begin < 0) c[f] = {0, size[f]};
      const bool shardable = kind == hp::factor_kind::pass_through || kind == hp::factor_kind::reduction;
      if (!shardable && !(c[f] == hp::interval{0, size[f]})) return std::nullopt;
      volume *= c[f].end - c[f].begin;
    }
    if (std::find(distinct.begin(), distinct.end(), c) == distinct.end()) {
      distinct.push_back(c);
      covered += volume;
    }
    if (!add_boxes(c, r.operand, size, e.operand) || !add_boxes(c, r.result, size, e.result)) return std::nullopt;
    of_device.push_back(c);
  }
  if (covered != points) return std::nullopt;
  for (int a = 0; a < mesh.axis_count; ++a) {
    bool whole = true;
    e.partial[a] = reduces_along(r, of_device, mesh, a, whole);
    if (!whole) return std::nullopt;
  }
  return e;
}

}  // namespace replay
