// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/report/format_search.hpp>

#include <gtest/gtest.h>

#include "../search/search_models.hpp"

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
  EXPECT_NE(
      text.find(", moves beside what does not need them,\neach by the fastest of its candidates on this topology\n"),
      std::string::npos);
  EXPECT_EQ(fmt::format("{}", r), text);
}

TEST(FormatSearch, GraphsByName) {
  const hp::graph g = searched::small_model{}.build();
  const hp::search_result r = hp::search_strategies(&g, 1, hp::generic_host::device, hp::generic_host::topology, 2);
  const std::vector<std::string> names{"as it is"};
  EXPECT_NE(fmt::format("{}", hp::told(r, names)).find("as it is"), std::string::npos);
}

// One sentence for each cause, and no two figures that contradict each other.
TEST(FormatSearch, NothingFits) {
  hp::search_result r;
  hp::search_certificate& c = r.certificate;
  c.devices = 12;
  c.budget = 2 * hp::GiB;
  c.least_memory = 3 * hp::GiB;
  c.frames = c.frames_too_large = 7;
  EXPECT_EQ(hp::report::cause_text(c), "no plan fits: each holds at least 3.0 GiB a device, a device has 2.0 GiB");
  EXPECT_EQ(hp::to_text(r).find(hp::report::cause_text(c) + "\n7 frames"), 0u);
  c.least_memory = hp::GiB;
  c.least_peak = 4 * hp::GiB;
  EXPECT_EQ(hp::report::cause_text(c),
            "no plan fits: the smallest that was accounted in full takes 4.0 GiB a device, a device has 2.0 GiB");
}

// A prime factor of the devices that no degree may have, with the dims that it does not divide and the limits that it is
// above.
TEST(FormatSearch, NothingIsLegal) {
  hp::search_certificate c;
  c.devices = 11;
  c.budget = hp::GiB;
  c.extents = {.batch = 64, .sequence = 4096, .layers = 3};
  c.limits.tensor = 8;
  EXPECT_EQ(hp::report::cause_text(c),
            "no degrees are legal on 11 devices: 11 divides neither batch (64) nor seq (4096) and is above the largest "
            "tensor degree (8) and pipeline degree (3)");
  c.limits.tensor = 16;
  c.frames = c.frames_refused = 3;
  c.refused = {.code = hp::strategy_code::dim_does_not_divide, .extent = 32, .pieces = 22};
  c.refused_dim = "heads";
  c.devices = 22;
  EXPECT_EQ(
      hp::report::cause_text(c),
      "no degrees are legal on 22 devices: 11, a factor of 22, divides none of batch (64), seq (4096) and heads (32) "
      "and is above the largest pipeline degree (3)");
  c.extents.sequence = 22;
  EXPECT_EQ(
      hp::report::cause_text(c),
      "no degrees are legal on 22 devices: 11, a factor of 22, divides neither batch (64) nor heads (32) and is above "
      "the largest context degree (8) and pipeline degree (3)");
}

// Each prime factor has its place, their product has none.
TEST(FormatSearch, NoProductOfDegreesIsLegal) {
  hp::search_certificate c;
  c.devices = 64;
  c.extents = {.batch = 2, .sequence = 4096, .layers = 2};
  c.limits.tensor = 4;
  c.limits.context = 1;
  EXPECT_EQ(
      hp::report::cause_text(c),
      "no degrees are legal on 64 devices: tensor degrees up to 4, context degrees up to 1 and pipeline degrees up "
      "to 2 leave none that divides batch (2)");
  c.frames = c.frames_refused = 3;
  c.refused = {.code = hp::strategy_code::dim_does_not_divide, .extent = 2, .pieces = 4};
  c.refused_dim = "key_heads";
  EXPECT_EQ(
      hp::report::cause_text(c),
      "no degrees are legal on 64 devices: the partitioner refuses all 3 meshes and options, the last because dim "
      "\"key_heads\" of extent 2 does not divide by 4");
}

TEST(FormatSearch, NothingHasAPrice) {
  hp::search_certificate c;
  c.frames = 3;
  c.price = hp::cost_code::ranks_are_not_connected;
  EXPECT_EQ(hp::report::cause_text(c), "no plan has a price: no link level joins the ranks");
}

TEST(FormatSearch, RefusedHardwareIsNoSearch) {
  const hp::graph g = searched::small_model{}.build();
  const hp::search_result r =
      hp::search_strategies(&g, 1, hp::ascend_910c_die::device, hp::ascend_910c_die::topology, 8);
  EXPECT_EQ(hp::to_text(r),
            "nothing is searched: ranks within a span of 8 are to work together, link level 0, the outermost, joins "
            "groups of 2\n");
}

TEST(FormatSearch, FamiliesOfParts) {
  hp::found_plan p;
  EXPECT_EQ(hp::report::detail::families_text(p), "");
  p.family.push("tensor");
  p.family.push("tensor");
  EXPECT_EQ(hp::report::detail::families_text(p), "tensor");
  p.family.push("data");
  EXPECT_EQ(hp::report::detail::families_text(p), "tensor / tensor / data");
  p.frame = {.cp = 2, .context = hp::context_form::ring, .zero = 3, .zero_wide = true};
  EXPECT_EQ(hp::report::detail::options_text(p), "ZeRO 3 everywhere, ring");
}

}  // namespace
