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
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/checkpoint/name_pattern.hpp>
#include <hyperparallel/io/tensor_entry.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

namespace detail {

struct view_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace detail

/// Names of each dim, outermost first.
struct tensor_view {
  std::vector<std::vector<std::string>> dims;

  /// All names in order.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& group : dims) all.insert(all.end(), group.begin(), group.end());
    return all;
  }
};

namespace detail {

/// One name a dim, which no text has.
inline tensor_view plain_view(std::size_t rank) {
  tensor_view v;
  for (std::size_t d = 0; d < rank; ++d) v.dims.push_back({"#" + std::to_string(d)});
  return v;
}

inline tensor_view parse_view(std::string_view text) {
  tensor_view v;
  std::set<std::string> seen;
  bool inside = false;
  const auto refuse = [&](const std::string& why) {
    throw view_error("the view '" + std::string(text) + "' " + why + "; expected as \"(g h d) i\"");
  };
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == ' ') {
      ++at;
    } else if (c == '(') {
      if (inside) refuse("has a ( within a (");
      inside = true;
      v.dims.emplace_back();
      ++at;
    } else if (c == ')') {
      if (!inside || v.dims.back().empty()) refuse("has a ) that closes nothing");
      inside = false;
      ++at;
    } else {
      std::size_t end = at;
      while (end < text.size() && ((text[end] >= 'a' && text[end] <= 'z') || text[end] == '_')) ++end;
      if (end == at) refuse("has a '" + std::string(1, c >= ' ' && c < '\x7f' ? c : '?') + "'");
      const std::string name(text.substr(at, end - at));
      if (!seen.insert(name).second) refuse("has " + name + " twice");
      if (!inside) v.dims.emplace_back();
      v.dims.back().push_back(name);
      at = end;
    }
  }
  if (inside) refuse("has a ( without a )");
  return v;
}

/// Extents of all names: those of `known` and what the tensor's extents leave. `what` is the tensor's title.
inline numbers solve_view(const tensor_view& v, const std::vector<std::int64_t>& extents, const numbers& known,
                          const std::string& what) {
  if (v.dims.size() != extents.size())
    throw view_error(what + " has " + std::to_string(extents.size()) + " dims, its view " +
                     std::to_string(v.dims.size()));
  numbers solved;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    std::int64_t product = 1;
    std::string open, text;
    for (const std::string& name : v.dims[d]) {
      const auto found = known.find(name);
      text += (text.empty() ? "" : " ") + name;
      if (found == known.end()) {
        if (!open.empty())
          throw view_error(what + ": neither " + open + " nor " + name + " of (" + text +
                           "...) is known; say one with --sizes");
        open = name;
        continue;
      }
      const checked_extent longer = checked_multiply(product, found->second);
      if (found->second < 1 || longer.overflow)
        throw view_error(what + ": " + name + " is " + std::to_string(found->second));
      product = longer.value;
      solved[name] = found->second;
    }
    if (open.empty() ? product != extents[d] : extents[d] % product != 0)
      throw view_error(what + " has extent " + std::to_string(extents[d]) + " in dim " + std::to_string(d) +
                       ", its view (" + text + ") " + (open.empty() ? "" : "a multiple of ") + std::to_string(product));
    if (!open.empty()) solved[open] = extents[d] / product;
  }
  return solved;
}

}  // namespace detail

}}}  // namespace hyperparallel::v0_2::reshard
