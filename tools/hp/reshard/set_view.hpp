// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the files of a set hold of the tensors of a model: pieces, each a box of a tensor of Hugging Face in factored dims with its place
// in a tensor of a file.
//
// A part of a map's rule and a slice of a layout make a piece: the view of the part factors the dims of the tensor, the slice is a range
// of the outermost factor, and the strides are those of the file's tensor.
//
// Laws: a piece has the elements of the slice, or of the part that a rule takes of it; the factors of a dim multiply to its extent.
// Errors: view_error, one line. O(dims).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "layout_map.hpp"

namespace hp_tool::reshard {

/// Extents and offsets count units of the element type: elements, or bytes of packed ones along the last dim.
struct set_piece {
  int file = 0, tensor = 0;  ///< of the set
  factored_dims view;        ///< factors of each dim of the model's tensor
  placed_box place;          ///< in these factors
};

/// A tensor of the model, named as Hugging Face names it, and where a set holds it.
struct model_tensor {
  std::string name, dtype;
  std::vector<std::int64_t> extents;  ///< in elements
  std::vector<set_piece> pieces;
};

/// Units of a file's tensor that hold a number that no source gives, 0.
struct constant_range {
  int file = 0, tensor = 0;
  std::int64_t begin = 0, end = 0;
};

struct set_view {
  std::vector<model_tensor> tensors;
  std::vector<constant_range> constants;  ///< padding
  std::vector<std::string> notes;         ///< what is left out of what was read, and why that loses nothing
};

/// Extents with the last in units. Throws view_error where packed elements do not fill it.
std::vector<std::int64_t> in_units(std::vector<std::int64_t> extents, std::string_view dtype, const std::string& what);

/// Throws view_error where the name has no extent.
std::int64_t extent_named(const numbers& extents, const std::string& name, const std::string& what);

/// How much of a joined dim a part has.
std::int64_t joined_extent(const map_part& p, const numbers& sizes, const std::string& what);

/// The extent of the dim of which a part takes some.
std::int64_t extent_before_taking(const map_part& p, const numbers& sizes, const std::string& what);

/// Adds the extents of a part's names to those of the whole tensor, which they are to agree with but along the joined dim.
void note_extents(numbers& whole, const numbers& part, const std::string& join, const std::string& what);

/// The piece of a tensor that a part of a rule and a slice say. `extents` and `strides` are those of names in the file's tensor,
/// `whole` the tensor's extents.
set_piece piece_of(const map_part& part, const tensor_view& view, const numbers& extents, const numbers& strides,
                   std::int64_t offset, const std::vector<std::int64_t>& whole, const index_box& slice,
                   const numbers& sizes, const std::string& what);

/// Refuses a piece whose packed elements do not lie in their order.
void check_packed(const set_piece& p, std::string_view dtype, const std::string& what);

/// Strides of the names of a tensor's view, row-major; with a gap of one unit behind each dim where that is asked for.
numbers strides_of(const tensor_view& is, const numbers& extents, bool has_gaps = false);

/// Extents of the dims of a view.
std::vector<std::int64_t> extents_of(const tensor_view& v, const numbers& extents);

/// Sizes that hold wherever there are others: "two", and half of "rope_dim", which rotary channels in pairs have.
numbers completed_sizes(numbers sizes);

}  // namespace hp_tool::reshard
