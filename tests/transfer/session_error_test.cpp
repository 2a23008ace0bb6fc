// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/transfer/session_error.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

namespace hp = hyperparallel;

TEST(SessionError, OneLineNamesOperatorTensorBytesTierAndWhy) {
  const hp::session_error e(hp::session_code::tensor_is_in_use, "detach", "layer0.x", 4096, 0, "hbm");
  EXPECT_STREQ(e.what(), "detach of layer0.x (4096 bytes), tier 0 (hbm): the tensor is in use");
  EXPECT_EQ(e.code, hp::session_code::tensor_is_in_use);
  EXPECT_EQ(e.operation, "detach");
  EXPECT_EQ(e.tensor, "layer0.x");
  EXPECT_EQ(e.tier, 0);
  EXPECT_EQ(e.bytes, 4096);
  EXPECT_STREQ(hp::session_error(hp::session_code::copy_failed, "wait", "w", 0, -1, {}, "no medium").what(),
               "wait of w (0 bytes): a copy failed: no medium");
  EXPECT_STREQ(hp::session_error(hp::session_code::tier_is_unknown, "store", "w", 8, 7).what(),
               "store of w (8 bytes), tier 7: the session has no such tier");
  EXPECT_STREQ(hp::session_error(hp::session_code::there_is_no_tier, "session", {}, -1).what(),
               "session: there is no tier");
}

TEST(SessionError, EveryCodeHasATextOfItsOwn) {
  std::set<std::string> texts;
  int codes = 0;
  for (; hp::to_text(static_cast<hp::session_code>(codes)) != std::string("unknown"); ++codes)
    texts.insert(hp::to_text(static_cast<hp::session_code>(codes)));
  EXPECT_EQ(codes, static_cast<int>(hp::session_code::copy_failed) + 1);
  EXPECT_EQ(static_cast<int>(texts.size()), codes);
}

}  // namespace
