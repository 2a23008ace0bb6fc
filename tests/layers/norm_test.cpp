// SPDX-License-Identifier: Apache-2.0
#include "described.hpp"

#include <gtest/gtest.h>

#include <hyperparallel/layers/norm.hpp>

namespace {

namespace hp = hyperparallel;
using namespace hp::test;

TEST(Norm, IsTheOneThatItIsTold) {
  for (const hp::norm_form form : {hp::norm_form::rms, hp::norm_form::layer}) {
    token_graph told(2, 3, 4), named(2, 3, 4);
    hp::norm_layer{"first", 1e-4, form}(told.m, told.x);
    if (form == hp::norm_form::rms)
      hp::rms_norm_layer{"first", 1e-4}(named.m, named.x);
    else
      hp::layer_norm_layer{"first", 1e-4}(named.m, named.x);
    EXPECT_EQ(operators(told.m.graph), operators(named.m.graph));
    EXPECT_EQ(operator_called(told.m.graph, "first").real[0], 1e-4);
    EXPECT_EQ(hp::parameter_count(told.m.graph), hp::parameters_of(form, 4));
  }
}

}  // namespace
