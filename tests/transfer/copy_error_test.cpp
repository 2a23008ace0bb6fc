// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/transfer/copy_error.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

namespace hp = hyperparallel;

TEST(CopyError, SaysWhatAndHowMuch) {
  const hp::copy_error of_tensor(hp::copy_code::failed, "w1", 64, "no medium");
  EXPECT_EQ(std::string(of_tensor.what()), "copy of w1 (64 bytes): it failed: no medium");
  EXPECT_EQ(of_tensor.code, hp::copy_code::failed);
  EXPECT_EQ(of_tensor.tensor, "w1");
  EXPECT_EQ(of_tensor.bytes, 64);
  EXPECT_EQ(std::string(hp::copy_error(hp::copy_code::bandwidth_is_not_positive, {}, 0).what()),
            "copy engine: the bandwidth is not positive");
}

}  // namespace
