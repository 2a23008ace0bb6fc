// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/layout/interleaving.hpp>

#include <gtest/gtest.h>

#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

hp::mesh_value woven(const char* last) {
  const char* names[] = {"dp", "mp", last};
  const int sizes[] = {2, 2, 2};
  return hp::make_mesh(names, 3, sizes, 3).mesh;
}

TEST(interleaving, operands_agree_iff_both_are_cut_along_the_virtual_axis_or_neither) {
  const hp::mesh_value m = woven(hp::detail::interleaved_axis);
  const auto uses = [](const hp::layout_value& l) {
    for (int i = 0; i < l.cut_count; ++i)
      if (l.cut[i].axis == 2) return true;
    return false;
  };
  for (const hp::layout_value& a : worlds::all_layouts(m.shape, 2))
    for (const hp::layout_value& b : worlds::all_layouts(m.shape, 2)) {
      EXPECT_EQ(hp::copies_of(m, a), uses(a) ? 2 : 1);
      EXPECT_EQ(hp::interleaving_agrees(m, a, b), uses(a) == uses(b));
    }
}

TEST(interleaving, an_ordinary_axis_asks_for_no_agreement) {
  const hp::mesh_value m = woven("pp");
  for (const hp::layout_value& a : worlds::all_layouts(m.shape, 1))
    for (const hp::layout_value& b : worlds::all_layouts(m.shape, 1)) EXPECT_TRUE(hp::interleaving_agrees(m, a, b));
}

}  // namespace
