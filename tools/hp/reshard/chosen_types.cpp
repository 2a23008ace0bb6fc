// SPDX-License-Identifier: Apache-2.0
// The body of chosen_types.hpp.

#include "chosen_types.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "element_type.hpp"
#include "scaled_blocks.hpp"

namespace hp_tool::reshard {

namespace {

bool has_name_of_linear_map(std::string_view name) {
  return name.ends_with("proj.weight") || name.ends_with(".w1.weight") || name.ends_with(".w2.weight") ||
         name.ends_with(".w3.weight");
}

/// Whether the type of a tensor changes. Throws plan_error of numbers of 8 bits that cannot.
bool is_converted(const reshard_request& r, const model_tensor& t) {
  if (r.dtype.empty() || t.dtype == r.dtype || find_float(t.dtype) == nullptr || state_name(t.name).is_state())
    return false;
  if (std::any_of(r.keep.begin(), r.keep.end(), [&](const std::string& glob) { return is_glob_of(glob, t.name); }))
    return false;
  if (is_eight_bits(r.dtype))
    if (is_eight_bits(t.dtype))
      throw plan_error(tensor_title(t.name) + " is " + t.dtype + ", which becomes " + r.dtype +
                       " by way of a wider type alone: convert to bf16 first, or --keep leaves its type");
  return !is_eight_bits(r.dtype) || (t.extents.size() == 2 && has_name_of_linear_map(t.name));
}

}  // namespace

chosen_types choose_types(const reshard_request& r, std::vector<model_tensor>& all, const set_layout& from,
                          scale_grid block) {
  chosen_types c;
  c.made = r.scale_block == 0 ? scale_grid{} : scale_grid{r.scale_block, r.scale_block};
  if (!r.dtype.empty() && find_float(r.dtype) == nullptr)
    throw io_error("read", "--dtype",
                   quoted_path(r.dtype) +
                       " is no type that numbers are converted to; known: f32, f16, bf16, f64, f8_e4m3, f8_e5m2");
  std::map<std::string, stored_scales> stored = scales_in(all, block);
  std::set<std::string_view> carried, applied;
  for (const model_tensor& t : all)
    if (const auto s = stored.find(t.name); s != stored.end()) {
      check_cuts(from, t.name, t.extents, s->second.tensor.name, s->second.tensor.extents, s->second.grid);
      (is_converted(r, t) ? applied : carried).insert(s->second.tensor.name);
    }
  std::vector<model_tensor> left;
  for (model_tensor& t : all) {
    if (applied.contains(t.name)) continue;
    const bool is_new = !carried.contains(t.name) && is_converted(r, t);
    if (is_new && is_eight_bits(t.dtype)) {
      const auto s = stored.find(t.name);
      if (s == stored.end())
        throw plan_error(tensor_title(t.name) + " is " + t.dtype + " and has no scales, neither " +
                         quoted_path(t.name + "_scale_inv") + " nor " + quoted_path(t.name + "_scale") +
                         "; --keep leaves its type");
      c.applied.insert(stored.extract(s));
    }
    if (is_new && is_eight_bits(r.dtype) && t.extents[0] > 0 && t.extents[1] > 0) c.scaled.push_back(left.size());
    c.dtypes.push_back(is_new ? r.dtype : t.dtype);
    left.push_back(std::move(t));
  }
  all = std::move(left);
  for (const model_tensor& t : all)
    if (t.name.ends_with(".input_scale") && c.applied.contains(t.name.substr(0, t.name.size() - 11) + "weight"))
      throw plan_error(tensor_title(t.name) + " is of inputs of 8 bits, which " + r.dtype +
                       " has not; --leave-out '*.input_scale' leaves it out");
  return c;
}

std::vector<model_tensor> target_tensors(const std::vector<model_tensor>& source, set_layout& to, const layout_map& map,
                                         scale_grid block, chosen_types& chosen) {
  std::vector<model_tensor> tensors;
  for (std::size_t i = 0; i < source.size(); ++i)
    tensors.push_back({source[i].name, chosen.dtypes[i], source[i].extents, {}});
  const auto lay = [&](const model_tensor& weight, const model_tensor& scales, scale_grid g) {
    keep_whole(to, scales.name, scales.extents.size(), g);
    check_cuts(to, weight.name, weight.extents, scales.name, scales.extents, g);
  };
  const std::map<std::string, stored_scales> carried = scales_in(source, block);
  for (const model_tensor& t : source)
    if (const auto s = carried.find(t.name); s != carried.end()) lay(t, s->second.tensor, s->second.grid);
  if (!chosen.scaled.empty() && map.name != "hf")
    throw plan_error("scales have no names in the map " + quoted_path(map.name) +
                     "; 8-bit floats are written with the map hf");
  for (const std::size_t i : chosen.scaled) {
    tensors.push_back({source[i].name + "_scale_inv",
                       "F32",
                       scaled_blocks::extents(source[i].extents[0], source[i].extents[1], chosen.made),
                       {}});
    if (std::any_of(source.begin(), source.end(), [&](const model_tensor& t) { return t.name == tensors.back().name; }))
      throw plan_error(tensor_title(tensors.back().name) + " is there already");
    lay(source[i], tensors.back(), chosen.made);
    chosen.dtypes.push_back("F32");
  }
  return tensors;
}

}  // namespace hp_tool::reshard
