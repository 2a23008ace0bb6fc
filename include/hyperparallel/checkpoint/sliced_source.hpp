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

#include <hyperparallel/checkpoint/source_view.hpp>
#include <hyperparallel/checkpoint/tensor_slices.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

namespace detail {

/// Strides of dims with a gap behind each.
inline std::vector<std::int64_t> gapped_strides(const std::vector<std::int64_t>& extents, const std::string& path,
                                                const std::string& name) {
  std::vector<std::int64_t> strides(extents.size());
  std::int64_t stride = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    strides[d] = stride;
    const checked_extent longer = checked_multiply(stride, extents[d] + 1);
    if (longer.overflow) throw io_error("read", path, tensor_title(name) + " has too many elements");
    stride = longer.value;
  }
  return strides;
}

/// Cuts a piece of the whole tensor by one slice.
class slice_cutter {
 public:
  slice_cutter(const set_piece& piece, const std::vector<std::int64_t>& whole, const tensor_slice& s)
      : piece_(piece), whole_(whole), slice_(s) {
    std::int64_t left = piece.place.offset;
    for (const std::int64_t stride : whole) {
      start_.push_back(left / stride);
      left %= stride;
    }
    for (const std::int64_t stride : piece.place.stride) {
      std::size_t d = 0;
      while (d + 1 < whole.size() && whole[d] > stride) ++d;
      dim_.push_back(d);
      step_.push_back(whole.empty() ? 0 : stride / whole[d]);
    }
    for (std::size_t f = 0; f < step_.size(); ++f) order_.push_back(f);
    std::sort(order_.begin(), order_.end(),
              [&](std::size_t a, std::size_t b) { return step_[a] != step_[b] ? step_[a] > step_[b] : a < b; });
  }

  std::vector<set_piece> cut() {
    box_ = piece_.place.box;
    cut_dim(0);
    return std::move(out_);
  }

 private:
  /// Restricts dim `d` and those after it to the slice.
  void cut_dim(std::size_t d) {
    if (d == whole_.size()) {
      emit();
      return;
    }
    std::vector<std::size_t> factors;
    for (const std::size_t f : order_)
      if (dim_[f] == d) factors.push_back(f);
    cut_factor(d, factors, 0, start_[d]);
  }

  /// Of the factors of a dim, larger steps first: those before `i` are fixed and reach index `at`.
  void cut_factor(std::size_t d, const std::vector<std::size_t>& factors, std::size_t i, std::int64_t at) {
    const index_range wanted = slice_.box[d];
    if (i == factors.size()) {
      if (at >= wanted.begin && at < wanted.end) cut_dim(d + 1);
      return;
    }
    const std::size_t f = factors[i];
    std::int64_t inner = 1;  // indexes that the smaller factors span
    for (std::size_t k = i + 1; k < factors.size(); ++k)
      inner += (piece_.place.box[factors[k]].extent() - 1) * step_[factors[k]];
    const index_range all = piece_.place.box[f];
    std::int64_t run = -1;  // the first of those that lie within the slice altogether
    const auto end_run = [&](std::int64_t end) {
      if (run < 0) return;
      box_[f] = {all.begin + run, all.begin + end};
      for (std::size_t k = i + 1; k < factors.size(); ++k) box_[factors[k]] = piece_.place.box[factors[k]];
      cut_dim(d + 1);
      run = -1;
    };
    for (std::int64_t x = 0; x < all.extent(); ++x) {
      const std::int64_t first = at + x * step_[f], last = first + inner - 1;
      if (first >= wanted.begin && last < wanted.end) {
        if (run < 0) run = x;
        continue;
      }
      end_run(x);
      if (last < wanted.begin || first >= wanted.end) continue;
      box_[f] = {all.begin + x, all.begin + x + 1};
      cut_factor(d, factors, i + 1, first);
    }
    end_run(all.extent());
    box_[f] = all;
  }

  void emit() {
    set_piece p{slice_.file, slice_.tensor, piece_.view, {box_, 0, {}}};
    std::vector<std::int64_t> local(whole_.size(), 1);
    for (std::size_t d = whole_.size(); d-- > 1;) local[d - 1] = local[d] * slice_.box[d].extent();
    for (std::size_t d = 0; d < whole_.size(); ++d) p.place.offset += (start_[d] - slice_.box[d].begin) * local[d];
    for (std::size_t f = 0; f < box_.size(); ++f) {
      const std::int64_t stride = whole_.empty() ? 0 : step_[f] * local[dim_[f]];
      p.place.stride.push_back(stride);
      p.place.offset += (box_[f].begin - piece_.place.box[f].begin) * stride;
    }
    out_.push_back(std::move(p));
  }

  const set_piece& piece_;
  const std::vector<std::int64_t>& whole_;  ///< strides of the whole tensor
  const tensor_slice& slice_;
  std::vector<std::int64_t> start_;  ///< index of the piece's first element along each dim
  std::vector<std::size_t> dim_;     ///< of each factor
  std::vector<std::int64_t> step_;   ///< of each factor along its dim
  std::vector<std::size_t> order_;
  index_box box_;
  std::vector<set_piece> out_;
};

}  // namespace detail

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
        throw io_error("read", s.path, tensor_title(t.name) + " has packed elements, which are not sliced");
      const std::vector<std::int64_t> strides = detail::gapped_strides(t.extents, s.path, t.name);
      for (const tensor_slice& one : t.slices)
        if (volume_of(one.box) > 0)
          for (set_piece& q : detail::slice_cutter(p, strides, one).cut()) cut.push_back(std::move(q));
    }
    m.pieces = std::move(cut);
  }
  return v;
}

}}}  // namespace hyperparallel::v0_2::reshard
