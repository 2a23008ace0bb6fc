// SPDX-License-Identifier: Apache-2.0
// The body of sliced_source.hpp.

#include "sliced_source.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <hyperparallel/checkpoint/tensor_set.hpp>
#include <hyperparallel/checkpoint/tensor_slices.hpp>

#include "element_type.hpp"
#include "slice_cutter.hpp"

namespace hp_tool::reshard {

set_view read_sliced_view(const tensor_set& s, source_request r) {
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
        throw io_error("read", s.path, tensor_title(t.name) + " has packed elements, which are not sliced");
      const std::vector<std::int64_t> strides = gapped_strides(t.extents, s.path, t.name);
      for (const tensor_slice& one : t.slices)
        if (volume_of(one.box) > 0)
          for (set_piece& q : cut_by(p, strides, one.box)) {
            q.file = one.file;
            q.tensor = one.tensor;
            cut.push_back(std::move(q));
          }
    }
    m.pieces = std::move(cut);
  }
  return v;
}

}  // namespace hp_tool::reshard
