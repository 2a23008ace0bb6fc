// SPDX-License-Identifier: Apache-2.0
// The body of set_layout.hpp.

#include "set_layout.hpp"

#include <algorithm>

namespace hp_tool::reshard {

namespace {

/// The number behind `word` in a name, as 3 behind ".layers." in "model.layers.3.mlp"; nothing where there is none.
std::optional<std::int64_t> number_behind(std::string_view name, std::string_view word) {
  const std::size_t at = name.find(word);
  if (at == std::string_view::npos) return {};
  std::size_t end = at + word.size();
  while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
  return end == at + word.size() ? std::nullopt : whole_number(name.substr(at + word.size(), end - at - word.size()));
}

}  // namespace

std::string_view weight_of_scales(std::string_view name) {
  for (const std::string_view end : {"weight_scale_inv", "weight_scale"})
    if (name.ends_with(end)) return name.substr(0, name.size() - end.size() + std::string_view("weight").size());
  return {};
}

std::optional<std::int64_t> layer_of(std::string_view name) { return number_behind(name, "layers."); }

std::optional<std::int64_t> expert_of(std::string_view name) { return number_behind(name, "experts."); }

std::int64_t set_layout::size_of(std::string_view axis) const {
  for (const layout_axis& a : axes)
    if (a.name == axis) return a.size;
  return 1;
}

std::int64_t set_layout::ranks() const {
  std::int64_t n = 1;
  for (const layout_axis& a : axes) n *= a.size;
  return n;
}

std::int64_t set_layout::coordinate(std::int64_t rank, std::string_view axis) const {
  for (std::size_t i = axes.size(); i-- > 0; rank /= axes[i].size)
    if (axes[i].name == axis) return rank % axes[i].size;
  return 0;
}

index_range set_layout::shard(std::int64_t extent, std::int64_t n, std::int64_t i) {
  const auto cut = [&](std::int64_t k) { return extent / n * k + extent % n * k / n; };
  return {cut(i), cut(i + 1)};
}

const layout_rule* set_layout::rule_of(std::string_view tensor) const {
  tensor = state_name(tensor).tensor;
  if (const std::string_view weight = weight_of_scales(tensor); !weight.empty()) tensor = weight;
  for (const layout_rule& r : rules)
    if (is_glob_of(r.tensors, tensor)) return &r;
  return nullptr;
}

set_layout::dim_shards set_layout::shards_of(std::string_view tensor, std::size_t dim, std::int64_t rank) const {
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

bool set_layout::holds(std::string_view tensor, std::int64_t rank, std::int64_t layers, std::int64_t experts) const {
  if (const std::int64_t n = size_of("ep"); n > 1)
    if (const auto expert = expert_of(tensor)) {
      const index_range r = shard(experts, n, coordinate(rank, "ep"));
      if (*expert < r.begin || *expert >= r.end) return false;
    }
  return stage_of(tensor, layers) == coordinate(rank, "pp");
}

index_range set_layout::experts_of(std::int64_t rank, std::int64_t experts) const {
  return shard(experts, size_of("ep"), coordinate(rank, "ep"));
}

index_range set_layout::layers_of(std::int64_t stage, std::int64_t layers) const {
  if (stages.empty()) return shard(layers, size_of("pp"), stage);
  index_range r;
  for (std::int64_t i = 0; i <= stage; ++i) r = {r.end, r.end + stages[static_cast<std::size_t>(i)]};
  return r;
}

std::int64_t set_layout::stage_of(std::string_view tensor, std::int64_t layers) const {
  const std::int64_t n = size_of("pp");
  if (n == 1) return 0;
  const auto layer = layer_of(tensor);
  if (!layer)
    return tensor.find("embed") != std::string_view::npos || tensor.find("wte") != std::string_view::npos ? 0 : n - 1;
  for (std::int64_t s = 0; s + 1 < n; ++s)
    if (*layer < layers_of(s, layers).end) return s;
  return n - 1;
}

index_box set_layout::slice_of(std::string_view tensor, const std::vector<std::int64_t>& extents,
                               std::int64_t rank) const {
  check_rule(tensor, extents.size());
  index_box box;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const dim_shards s = shards_of(tensor, d, rank);
    if (!is_uneven && extents[d] % s.count != 0)
      throw layout_error(tensor_title(tensor) + ", " + hp::detail::extents_text(extents) + ": " +
                         std::to_string(s.count) + " shards do not divide dim " + std::to_string(d) +
                         divisors_text(extents[d], s.count));
    box.push_back(shard(extents[d], s.count, s.index));
  }
  return box;
}

void set_layout::check_rule(std::string_view tensor, std::size_t rank) const {
  const layout_rule* const r = rule_of(tensor);
  const bool shards = std::any_of(axes.begin(), axes.end(),
                                  [](const layout_axis& a) { return a.size > 1 && a.name != "ep" && a.name != "pp"; });
  if (r == nullptr && shards && rank > 0)
    throw layout_error(tensor_title(tensor) + " is named by no rule of the layout " + text() +
                       "; a JSON file with rules says how it is sharded");
  if (r != nullptr && r->map.size() > rank && !whole.contains(tensor))
    throw layout_error(tensor_title(tensor) + " has " + std::to_string(rank) + " dims, its rule " +
                       quoted_path(r->tensors) + " maps " + std::to_string(r->map.size()));
}

std::string set_layout::text() const {
  std::string out;
  for (const layout_axis& a : axes) out += (out.empty() ? "" : ",") + a.name + "=" + std::to_string(a.size);
  return out.empty() ? "whole" : out;
}

std::string set_layout::divisors_text(std::int64_t extent, std::int64_t asked) {
  std::string out;
  for (std::int64_t n = 1; n <= 2 * asked && n <= extent; ++n)
    if (extent % n == 0) out += (out.empty() ? "; these do: " : ", ") + std::to_string(n);
  return out;
}

}  // namespace hp_tool::reshard
