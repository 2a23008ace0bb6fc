// SPDX-License-Identifier: Apache-2.0
// The body of tensor_view.hpp.

#include "tensor_view.hpp"

#include <set>

namespace hp_tool::reshard {

std::vector<std::string> tensor_view::names() const {
  std::vector<std::string> all;
  for (const auto& group : dims) all.insert(all.end(), group.begin(), group.end());
  return all;
}

tensor_view plain_view(std::size_t rank) {
  tensor_view v;
  for (std::size_t d = 0; d < rank; ++d) v.dims.push_back({std::to_string(d).insert(0, 1, '#')});
  return v;
}

tensor_view parse_view(std::string_view text) {
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

numbers solve_view(const tensor_view& v, const std::vector<std::int64_t>& extents, const numbers& known,
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

}  // namespace hp_tool::reshard
