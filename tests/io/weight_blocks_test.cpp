// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/io/weight_blocks.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;
using nlohmann::json;

namespace {

hp::weight_format group(const json& weights, bool nvidia = false, const std::string& form = "") {
  hp::detail::config_fields f(weights, "c.json");
  return hp::detail::format_of_group(f, nvidia, form);
}

}  // namespace

// An element of a group costs its bits and its part of the scale.
TEST(WeightBlocks, GroupsByTheirNumbers) {
  for (const int size : {16, 32, 64, 128}) {
    const json ints = {{"num_bits", 4}, {"type", "int"}, {"strategy", "group"}, {"group_size", size}};
    EXPECT_EQ(group(ints).bits_of(1, 4 * size), 4 * (4 * size) + 4 * 16);
    json unsymmetric = ints;
    unsymmetric["symmetric"] = false;
    EXPECT_EQ(group(unsymmetric).bits_of(1, 4 * size), 4 * (4 * size) + 4 * 20);
    json floats = ints;
    floats["type"] = "float";
    EXPECT_EQ(group(floats).bits_of(1, 4 * size), 4 * (4 * size) + 4 * 8 + 32);
    EXPECT_EQ(group(floats, true).bits_of(1, 4 * size), 4 * (4 * size) + 4 * 8 + 64);
    EXPECT_EQ(group(floats, false, "mxfp4-pack-quantized").bits_of(1, 4 * size), 4 * (4 * size) + 4 * 8);
  }
  EXPECT_EQ(group({{"num_bits", 8}, {"strategy", "channel"}}).bits_of(10, 20), 8 * 200 + 16 * 10);
  EXPECT_EQ(group({{"num_bits", 8}, {"strategy", "tensor"}}).bits_of(10, 20), 8 * 200 + 32);
  EXPECT_EQ(group({{"num_bits", 8}, {"strategy", "block"}, {"block_structure", {4, 8}}}).bits_of(10, 20),
            8 * 200 + 16 * 9);
  EXPECT_THROW(group({{"num_bits", 8}, {"strategy", "of my own"}}), hp::detail::unknown_format);
  EXPECT_THROW(group({{"num_bits", 17}}), hp::io_error);
}

TEST(WeightBlocks, NamesOfModelopt) {
  EXPECT_EQ(hp::detail::format_called("NVFP4", 0).bits_of(1, 32), 4 * 32 + 8 * 2 + 64);
  EXPECT_EQ(hp::detail::format_called("FP8", 0).bits_of(2, 32), 8 * 64 + 64);
  EXPECT_EQ(hp::detail::format_called("W4A16_AWQ", 16).bits_of(2, 32), 4 * 64 + 16 * 4);
  EXPECT_THROW(hp::detail::format_called(json(), 0), hp::detail::unknown_format);
}
