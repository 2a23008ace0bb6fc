// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a conversion is asked for, and the element types that its tensors then have, with the scales of 8-bit weights.
//
// Scales are applied where the type of a weight changes, and made where it becomes one of 8 bits; else they are carried along, in the
// type that they have. Laws: no number of 8 bits is converted without its scale; the tensors of the target are those of the source in
// their order, without the scales that are applied, then the scales that are made. Errors: plan_error, io_error of one line that names
// the tensor. O(tensors · (globs + ranks)).

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "set_layout.hpp"
#include "stored_scales.hpp"
#include "work.hpp"

namespace hp_tool::reshard {

struct reshard_request {
  std::string source, target;
  std::string from{}, to{};             ///< layouts; empty: that of the source's manifest, whole
  std::string from_map{}, to_map{};     ///< a name or a JSON file; empty: that of the source's names, the same
  std::string sizes{};                  ///< over those of config.json and manifest
  std::string dtype{};                  ///< of floats; empty: as they are
  std::vector<std::string> keep{};      ///< globs of tensors whose type stays
  std::int64_t scale_block = 128;       ///< of 8-bit floats; 0: a scale for each tensor
  std::vector<std::string> left_out{};  ///< globs of what is not carried over
  std::int64_t largest_file = 5'000'000'000;
  reshard_limits limits{};
};

/// The element types of a request, and the scales that it reads and makes.
struct chosen_types {
  dtype_list dtypes;
  std::vector<std::size_t> scaled;                 ///< tensors whose scales are made
  scale_grid made{};                               ///< what each of these is of
  std::map<std::string, stored_scales> applied{};  ///< by the weight's name
};

/// Chooses types and takes the scales that are applied out of the tensors of the source. `from`: the layout that cuts them.
chosen_types choose_types(const reshard_request& r, std::vector<model_tensor>& all, const set_layout& from,
                          scale_grid block);

/// The tensors of the target. The layout gets what ranks have whole of scales; the types those of scales that are made.
std::vector<model_tensor> target_tensors(const std::vector<model_tensor>& source, set_layout& to, const layout_map& map,
                                         scale_grid block, chosen_types& chosen);

}  // namespace hp_tool::reshard
