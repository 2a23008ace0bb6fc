// SPDX-License-Identifier: Apache-2.0
// The body of set_view.hpp.

#include "set_view.hpp"

#include <cstddef>
#include <utility>

#include "element_type.hpp"

namespace hp_tool::reshard {

namespace {

/// Adjacent names of a dim that lie behind each other in the file, too.
struct dim_level {
  std::int64_t total = 1, begin = 0, count = 1;              ///< of the level; what of it is meant
  std::vector<std::pair<std::int64_t, std::int64_t>> parts;  ///< extents and strides, outermost first
  bool is_taken = false;
};

std::vector<dim_level> levels_of(const map_part& part, const std::vector<std::string>& group, const numbers& extents,
                                 const numbers& strides, const numbers& sizes, const std::string& what) {
  std::vector<dim_level> all;
  for (const std::string& name : group) {
    if (name == part.taken) {
      const auto total = part.of.value(sizes), begin = part.from.value(sizes);
      if (!total || !begin)
        throw view_error(what + ": a size of " + part.from.text + " or " + part.of.text +
                         " is not known; say it with --sizes");
      dim_level level{*total, *begin, 1, {}, true};
      for (const std::string& as : part.taken_as) {
        level.parts.push_back({extent_named(extents, as, what), strides.find(as)->second});
        level.count *= level.parts.back().first;
      }
      if (level.begin + level.count > level.total)
        throw view_error(what + ": " + std::to_string(level.count) + " of " + name + " from " +
                         std::to_string(level.begin) + " on are more than its " + std::to_string(level.total));
      all.push_back(std::move(level));
      continue;
    }
    const std::int64_t extent = extent_named(extents, name, what), stride = strides.find(name)->second;
    if (!all.empty() && !all.back().is_taken && all.back().parts[0].second == stride * extent) {
      all.back().total *= extent;
      all.back().count *= extent;
      all.back().parts[0] = {all.back().parts[0].first * extent, stride};
    } else {
      all.push_back({extent, 0, extent, {{extent, stride}}, false});
    }
  }
  return all;
}

}  // namespace

std::vector<std::int64_t> in_units(std::vector<std::int64_t> extents, std::string_view dtype, const std::string& what) {
  const element_unit u = unit_of(dtype);
  if (u.elements == 1) return extents;
  if (extents.empty() || extents.back() % u.elements != 0)
    throw view_error(what + ": the elements of its last dim do not fill whole bytes");
  extents.back() /= u.elements;
  return extents;
}

std::int64_t extent_named(const numbers& extents, const std::string& name, const std::string& what) {
  const auto found = extents.find(name);
  if (found == extents.end()) throw view_error(what + ": the size " + name + " is not known; say it with --sizes");
  return found->second;
}

std::int64_t joined_extent(const map_part& p, const numbers& sizes, const std::string& what) {
  const auto extent = p.extent.value(sizes);
  if (!extent) throw view_error(what + ": the size " + p.extent.text + " is not known; say it with --sizes");
  return *extent;
}

std::int64_t extent_before_taking(const map_part& p, const numbers& sizes, const std::string& what) {
  const auto of = p.of.value(sizes);
  if (!of) throw view_error(what + ": a size of " + p.of.text + " is not known; say it with --sizes");
  return *of;
}

void note_extents(numbers& whole, const numbers& part, const std::string& join, const std::string& what) {
  for (const auto& [name, extent] : part) {
    const auto [before, is_new] = whole.emplace(name, extent);
    if (!is_new && before->second != extent && name != join)
      throw view_error(what + ": " + name + " is " + std::to_string(before->second) + " in one part and " +
                       std::to_string(extent) + " in another");
  }
}

set_piece piece_of(const map_part& part, const tensor_view& view, const numbers& extents, const numbers& strides,
                   std::int64_t offset, const std::vector<std::int64_t>& whole, const index_box& slice,
                   const numbers& sizes, const std::string& what) {
  set_piece p;
  p.place.offset = offset;
  const auto add = [&](std::int64_t begin, std::int64_t end, std::int64_t stride) {
    p.place.box.push_back({begin, end});
    p.place.stride.push_back(stride);
  };
  for (std::size_t d = 0; d < whole.size(); ++d) {
    const std::vector<dim_level> levels = levels_of(part, view.dims[d], extents, strides, sizes, what);
    std::int64_t inner = 1, local = 1;
    for (std::size_t i = 1; i < levels.size(); ++i) inner *= levels[i].total;
    for (const dim_level& level : levels) local *= level.total;
    const index_range r = slice[d];
    if (local != r.extent() || whole[d] % inner != 0 || r.begin % inner != 0 ||
        (levels[0].is_taken && r.extent() != whole[d]))
      throw view_error(what + ": rows " + std::to_string(r.begin) + " to " + std::to_string(r.end) + " of dim " +
                       std::to_string(d) + " are no whole blocks of " + std::to_string(inner) +
                       " as its view has them");
    p.view.emplace_back();
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const dim_level& level = levels[i];
      const std::int64_t total = i == 0 && !level.is_taken ? whole[d] / inner : level.total;
      const std::int64_t first = i == 0 && !level.is_taken ? r.begin / inner : level.begin;
      std::int64_t block = 1;
      for (std::size_t k = 1; k < level.parts.size(); ++k) block *= level.parts[k].first;
      if (total % block != 0 || first % block != 0)
        throw view_error(what + ": " + std::to_string(first) + " of " + std::to_string(total) + " is no multiple of " +
                         std::to_string(block));
      p.view.back().push_back(total / block);
      add(first / block, (first + level.count) / block, level.parts[0].second);
      for (std::size_t k = 1; k < level.parts.size(); ++k) {
        p.view.back().push_back(level.parts[k].first);
        add(0, level.parts[k].first, level.parts[k].second);
      }
    }
  }
  return p;
}

void check_packed(const set_piece& p, std::string_view dtype, const std::string& what) {
  if (unit_of(dtype).elements != 1 && !p.place.stride.empty() && p.place.stride.back() != 1)
    throw view_error(what + " has packed elements, which are not transposed");
}

numbers strides_of(const tensor_view& is, const numbers& extents, bool has_gaps) {
  numbers strides;
  std::int64_t stride = 1;
  for (std::size_t d = is.dims.size(); d-- > 0;) {
    const std::vector<std::string>& names = is.dims[d];
    const std::int64_t gap = has_gaps ? stride : 0;
    for (std::size_t i = names.size(); i-- > 0;) {
      strides[names[i]] = stride;
      stride *= extents.find(names[i])->second;
    }
    stride += gap;
  }
  return strides;
}

std::vector<std::int64_t> extents_of(const tensor_view& v, const numbers& extents) {
  std::vector<std::int64_t> out;
  for (const auto& group : v.dims) {
    out.push_back(1);
    for (const std::string& name : group) out.back() *= extents.find(name)->second;
  }
  return out;
}

numbers completed_sizes(numbers sizes) {
  sizes["two"] = 2;
  const auto set = [&](const char* name, std::int64_t value) { sizes.emplace(name, value); };
  const auto rope = sizes.find("rope_dim");
  if (rope != sizes.end()) set("rope_pairs", rope->second / 2);
  const auto heads = sizes.find("query_heads"), groups = sizes.find("key_heads"), hidden = sizes.find("hidden");
  if (heads != sizes.end() && groups != sizes.end() && groups->second > 0 && heads->second % groups->second == 0)
    set("group_heads", heads->second / groups->second);
  if (heads != sizes.end() && hidden != sizes.end() && heads->second > 0 && hidden->second % heads->second == 0)
    set("head_dim", hidden->second / heads->second);
  set("dense_layers", 0);
  set("vocabulary_multiple", 1);
  return sizes;
}

}  // namespace hp_tool::reshard
