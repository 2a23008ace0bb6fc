// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a layout, a map, a shape or a position is refused. refusal_words.hpp has the sentence of each code.

#include <hyperparallel/support/enum_text.hpp>
#include <hyperparallel/support/integer.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class layout_code : unsigned char {
  ok,
  axis_is_not_in_the_mesh,
  axis_is_used_twice,
  axis_shards_and_is_partial,
  too_many_dims,
  map_length_differs_from_tensor_rank,
  extent_is_not_divisible_by_its_shards,
  sub_axis_does_not_fit_its_axis,
  dim_is_out_of_range,
  reduction_is_unknown,
  placement_count_exceeds_axes,
  layout_is_partial,
  element_count_overflows,
  mesh_is_not_valid,             ///< more axes than `max_axes`, a size below 1, or more devices than 2^30
  too_many_cuts,                 ///< cuts beyond `max_cuts`
  cuts_are_not_in_order,         ///< `dim` is cut after a later one
  sub_axes_do_not_nest,          ///< two parts of `axis`, of which neither ends where the other begins or divides it
  extent_is_negative,            ///< that of `dim`
  position_is_outside_the_mesh,  ///< `extent`, of `shards` positions
  rank_is_outside_the_mesh,      ///< `extent`, of `shards` ranks
};

/// The name that error lines and exceptions use.
constexpr const char* name_of(layout_code code) {
  return detail::enum_name(
      "ok\0axis_is_not_in_the_mesh\0axis_is_used_twice\0axis_shards_and_is_partial\0too_many_dims\0"
      "map_length_differs_from_tensor_rank\0extent_is_not_divisible_by_its_shards\0sub_axis_does_not_fit_its_axis\0"
      "dim_is_out_of_range\0reduction_is_unknown\0placement_count_exceeds_axes\0layout_is_partial\0"
      "element_count_overflows\0mesh_is_not_valid\0too_many_cuts\0cuts_are_not_in_order\0sub_axes_do_not_nest\0"
      "extent_is_negative\0position_is_outside_the_mesh\0rank_is_outside_the_mesh",
      code);
}

/// Why a layout was refused. Fields that the code does not speak of are 0.
struct layout_status {
  layout_code code = layout_code::ok;
  int dim = 0;          ///< tensor dim
  int slot = 0;         ///< place inside the dim's map entry
  int axis = 0;         ///< mesh axis
  extent_t extent = 0;  ///< extent of the dim, or the tensor's rank
  extent_t shards = 0;  ///< number of pieces, or the map's length
  friend constexpr bool operator==(const layout_status&, const layout_status&) = default;
};

}}  // namespace hyperparallel::v0_2
