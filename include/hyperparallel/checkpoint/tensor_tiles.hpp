// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tensor cut into tiles that fit into memory: ranges of its elements in row-major order, each a box of its factored dims.
//
// Laws: tiles follow each other and are the tensor; none has more units than asked. O(dims) a tile.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <hyperparallel/checkpoint/strided_box.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard { namespace detail {

class tensor_tiles {
 public:
  /// Tiles of at most `most` units. Preconditions: most ≥ 1, extents are not negative.
  tensor_tiles(std::vector<std::int64_t> dims, std::int64_t most) : dims_(std::move(dims)) {
    for (const std::int64_t d : dims_)
      if (d == 0) {
        count_ = 0;
        return;
      }
    cut_ = dims_.size();
    while (cut_ > 0 && inner_ * dims_[cut_ - 1] <= most) inner_ *= dims_[--cut_];
    if (cut_ == 0) {
      step_ = 1;
      return;
    }
    --cut_;
    step_ = std::max<std::int64_t>(1, most / inner_);
    steps_ = (dims_[cut_] + step_ - 1) / step_;
    count_ = steps_;
    for (std::size_t d = 0; d < cut_; ++d) count_ *= dims_[d];
    is_cut_ = true;
  }

  std::int64_t count() const { return count_; }

  index_box box(std::int64_t tile) const {
    index_box b = whole_box(dims_);
    if (!is_cut_) return b;
    const std::int64_t at = tile % steps_ * step_;
    b[cut_] = {at, std::min(at + step_, dims_[cut_])};
    tile /= steps_;
    for (std::size_t d = cut_; d-- > 0; tile /= dims_[d]) b[d] = {tile % dims_[d], tile % dims_[d] + 1};
    return b;
  }

  /// The number in row-major order of the first unit of a box of this class.
  std::int64_t first_unit(const index_box& b) const {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < dims_.size(); ++d) at = at * dims_[d] + b[d].begin;
    return at;
  }

  /// Strides of a tile that is packed.
  static std::vector<std::int64_t> strides(const index_box& b) {
    std::vector<std::int64_t> s(b.size(), 1);
    for (std::size_t d = b.size(); d-- > 1;) s[d - 1] = s[d] * b[d].extent();
    return s;
  }
  /// The unit of a tile with these strides at which a part of it begins.
  static std::int64_t place_in(const index_box& tile, const index_box& part, const std::vector<std::int64_t>& strides) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < tile.size(); ++d) at += (part[d].begin - tile[d].begin) * strides[d];
    return at;
  }

 private:
  std::vector<std::int64_t> dims_;
  std::size_t cut_ = 0;
  std::int64_t inner_ = 1, step_ = 1, steps_ = 1, count_ = 1;
  bool is_cut_ = false;
};

}}}}  // namespace hyperparallel::v0_2::reshard::detail
