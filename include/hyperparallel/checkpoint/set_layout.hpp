// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which slice of each tensor a rank of a set of files holds.
//
//   hp::reshard::set_layout l = hp::reshard::parse_layout("tp=2,ep=4,pp=2", "--to");
//   l.ranks();                                              16
//   l.held("model.layers.3.mlp.down_proj.weight", {4096, 11008}, rank);     {0..4096, 5504..11008}, or nothing: of another stage
//
// A layout is a mesh of named axes with a rule for each name: a tensor map, which lists the axes along each dim. Tensors are those of
// Hugging Face, whole. The axis ep spreads experts by their number, pp layers; what has no layer lies on the first stage where it embeds
// tokens and else on the last. Along all other axes a tensor has copies.
//
// Laws: the slices of all ranks cover a tensor, and two of them are equal or disjoint. Errors: layout_error, one line.
// O(rules · name) a tensor.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/checkpoint/name_pattern.hpp>
#include <hyperparallel/checkpoint/strided_box.hpp>
#include <hyperparallel/io/tensor_entry.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

namespace detail {
using hyperparallel::detail::tensor_title;
}

struct layout_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct layout_axis {
  std::string name;
  std::int64_t size = 1;
  friend bool operator==(const layout_axis&, const layout_axis&) = default;
};

/// Axes along each dim, the slowest first; dims that are not listed are whole.
struct layout_rule {
  std::string tensors;  ///< a glob
  std::vector<std::vector<std::string>> map;
  friend bool operator==(const layout_rule&, const layout_rule&) = default;
};

namespace detail {

/// The number behind `word` in a name, as 3 behind ".layers." in "model.layers.3.mlp"; nothing where there is none.
inline std::optional<std::int64_t> number_behind(std::string_view name, std::string_view word) {
  const std::size_t at = name.find(word);
  if (at == std::string_view::npos) return {};
  std::size_t end = at + word.size();
  while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
  return end == at + word.size() ? std::nullopt : whole_number(name.substr(at + word.size(), end - at - word.size()));
}
/// The weight whose scales a tensor of this name has, NAME of NAME_scale_inv and NAME_scale; empty where it is no such name.
inline std::string_view weight_of_scales(std::string_view name) {
  for (const std::string_view end : {"weight_scale_inv", "weight_scale"})
    if (name.ends_with(end)) return name.substr(0, name.size() - end.size() + std::string_view("weight").size());
  return {};
}

}  // namespace detail
inline std::optional<std::int64_t> layer_of(std::string_view name) { return detail::number_behind(name, "layers."); }
namespace detail {

inline std::optional<std::int64_t> expert_of(std::string_view name) { return number_behind(name, "experts."); }

}  // namespace detail

struct set_layout {
  std::vector<layout_axis> axes;
  std::vector<layout_rule> rules;      ///< the first whose glob matches
  std::vector<std::int64_t> stages{};  ///< layers of each stage; empty: as many on each
  bool is_uneven = false;  ///< dims that axes do not divide are cut as evenly as can be; else they are refused
  std::map<std::string, std::vector<bool>, std::less<>>
      whole{};  ///< dims of tensors that each rank has whole, whatever their rule says: of scales of rows, of tensors
  friend bool operator==(const set_layout&, const set_layout&) = default;

  std::int64_t size_of(std::string_view axis) const {
    for (const layout_axis& a : axes)
      if (a.name == axis) return a.size;
    return 1;
  }
  std::int64_t ranks() const {
    std::int64_t n = 1;
    for (const layout_axis& a : axes) n *= a.size;
    return n;
  }
  /// The place of a rank along an axis; the last axis is the fastest.
  std::int64_t coordinate(std::int64_t rank, std::string_view axis) const {
    for (std::size_t i = axes.size(); i-- > 0; rank /= axes[i].size)
      if (axes[i].name == axis) return rank % axes[i].size;
    return 0;
  }

  /// The range of shard `i` of `n`. Precondition: n divides the extent, or is_uneven.
  static index_range shard(std::int64_t extent, std::int64_t n, std::int64_t i) {
    const auto cut = [&](std::int64_t k) { return extent / n * k + extent % n * k / n; };
    return {cut(i), cut(i + 1)};
  }

  /// The rule of a tensor, of scales and states that of what they belong to; null where none has its name.
  const layout_rule* rule_of(std::string_view tensor) const {
    tensor = detail::state_name(tensor).tensor;
    if (const std::string_view weight = detail::weight_of_scales(tensor); !weight.empty()) tensor = weight;
    for (const layout_rule& r : rules)
      if (detail::is_glob_of(r.tensors, tensor)) return &r;
    return nullptr;
  }

  /// The shards of a dim, and which of them a rank has.
  struct dim_shards {
    std::int64_t count = 1, index = 0;
  };
  dim_shards shards_of(std::string_view tensor, std::size_t dim, std::int64_t rank) const {
    dim_shards s;
    if (const auto kept = whole.find(tensor); kept != whole.end() && (dim >= kept->second.size() || kept->second[dim]))
      return s;
    const layout_rule* const r = rule_of(tensor);
    if (r == nullptr || dim >= r->map.size()) return s;
    for (const std::string& axis : r->map[dim]) {
      s.index = s.index * size_of(axis) + coordinate(rank, axis);
      s.count *= size_of(axis);
    }
    return s;
  }

  /// Whether a tensor lies on a rank at all. `layers` and `experts` are those of the model; a layer's number decides its stage.
  bool holds(std::string_view tensor, std::int64_t rank, std::int64_t layers, std::int64_t experts) const {
    if (const std::int64_t n = size_of("ep"); n > 1)
      if (const auto expert = detail::expert_of(tensor)) {
        const index_range r = shard(experts, n, coordinate(rank, "ep"));
        if (*expert < r.begin || *expert >= r.end) return false;
      }
    return stage_of(tensor, layers) == coordinate(rank, "pp");
  }
  index_range experts_of(std::int64_t rank, std::int64_t experts) const {
    return shard(experts, size_of("ep"), coordinate(rank, "ep"));
  }
  index_range layers_of(std::int64_t stage, std::int64_t layers) const {
    if (stages.empty()) return shard(layers, size_of("pp"), stage);
    index_range r;
    for (std::int64_t i = 0; i <= stage; ++i) r = {r.end, r.end + stages[static_cast<std::size_t>(i)]};
    return r;
  }
  std::int64_t stage_of(std::string_view tensor, std::int64_t layers) const {
    const std::int64_t n = size_of("pp");
    if (n == 1) return 0;
    const auto layer = layer_of(tensor);
    if (!layer)
      return tensor.find("embed") != std::string_view::npos || tensor.find("wte") != std::string_view::npos ? 0 : n - 1;
    for (std::int64_t s = 0; s + 1 < n; ++s)
      if (*layer < layers_of(s, layers).end) return s;
    return n - 1;
  }

  /// The box of a tensor that a rank has, if it has any of it. Throws layout_error where a dim cannot be cut, or no rule names a tensor
  /// of a mesh that shards others.
  index_box slice_of(std::string_view tensor, const std::vector<std::int64_t>& extents, std::int64_t rank) const {
    check_rule(tensor, extents.size());
    index_box box;
    for (std::size_t d = 0; d < extents.size(); ++d) {
      const dim_shards s = shards_of(tensor, d, rank);
      if (!is_uneven && extents[d] % s.count != 0)
        throw layout_error(detail::tensor_title(tensor) + ", " + hyperparallel::detail::extents_text(extents) + ": " +
                           std::to_string(s.count) + " shards do not divide dim " + std::to_string(d) +
                           divisors_text(extents[d], s.count));
      box.push_back(shard(extents[d], s.count, s.index));
    }
    return box;
  }

  /// Throws layout_error where no rule names the tensor although others are sharded, or its rule is of more dims.
  void check_rule(std::string_view tensor, std::size_t rank) const {
    const layout_rule* const r = rule_of(tensor);
    const bool shards = std::any_of(
        axes.begin(), axes.end(), [](const layout_axis& a) { return a.size > 1 && a.name != "ep" && a.name != "pp"; });
    if (r == nullptr && shards && rank > 0)
      throw layout_error(detail::tensor_title(tensor) + " is named by no rule of the layout " + text() +
                         "; a JSON file with rules says how it is sharded");
    if (r != nullptr && r->map.size() > rank && !whole.contains(tensor))
      throw layout_error(detail::tensor_title(tensor) + " has " + std::to_string(rank) + " dims, its rule " +
                         quoted_path(r->tensors) + " maps " + std::to_string(r->map.size()));
  }

  /// "tp=2,pp=4", or "whole".
  std::string text() const {
    std::string out;
    for (const layout_axis& a : axes) out += (out.empty() ? "" : ",") + a.name + "=" + std::to_string(a.size);
    return out.empty() ? "whole" : out;
  }

 private:
  static std::string divisors_text(std::int64_t extent, std::int64_t asked) {
    std::string out;
    for (std::int64_t n = 1; n <= 2 * asked && n <= extent; ++n)
      if (extent % n == 0) out += (out.empty() ? "; these do: " : ", ") + std::to_string(n);
    return out;
  }
};

}}}  // namespace hyperparallel::v0_2::reshard
