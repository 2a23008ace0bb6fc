// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/model/own_operator.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;
using hp::model_op;

constexpr hp::own_operator first{{"first", "*->*"}}, second{{"second", "*,*->*"}}, stranger{{"stranger", "*->*"}};
constexpr const hp::own_operator* items[] = {&first, &second};
constexpr hp::own_operators own{items, 2};

TEST(OwnOperator, NumbersFollowThoseOfTheBuiltInOperators) {
  EXPECT_EQ(static_cast<int>(own.number_of(&first)), hp::model_op_count);
  EXPECT_EQ(static_cast<int>(own.number_of(&second)), hp::model_op_count + 1);
  EXPECT_TRUE(own.has(own.number_of(&second)));
  EXPECT_FALSE(own.has(own.number_of(&stranger)));
  EXPECT_FALSE(hp::own_operators{}.has(own.number_of(&first)));
  for (int k = 0; k < hp::model_op_count; ++k) EXPECT_TRUE(hp::own_operators{}.has(static_cast<model_op>(k)));
}

TEST(OwnOperator, RowsAreThoseOfTheListOrBuiltIn) {
  EXPECT_STREQ(own.row_of(own.number_of(&second)).name, "second");
  for (int k = 0; k < hp::model_op_count; ++k)
    EXPECT_EQ(&own.row_of(static_cast<model_op>(k)), &hp::row_of(static_cast<model_op>(k)));
}

}  // namespace
