// SPDX-License-Identifier: Apache-2.0
// The body of tensor_tiles.hpp.

#include "tensor_tiles.hpp"

#include <algorithm>
#include <utility>

namespace hp_tool::reshard {

tensor_tiles::tensor_tiles(std::vector<std::int64_t> dims, std::int64_t most) : dims_(std::move(dims)) {
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

index_box tensor_tiles::box(std::int64_t tile) const {
  index_box b = whole_box(dims_);
  if (!is_cut_) return b;
  const std::int64_t at = tile % steps_ * step_;
  b[cut_] = {at, std::min(at + step_, dims_[cut_])};
  tile /= steps_;
  for (std::size_t d = cut_; d-- > 0; tile /= dims_[d]) b[d] = {tile % dims_[d], tile % dims_[d] + 1};
  return b;
}

std::int64_t tensor_tiles::first_unit(const index_box& b) const {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < dims_.size(); ++d) at = at * dims_[d] + b[d].begin;
  return at;
}

std::vector<std::int64_t> tensor_tiles::strides(const index_box& b) {
  std::vector<std::int64_t> s(b.size(), 1);
  for (std::size_t d = b.size(); d-- > 1;) s[d - 1] = s[d] * b[d].extent();
  return s;
}

std::int64_t tensor_tiles::place_in(const index_box& tile, const index_box& part,
                                    const std::vector<std::int64_t>& strides) {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < tile.size(); ++d) at += (part[d].begin - tile[d].begin) * strides[d];
  return at;
}

}  // namespace hp_tool::reshard
