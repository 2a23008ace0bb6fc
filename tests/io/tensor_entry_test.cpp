// SPDX-License-Identifier: Apache-2.0
// How many bytes a tensor has, and which have none that can be counted.

#include <hyperparallel/io/tensor_entry.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

using extents = std::vector<std::int64_t>;

std::string bytes_or_complaint(const std::string& dtype, const extents& e, const std::string& name = "w") {
  try {
    return std::to_string(hp::detail::entry_bytes("read", "f", {name, dtype, e, 0, 0}));
  } catch (const hp::io_error& error) {
    return error.what();
  }
}

static_assert(hp::detail::dtype_bits("F64") == 64 && hp::detail::dtype_bits("BF16") == 16 &&
              hp::detail::dtype_bits("BOOL") == 8);
static_assert(hp::detail::dtype_bits("") == 0 && hp::detail::dtype_bits("f32") == 0 &&
              hp::detail::dtype_bits("F3") == 0);
static_assert(hp::detail::dtype_bits("F322") == 0);

TEST(tensor_entry, has_the_bytes_of_its_type_times_its_extents) {
  EXPECT_EQ(bytes_or_complaint("F32", {2, 3}), "24");
  EXPECT_EQ(bytes_or_complaint("F64", {}), "8");
  EXPECT_EQ(bytes_or_complaint("BF16", {7, 0, 5}), "0");
  EXPECT_EQ(bytes_or_complaint("F4", {6}), "3");
  EXPECT_EQ(bytes_or_complaint("F6_E2M3", {4}), "3");
  EXPECT_EQ(bytes_or_complaint("U8", {std::int64_t{1} << 59}), "576460752303423488");
}

TEST(tensor_entry, says_why_bytes_cannot_be_counted) {
  EXPECT_EQ(bytes_or_complaint("F33", {2}), "cannot read 'f': tensor 'w' has the unknown dtype 'F33'");
  EXPECT_EQ(bytes_or_complaint("F32", {2, -1}), "cannot read 'f': tensor 'w' has the negative extent -1");
  EXPECT_EQ(bytes_or_complaint("F4", {3}), "cannot read 'f': tensor 'w', F4 [3], does not fill whole bytes");
  const std::string many =
      "cannot read 'f': tensor 'w', F32 [4294967296, 4294967296], has more bits than can be counted";
  EXPECT_EQ(bytes_or_complaint("F32", {std::int64_t{1} << 32, std::int64_t{1} << 32}), many);
  EXPECT_NE(bytes_or_complaint("U8", {std::int64_t{1} << 60}).find("more bits"), std::string::npos);
  EXPECT_NE(bytes_or_complaint("U8", {INT64_MAX, INT64_MAX, 0}).find("more bits"), std::string::npos);
}

TEST(tensor_entry, is_spoken_of_on_one_line) {
  EXPECT_EQ(hp::detail::typed_extents("F32", {2, 3}), "F32 [2, 3]");
  EXPECT_EQ(hp::detail::extents_text({}), "[]");
  EXPECT_EQ(hp::detail::tensor_title("a\nb"), "tensor 'a?b'");
  EXPECT_EQ(bytes_or_complaint("a\nb", {2}, "x\ny"), "cannot read 'f': tensor 'x?y' has the unknown dtype 'a?b'");
}

}  // namespace
