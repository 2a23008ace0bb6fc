// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tensors of a model that a set with slices of any boxes holds.
//
// The set is read as if one file had its tensors whole, each dim followed by a gap, so that the place of an element says its index along
// each dim; then each piece is cut by the slices, and gets its places in their files.
//
// Laws: the pieces of all slices are disjoint and together are the whole file's. Errors: io_error of one line. O(pieces · slices).

#include "source_view.hpp"

namespace hp_tool::reshard {

/// As `read_source_view`, of a set that lists slices. The layout of the request counts for nothing.
set_view read_sliced_view(const tensor_set& s, source_request r);

}  // namespace hp_tool::reshard
