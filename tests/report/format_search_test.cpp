// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/report/format_search.hpp>

#include <gtest/gtest.h>

#include "../program/search_models.hpp"

namespace {

namespace hp = hyperparallel;

int lines_with(const std::string& text, const std::string& word) {
  int count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST(FormatSearch, EveryPlanHasARow) {
  const hp::graph g = searched::small_model{}.build();
  const hp::search_result r = hp::search_strategies(&g, 1, hp::generic_host::device, hp::generic_host::topology, 4);
  ASSERT_TRUE(r.ok());
  const std::string text = hp::to_text(r);
  EXPECT_EQ(lines_with(text, "\nwinner"), 1);
  EXPECT_EQ(lines_with(text, "\nnext"), r.plan.size - 1);
  EXPECT_EQ(lines_with(text, "\nbest by name"), r.best_named.size);
  EXPECT_NE(text.find(hp::report::to_text(hp::report::duration{r.plan[0].evaluation.time})), std::string::npos);
  EXPECT_NE(text.find("no plan of them that fits takes less than"), std::string::npos);
  EXPECT_NE(text.find("one step after the other\nwith every move by the fastest of its candidates on this topology\n"),
            std::string::npos);
  EXPECT_EQ(fmt::format("{}", r), text);
}

TEST(FormatSearch, GraphsByName) {
  const hp::graph g = searched::small_model{}.build();
  const hp::search_result r = hp::search_strategies(&g, 1, hp::generic_host::device, hp::generic_host::topology, 2);
  const std::vector<std::string> names{"as it is"};
  EXPECT_NE(fmt::format("{}", hp::told(r, names)).find("as it is"), std::string::npos);
}

TEST(FormatSearch, NothingFits) {
  hp::search_result r;
  r.certificate.least_memory = 3 * hp::GiB;
  r.certificate.frames = r.certificate.frames_too_large = 7;
  EXPECT_EQ(hp::to_text(r).substr(0, 53), "no plan fits: at least 3.0 GiB a device are needed\n7 ");
}

TEST(FormatSearch, FamiliesOfParts) {
  hp::found_plan p;
  EXPECT_EQ(hp::report::families_text(p), "");
  p.family.push("tensor");
  p.family.push("tensor");
  EXPECT_EQ(hp::report::families_text(p), "tensor");
  p.family.push("data");
  EXPECT_EQ(hp::report::families_text(p), "tensor / tensor / data");
  p.frame = {.cp = 2, .context = hp::context_form::ring, .zero = 3, .zero_wide = true};
  EXPECT_EQ(hp::report::options_text(p), "ZeRO 3 everywhere, ring");
}

}  // namespace
