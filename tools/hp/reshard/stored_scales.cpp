// SPDX-License-Identifier: Apache-2.0
// The body of stored_scales.hpp.

#include "stored_scales.hpp"

#include <algorithm>

#include <hyperparallel/checkpoint/tensor_set.hpp>

#include "element_type.hpp"

namespace hp_tool::reshard {

bool is_eight_bits(std::string_view dtype) { return dtype == "F8_E4M3" || dtype == "F8_E5M2"; }

std::optional<scale_grid> grid_of(const std::vector<std::int64_t>& weight, const std::vector<std::int64_t>& scales,
                                  scale_grid block) {
  using extents = std::vector<std::int64_t>;
  if (weight.size() != 2) return {};
  if (scales.empty() || scales == extents{1}) return scale_grid{0, 0};
  const auto blocks = [](std::int64_t n, std::int64_t of) { return (n + of - 1) / of; };
  if (scales == extents{blocks(weight[0], block.rows), blocks(weight[1], block.columns)}) return block;
  if (scales == extents{weight[0]} || scales == extents{weight[0], 1}) return scale_grid{1, 0};
  return scales == extents{1, 1} ? std::optional(scale_grid{0, 0}) : std::nullopt;
}

scale_grid block_of(const numbers& sizes) {
  const auto size = [&](const char* name) {
    const auto found = sizes.find(name);
    return found == sizes.end() || found->second < 1 ? 128 : found->second;
  };
  return {size("scale_rows"), size("scale_columns")};
}

void keep_whole(set_layout& l, const std::string& scales, std::size_t rank, scale_grid g) {
  if (rank == 2 && g.rows != 0 && g.columns != 0) return;
  const std::vector<bool> whole = {g.rows == 0, g.columns == 0};
  l.whole[scales] = {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(rank)};
}

void keep_whole(set_layout& l, const tensor_set& s, scale_grid block) {
  for (const set_file& f : s.files) {
    std::map<std::string_view, const tensor_entry*> weights;
    for (const tensor_entry& t : f.tensors)
      if (is_eight_bits(t.dtype)) weights[t.name] = &t;
    if (weights.empty()) continue;
    for (const tensor_entry& t : f.tensors) {
      const auto weight = weights.find(weight_of_scales(t.name));
      if (weight == weights.end()) continue;
      if (const auto g = grid_of(weight->second->extents, t.extents, block))
        keep_whole(l, t.name, t.extents.size(), *g);
    }
  }
}

void check_cuts(const set_layout& l, const std::string& weight, const std::vector<std::int64_t>& extents,
                const std::string& scales, const std::vector<std::int64_t>& of_scales, scale_grid g) {
  const std::int64_t step[2] = {g.rows, g.columns};
  std::vector<index_box> elements;
  const std::size_t dims = std::min<std::size_t>(2, of_scales.size());
  for (std::int64_t rank = 0; rank < l.ranks(); ++rank) {
    elements.push_back(l.slice_of(weight, extents, rank));
    for (std::size_t d = 0; d < dims; ++d)
      if (step[d] > 0 && elements.back()[d].begin % step[d] != 0)
        throw plan_error(tensor_title(weight) + " would be cut at " + std::to_string(elements.back()[d].begin) +
                         ", within a block of " + std::to_string(step[d]) + " with one scale");
  }
  for (std::int64_t rank = 0; rank < l.ranks(); ++rank) {
    const index_box blocks = l.slice_of(scales, of_scales, rank);
    for (std::size_t d = 0; d < dims; ++d)
      if (const std::int64_t end = elements[static_cast<std::size_t>(rank)][d].end;
          step[d] > 0 && std::min(blocks[d].end * step[d], extents[d]) != end)
        throw plan_error(tensor_title(scales) + " would be cut at " + std::to_string(blocks[d].end) +
                         ", its weight at " + std::to_string(end));
  }
}

std::map<std::string, stored_scales> scales_in(const std::vector<model_tensor>& all, scale_grid block) {
  std::map<std::string_view, const model_tensor*> weights;
  for (const model_tensor& t : all)
    if (is_eight_bits(t.dtype)) weights[t.name] = &t;
  std::map<std::string, stored_scales> found;
  if (weights.empty()) return found;
  for (const model_tensor& t : all) {
    const auto at = weights.find(weight_of_scales(t.name));
    if (at == weights.end()) continue;
    const model_tensor& weight = *at->second;
    const auto g = grid_of(weight.extents, t.extents, block);
    const bool is_number = (find_float(t.dtype) != nullptr && !is_eight_bits(t.dtype)) || t.dtype == "F8_E8M0";
    if (!g || !is_number)
      throw plan_error(tensor_title(t.name) + " is " + hp::detail::typed_extents(t.dtype, t.extents) +
                       ", no scales of " + hp::detail::typed_extents(weight.dtype, weight.extents) + " by blocks of " +
                       std::to_string(block.rows) + " x " + std::to_string(block.columns) +
                       ", by rows or for the tensor; --sizes scale_rows=128,scale_columns=128 says other blocks");
    if (!found.emplace(weight.name, stored_scales{t, *g}).second)
      throw plan_error(tensor_title(weight.name) + " has scales by two names");
  }
  return found;
}

}  // namespace hp_tool::reshard
