// SPDX-License-Identifier: Apache-2.0
#pragma once
// Formats of weights as their descriptions in a quantization_config say them: blocks with a scale, groups of inputs, names of
// modelopt. Needs nlohmann-json on the include path; no front header includes this one.
//
//   [128, 128]                                       a scale for each block of so many outputs and inputs
//   {"num_bits": 4, "group_size": 32, "type": "int"}    compressed-tensors, modelopt
//   "NVFP4"                                          modelopt
//
// Scales of 4-bit floats are 8 bits with an f32 of the map (NVFP4), those of mxfp4 8 bits of exponent; of others the type of the
// model, of modelopt f32. Laws: each function gives a format or throws `unknown_format`, or io_error of a value that cannot be.

#include <cstdint>
#include <string>

#include <hyperparallel/io/config_fields.hpp>
#include <hyperparallel/planner/weight_storage.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Larger groups and blocks are not known.
inline constexpr extent_t most_group = extent_t{1} << 20;

/// Thrown with what is not known.
struct unknown_format {
  std::string why;
};

/// Whether a group or block can have so many.
inline bool is_size(const nlohmann::json& v) {
  return v.is_number_integer() && !(v.is_number_unsigned() && v.get<std::uint64_t>() > INT64_MAX) &&
         v.get<extent_t>() >= 1 && v.get<extent_t>() <= most_group;
}
/// Scales of so many bits for blocks of [outputs, inputs].
inline weight_format of_blocks(weight_format f, const nlohmann::json& block, int bits) {
  if (!block.is_array() || block.size() != 2 || !is_size(block[0]) || !is_size(block[1]))
    throw unknown_format{"a block is " + shown_json(block) + "; known: [outputs, inputs]"};
  f.block_outputs = block[0].get<extent_t>();
  f.block_inputs = block[1].get<extent_t>();
  f.block_bits = bits;
  f.map_bits = 0;
  return f;
}

/// Of one group of compressed-tensors and modelopt.
inline weight_format format_of_group(config_fields& weights, bool nvidia, const std::string& form) {
  const int bits = static_cast<int>(weights.whole("num_bits", 16));
  const bool is_float = weights.value("type") == "float";
  const extent_t group = weights.optional_whole("group_size", most_group, -1).value_or(0);
  const bool symmetric = weights.flag("symmetric", true);
  const nlohmann::json& strategy = weights.value("strategy");
  weight_format f{.bits = bits, .map_bits = 32};
  if (group > 0) {
    // Scales of fp4 are e4m3 with an f32 of the map, those of mxfp4 8 bits of exponent, of integers the type of the model.
    const bool micro = form.find("mxfp4") != std::string::npos || weights.value("scale_dtype") == "torch.uint8";
    const bool small = is_float && bits == 4;
    f.block_inputs = group;
    f.block_bits = small ? 8 : 16 + (symmetric ? 0 : bits);
    f.map_bits = small && !micro ? (nvidia ? 64 : 32) : 0;
  } else if (strategy == "block") {
    f = of_blocks(f, weights.value("block_structure"), 16);
  } else if (strategy == "channel") {
    f.map_bits = 0;
    f.block_bits = 16;
  } else if (!strategy.is_null() && strategy != "tensor") {
    throw unknown_format{"strategy is " + shown_json(strategy) + "; known: tensor, channel, group, block"};
  }
  if (nvidia && group <= 0) f.map_bits += 32;
  return f;
}
/// The format that modelopt names so.
inline weight_format format_called(const nlohmann::json& name, extent_t group) {
  if (name == "FP8") return {.bits = 8, .map_bits = 64};
  if (name == "FP8_PER_CHANNEL_PER_TOKEN") return {.bits = 8, .block_bits = 32};
  if (name == "FP8_PB_WO" || name == "FP8_PB_REAL")
    return {.bits = 8, .block_outputs = 128, .block_inputs = 128, .block_bits = 32};
  if (name == "NVFP4" || name == "NVFP4_AWQ")
    return {.bits = 4, .block_inputs = group > 0 ? group : 16, .block_bits = 8, .map_bits = 64};
  if (name == "MXFP8") return {.bits = 8, .block_inputs = 32, .block_bits = 8};
  if (name == "W4A16_AWQ" || name == "W4A8_AWQ")
    return {.bits = 4, .block_inputs = group > 0 ? group : 128, .block_bits = 16};
  throw unknown_format{"quant_algo is " + shown_json(name) +
                       "; known: FP8, FP8_PER_CHANNEL_PER_TOKEN, FP8_PB_WO, NVFP4, NVFP4_AWQ, MXFP8, W4A16_AWQ, "
                       "W4A8_AWQ, MIXED_PRECISION"};
}

}}}  // namespace hyperparallel::v0_2::detail
