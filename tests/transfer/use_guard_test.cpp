// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/transfer/use_guard.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/tiers/offload_session.hpp>

#include "support/error_of.hpp"

namespace {

namespace hp = hyperparallel;
using hp::tensor_access;

struct UseGuard : ::testing::Test {
  hp::offload_session session{{{"hbm", 1024}, {"dram", 1024}}};
  hp::session_tensor x = session.add("x", 40);

  std::string refusal(tensor_access access) {
    return tested::error_of<hp::session_error>([&] { session.use(x, access); });
  }
};

TEST_F(UseGuard, IsASpanOfTheWholeTensor) {
  const hp::use_guard writing = session.use(x, tensor_access::overwrite);
  EXPECT_TRUE(writing);
  EXPECT_EQ(writing.as<float>().size(), 10U);
  EXPECT_EQ(writing.as<const double>().size(), 5U);
  EXPECT_EQ(static_cast<const void*>(writing.as<float>().data()), session.memory(0).address("x"));
}

TEST_F(UseGuard, ManyReadOrOneWrites) {
  const std::string in_use = "use of x (40 bytes), tier 0 (hbm): the tensor is in use";
  for (const tensor_access writing : {tensor_access::overwrite, tensor_access::update}) {
    {
      const hp::use_guard w = session.use(x, writing);
      for (const tensor_access a : {tensor_access::read, tensor_access::update, tensor_access::overwrite})
        EXPECT_EQ(refusal(a), in_use);
    }
    const hp::use_guard r = session.use(x);
    {
      const hp::use_guard s = session.use(x);
      EXPECT_EQ(refusal(tensor_access::update), in_use);
    }
    EXPECT_EQ(refusal(tensor_access::overwrite), in_use);
  }
  EXPECT_EQ(refusal(tensor_access::update), "no error");
}

TEST_F(UseGuard, AReadingGuardGivesNothingToWrite) {
  session.use(x, tensor_access::overwrite);
  const hp::use_guard r = session.use(x);
  EXPECT_NO_THROW(r.as<const float>());
  EXPECT_EQ(tested::error_of<hp::session_error>([&] { r.as<float>(); }),
            "use of x (40 bytes), tier 0: the use is for reading only");
}

TEST_F(UseGuard, MovesAndEndsOnce) {
  hp::use_guard a = session.use(x, tensor_access::overwrite);
  hp::use_guard b = std::move(a);
  EXPECT_FALSE(a);
  EXPECT_NE(refusal(tensor_access::read), "no error");
  a = std::move(b);
  a.end();
  a.end();
  EXPECT_FALSE(a);
  std::vector<hp::use_guard> many;
  for (int i = 0; i < 10; ++i) many.push_back(session.use(x));
  many.front() = std::move(many.back());  // ends one, keeps one
  many.erase(many.begin() + 1, many.end());
  EXPECT_NE(refusal(tensor_access::update), "no error");
  many.clear();
  EXPECT_EQ(refusal(tensor_access::update), "no error");
}

}  // namespace
