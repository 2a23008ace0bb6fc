// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layouts as people write them on a command line or hand them over from another language:
//
//   dp,None          dim 0 along dp, dim 1 whole
//   None,(tp,dp)     dim 1 along two axes, the first the outermost
//   ~dp,None         dim 0 in flat ceil chunks: it need not divide
//   ()               of a scalar
//
// Blanks between names, commas and brackets mean nothing.
// What cannot be read is a `text_error`: one line that names the argument, its value, what was expected and, where it
// helps, what is known. Partial states have no place in this text; whoever takes them reads them apart.

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/layout/tensor_map.hpp>
#include <hyperparallel/report/format_layout.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace interop {

struct text_error : std::invalid_argument {
  text_error(const std::string& argument, const std::string& value, const std::string& trouble)
      : std::invalid_argument(argument + " '" + shortened(value) + "': " + trouble) {}

  static std::string shortened(const std::string& text) {
    return text.size() <= 80 ? text : text.substr(0, 77) + "...";
  }
};

/// On one line: control characters as '?'.
inline std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

/// `text` at every `mark` that is not inside round brackets. Unbalanced brackets stay in the last part.
inline std::vector<std::string> parts_of(std::string_view text, char mark) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == mark && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// "x, y"
inline std::string axis_names(const mesh_value& m) {
  std::string out;
  for (int a = 0; a < m.shape.axis_count; ++a) out += (a > 0 ? ", " : "") + std::string(m.label[a].text);
  return out;
}

/// The layout that `text` writes for a tensor of shape `s`. O(text · axes).
inline layout_value read_layout(const std::string& argument, const std::string& text, const mesh_value& m,
                                const shape& s) {
  std::string dense = text;
  std::erase(dense, ' ');
  std::vector<std::string> entries;
  if (dense != "()") entries = parts_of(dense, ',');
  const std::string wanted =
      "; expected an entry for each dim as in x,None or None,(y,x), each None, an axis, or several in brackets";
  for (std::string& entry : entries) {
    const std::size_t open = entry.rfind("~", 0) == 0 ? 1 : 0;
    if (entry.size() > open + 1 && entry[open] == '(' && entry.back() == ')')
      entry = entry.substr(0, open) + entry.substr(open + 1, entry.size() - open - 2);
    if (entry.empty() || entry.find_first_of("()") != std::string::npos)
      throw text_error(argument, text, "'" + entry + "' is no entry of a map" + wanted);
    for (const std::string& name : parts_of(std::string_view(entry).substr(open), ','))
      if (name != "None" && axis_index(m, name.c_str()) < 0)
        throw text_error(argument, text,
                         "'" + name + "' is no axis of the mesh; expected None or an axis: " + axis_names(m));
  }
  if (static_cast<int>(entries.size()) != s.rank)
    throw text_error(argument, text,
                     std::to_string(entries.size()) + (entries.size() == 1 ? " entry" : " entries") +
                         " for the shape " + to_text(s) + "; expected one for each dim");
  std::vector<const char*> pointers;
  for (const std::string& entry : entries) pointers.push_back(entry.c_str());
  const layout_result r = layout_from_map(m, pointers.data(), s.rank);
  if (r.status.code != layout_code::ok)
    throw text_error(argument, text, report::to_text(named(r.status, m)) + "; expected each axis at one place");
  const layout_status fits = check_shape(r.layout, s);
  if (fits.code == layout_code::extent_is_not_divisible_by_its_shards)
    throw text_error(argument, text,
                     report::to_text(named(fits, m)) + "; expected a multiple of " + std::to_string(fits.shards) +
                         ", or ~ before the entry to pad the dim");
  return r.layout;
}

}}}  // namespace hyperparallel::v0_2::interop
