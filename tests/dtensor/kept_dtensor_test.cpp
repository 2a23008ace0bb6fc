// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/kept_dtensor.hpp>

#include <gtest/gtest.h>

#include "dtensor/small_world.hpp"

namespace {

using namespace small_world;
using rows = tensor<on<"dp", none>, 4, 8>;

/// Counts what it is given and what it gives back.
class counting_keeper final : public hp::tensor_keeper {
 public:
  std::shared_ptr<hp::kept_tensor> keep(const hp::dynamic_dtensor& x) override {
    ++kept;
    return std::make_shared<one>(*this, x);
  }
  int kept = 0, taken = 0;

 private:
  struct one final : hp::kept_tensor {
    one(counting_keeper& k, const hp::dynamic_dtensor& tensor) : keeper(k), x(tensor) {}
    hp::dynamic_dtensor take() override {
      ++keeper.taken;
      return x;
    }
    counting_keeper& keeper;
    hp::dynamic_dtensor x;
  };
};

TEST(KeptDtensor, GoesThroughTheKeeperOfTheThread) {
  counting_keeper outer, inner;
  const auto x = waves<rows>();
  const auto keep = [&] { return hp::full_tensor<double>(hp::detail::kept_dtensor(x.dynamic()).value()); };
  EXPECT_EQ(keep(), x.full_tensor());
  EXPECT_EQ(outer.kept + inner.kept, 0) << "without a scope as it is";
  {
    const hp::keeper_scope first(outer);
    EXPECT_EQ(keep(), x.full_tensor());
    {
      const hp::keeper_scope second(inner);
      keep();
    }
    const hp::detail::kept_dtensor unread(x.dynamic());
  }
  keep();
  EXPECT_EQ(outer.kept, 2);
  EXPECT_EQ(outer.taken, 1);
  EXPECT_EQ(inner.kept, 1);
}

}  // namespace
