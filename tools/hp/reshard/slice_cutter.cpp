// SPDX-License-Identifier: Apache-2.0
// The body of slice_cutter.hpp.

#include "slice_cutter.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace hp_tool::reshard {

namespace {

class slice_cutter {
 public:
  slice_cutter(const set_piece& piece, const std::vector<std::int64_t>& whole, const index_box& slice)
      : piece_(piece), whole_(whole), slice_(slice) {
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
    const index_range wanted = slice_[d];
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
    set_piece p{piece_.file, piece_.tensor, piece_.view, {box_, 0, {}}};
    std::vector<std::int64_t> local(whole_.size(), 1);
    for (std::size_t d = whole_.size(); d-- > 1;) local[d - 1] = local[d] * slice_[d].extent();
    for (std::size_t d = 0; d < whole_.size(); ++d) p.place.offset += (start_[d] - slice_[d].begin) * local[d];
    for (std::size_t f = 0; f < box_.size(); ++f) {
      const std::int64_t stride = whole_.empty() ? 0 : step_[f] * local[dim_[f]];
      p.place.stride.push_back(stride);
      p.place.offset += (box_[f].begin - piece_.place.box[f].begin) * stride;
    }
    out_.push_back(std::move(p));
  }

  const set_piece& piece_;
  const std::vector<std::int64_t>& whole_;  ///< strides of the whole tensor
  const index_box& slice_;
  std::vector<std::int64_t> start_;  ///< index of the piece's first element along each dim
  std::vector<std::size_t> dim_;     ///< of each factor
  std::vector<std::int64_t> step_;   ///< of each factor along its dim
  std::vector<std::size_t> order_;
  index_box box_;
  std::vector<set_piece> out_;
};

}  // namespace

std::vector<std::int64_t> gapped_strides(const std::vector<std::int64_t>& extents, const std::string& path,
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

std::vector<set_piece> cut_by(const set_piece& piece, const std::vector<std::int64_t>& strides,
                              const index_box& slice) {
  return slice_cutter(piece, strides, slice).cut();
}

joined_cut::joined_cut(index_box s, const std::vector<std::int64_t>& whole, const std::string& path,
                       const std::string& name)
    : slice(std::move(s)), strides(gapped_strides(whole, path, name)) {}

void joined_cut::append(std::vector<set_piece>& to, set_piece p) const {
  if (!is_cut())
    to.push_back(std::move(p));
  else
    for (set_piece& one : cut_by(p, strides, slice)) to.push_back(std::move(one));
}

index_box joined_slice(const set_layout& l, const std::vector<std::string>& parts,
                       const std::vector<std::int64_t>& whole, std::int64_t rank) {
  for (const std::string& part : parts)
    for (std::size_t d = 0; d < whole.size(); ++d)
      if (l.shards_of(part, d, rank).count != l.shards_of(parts[0], d, rank).count)
        throw layout_error("the layout cuts " + quoted_path(parts[0]) + " and " + quoted_path(part) +
                           ", which the map joins, into other numbers of shards");
  return l.slice_of(parts[0], whole, rank);
}

}  // namespace hp_tool::reshard
