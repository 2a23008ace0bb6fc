// SPDX-License-Identifier: Apache-2.0
#pragma once
// A block of a tensor as runs of the flat index, and who has an element.
//
// The flat index is the row-major one of the whole tensor. A block in row-major order is a number of runs of one
// length, stored one behind the other: its trailing complete dims, and the dim before them, make up one run. Every
// shape of the same elements has the same flat index, so runs are what blocks of different shapes have in common. Laws:
// the runs of a block ascend and are its elements in the order of its memory; place_of is the inverse.

#include <hyperparallel/layout/slice.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A block as runs of the flat index: run i begins at `run_begin(f, i)` and is stored from i · length on.
struct flat_block {
  hyperparallel::shape tensor{};
  box block{};
  int lead = 0;         ///< dims before this one tell runs apart
  extent_t length = 0;  ///< of each run
  extent_t runs = 0;
};

/// O(dims).
constexpr flat_block runs_of(const box& b, const shape& s) {
  flat_block f{s, b, b.rank, 1, 1};
  bool whole = true;  // what lies behind `lead` is complete, so that the run goes on
  for (int d = b.rank - 1; d >= 0; --d) {
    const extent_t n = b.dim[d].end - b.dim[d].begin;
    if (!whole) {
      f.runs *= n;
      continue;
    }
    f.length *= n;
    f.lead = d;
    whole = n == s.extent[d];
  }
  if (f.length == 0) f.runs = 0;
  return f;
}

namespace detail {

constexpr extent_t run_begin(const flat_block& f, extent_t run) {
  extent_t at[max_dims] = {}, flat = 0;
  for (int d = f.lead - 1; d >= 0; --d) {
    const extent_t n = f.block.dim[d].end - f.block.dim[d].begin;
    at[d] = run % n;
    run /= n;
  }
  for (int d = 0; d < f.block.rank; ++d) flat = flat * f.tensor.extent[d] + f.block.dim[d].begin + at[d];
  return flat;
}

}  // namespace detail

/// Where an element lies in a block.
struct flat_place {
  bool inside = false;
  extent_t offset = 0;
  extent_t left = 0;  ///< elements to the end of its run, itself included
};

/// O(dims). Domain: `flat` is an element of the tensor.
constexpr flat_place place_of(const flat_block& f, extent_t flat) {
  flat_place p{f.runs > 0, 0, 0};
  extent_t stored = 1;
  for (int d = f.block.rank - 1; d >= 0; --d) {
    const interval span = f.block.dim[d];
    const extent_t at = flat % f.tensor.extent[d];
    flat /= f.tensor.extent[d];
    p.inside = p.inside && span.begin <= at && at < span.end;
    p.offset += (at - span.begin) * stored;
    stored *= span.end - span.begin;
  }
  if (p.inside) p.left = f.length - p.offset % f.length;
  return p;
}

namespace detail {

/// The first of the devices that have element `flat` under `l`.
constexpr coordinate first_with(const layout_value& l, const shape& s, extent_t flat) {
  coordinate c;
  int i = l.cut_count - 1;
  for (int d = s.rank - 1; d >= 0; --d) {
    extent_t piece = flat % s.extent[d] / ceil_divide(s.extent[d], shards_of(l, d));
    flat /= s.extent[d];
    for (; i >= 0 && l.cut[i].dim == d; --i) {
      c.at[l.cut[i].axis] += static_cast<int>(piece % l.cut[i].size) * stride_of(l.mesh, l.cut[i]);
      piece /= l.cut[i].size;
    }
  }
  return c;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
