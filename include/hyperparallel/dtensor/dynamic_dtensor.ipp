// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of dynamic_dtensor.hpp; see support/compiled.hpp.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/dynamic_dtensor.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

HYPERPARALLEL_BODY std::shared_ptr<std::byte> allocate_block(std::int64_t bytes) {
  auto owner = std::make_shared<arena>(bytes);
  return {owner, owner->data()};
}

}  // namespace detail

HYPERPARALLEL_BODY dynamic_dtensor::dynamic_dtensor(rank_group group, const tensor_description& what,
                                                    std::vector<block> blocks)
    : state_(std::make_shared<state>(state{std::move(group), what, std::move(blocks)})) {
  check(state_->group, what);
  if (static_cast<int>(state_->blocks.size()) != state_->group.ranks())
    throw dtensor_error(std::to_string(state_->blocks.size()) + " blocks for " + std::to_string(state_->group.ranks()) +
                        " ranks");
}

HYPERPARALLEL_BODY void dynamic_dtensor::check(const rank_group& group, const tensor_description& what) {
  const layout_status s = check_shape(what.layout, what.shape);
  if (s.code != layout_code::ok) throw layout_error(s);
  const int positions = position_count(what.layout.mesh);
  if (positions != group.ranks())
    throw dtensor_error("a mesh of " + std::to_string(positions) + " positions on a group of " +
                        std::to_string(group.ranks()) + " ranks");
}

}}  // namespace hyperparallel::v0_2
