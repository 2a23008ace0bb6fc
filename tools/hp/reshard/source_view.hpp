// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tensors of a model that a set of files holds, from the headers, a layout and a map.
//
// Laws: each tensor of each file is read by a rule, or has the same name on both sides, or is named as left out; a tensor's extents are
// the sums of its shards', and every file has the slice that the layout gives to its rank. Errors: io_error of one line that names file
// and tensor. O(tensors of all files · rules).

#include <string>
#include <vector>

#include "set_layout.hpp"
#include "set_view.hpp"

namespace hp_tool::reshard {

struct source_request {
  set_layout layout;
  layout_map map;
  numbers sizes;                        ///< completed_sizes
  std::vector<std::string> left_out{};  ///< globs of tensors of files that are not carried over
  bool is_tied = false;   ///< the head is the table of the embedding: where both are there, the head is a copy
  bool has_gaps = false;  ///< places count a gap of one unit behind each dim, see sliced_source.hpp
};

set_view read_source_view(const tensor_set& s, const source_request& r);

}  // namespace hp_tool::reshard
