// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/io/map_names.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;

// Each map of a layer has a name, and no two names of one map are the same.
TEST(MapNames, EachMapHasOne) {
  for (int m = 0; m < hp::detail::layer_map_count; ++m) {
    int names = 0;
    for (const hp::detail::map_names& a : hp::detail::names_of_maps)
      if (static_cast<int>(a.map) == m) {
        ++names;
        for (const hp::detail::map_names& b : hp::detail::names_of_maps)
          EXPECT_TRUE(&a == &b || a.map != b.map || std::string(a.name) != b.name) << a.name;
      }
    EXPECT_GT(names, 0) << m;
  }
}
