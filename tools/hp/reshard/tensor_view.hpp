// SPDX-License-Identifier: Apache-2.0
#pragma once
// The dims of a tensor, with names, some of them products: the notation of einops.
//
//   "(g h d) i"      two dims, of which the first counts groups, heads of a group and channels of a head
//   "(h two p) i"    halves of a head's channels; "(h p two) i" pairs
//
// A tensor of known extents gives the extents of the names, where each group has one at most that nothing else says.
//
// Laws: names are distinct; the product of a group's extents is the tensor's. Errors: view_error, one line. O(names).
// Reference: Rogozhnikov, "Einops: clear and reliable tensor manipulations with Einstein-like notation", 2022.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "library.hpp"

namespace hp_tool::reshard {

struct view_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Names of each dim, outermost first.
struct tensor_view {
  std::vector<std::vector<std::string>> dims;

  /// All names in order.
  std::vector<std::string> names() const;
};

/// One name a dim, which no text has.
tensor_view plain_view(std::size_t rank);

tensor_view parse_view(std::string_view text);

/// Extents of all names: those of `known` and what the tensor's extents leave. `what` is the tensor's title.
numbers solve_view(const tensor_view& v, const std::vector<std::int64_t>& extents, const numbers& known,
                   const std::string& what);

}  // namespace hp_tool::reshard
