// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tensors of a model that a set with slices of any boxes holds.
//
// The set is read as if one file had its tensors whole, each dim followed by a gap, so that the place of an element says its index along
// each dim; then each piece is cut by the slices, and gets its places in their files.
//
// Laws: the pieces of all slices are disjoint and together are the whole file's. Errors: io_error of one line. O(pieces · slices).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/checkpoint/slice_cutter.hpp>
#include <hyperparallel/checkpoint/source_view.hpp>
#include <hyperparallel/checkpoint/tensor_slices.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard { namespace detail {

/// As `read_source_view`, of a set that lists slices. The layout of the request counts for nothing.
inline set_view read_sliced_view(const tensor_set& s, source_request r) {
  const std::vector<sliced_tensor> slices = slices_of(s);
  tensor_set whole;
  whole.path = s.path;
  whole.files.push_back({s.path + "/" + set_manifest, set_manifest, 0, {}, {}, 0, 0});
  for (const sliced_tensor& t : slices) whole.files[0].tensors.push_back({t.name, t.dtype, t.extents, 0, 0});
  r.layout = {};
  r.has_gaps = true;
  set_view v = read_source_view(whole, r);
  for (model_tensor& m : v.tensors) {
    std::vector<set_piece> cut;
    for (const set_piece& p : m.pieces) {
      const sliced_tensor& t = slices[static_cast<std::size_t>(p.tensor)];
      if (unit_of(t.dtype).elements != 1)
        throw io_error("read", s.path, detail::tensor_title(t.name) + " has packed elements, which are not sliced");
      const std::vector<std::int64_t> strides = detail::gapped_strides(t.extents, s.path, t.name);
      for (const tensor_slice& one : t.slices)
        if (volume_of(one.box) > 0)
          for (set_piece& q : detail::slice_cutter(p, strides, one.box).cut()) {
            q.file = one.file;
            q.tensor = one.tensor;
            cut.push_back(std::move(q));
          }
    }
    m.pieces = std::move(cut);
  }
  return v;
}

}}}}  // namespace hyperparallel::v0_2::reshard::detail
