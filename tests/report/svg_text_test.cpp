// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/report/svg_text.hpp>

#include <gtest/gtest.h>

namespace report = hyperparallel::report;

namespace {

TEST(svg_text, escapes_what_xml_reserves) {
  EXPECT_EQ(report::detail::xml_text("a<b>&\"'\n"), "a&lt;b&gt;&amp;&quot;&apos;?");
  EXPECT_EQ(report::detail::xml_text("dp × tp"), "dp × tp");
}

TEST(svg_text, neighbours_have_other_colours) {
  for (int i = 0; i < 24; ++i) EXPECT_STRNE(report::detail::colour_of(i), report::detail::colour_of(i + 1));
}

}  // namespace
