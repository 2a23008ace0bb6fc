// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/step/suggestions.hpp>

#include <gtest/gtest.h>
#include <models/trained_models.hpp>

#include <string>

namespace hp = hyperparallel;

namespace {

const std::string names[] = {"first", "second", "layers.0.attention.query", "layers.1.attention.query", "loss"};

hp::detail::pattern_match nearest(const char* pattern, int skipped = -1) {
  return hp::detail::nearest_match(5, [&](int i) { return i == skipped ? nullptr : names[i].c_str(); }, pattern);
}

TEST(suggestions, the_nearest_match_needs_the_fewest_edits_and_is_the_first_of_equals) {
  for (const char* pattern : {"*", "fisrt", "*.qeury", "*.1.*.qury", "lo?s", "sec*", "nothing like it"})
    for (int skipped = -1; skipped < 5; ++skipped) {
      const hp::detail::pattern_match found = nearest(pattern, skipped);
      bool is_before = true;
      for (int i = 0; i < 5; ++i) {
        if (i == skipped) continue;
        is_before = is_before && names[i] != found.name;
        const int edits = hp::detail::edits_to_match(pattern, names[i].c_str());
        EXPECT_TRUE(edits > found.edits || (edits == found.edits && !is_before)) << pattern << " " << names[i];
      }
      EXPECT_EQ(found.edits, hp::detail::edits_to_match(pattern, found.name));
    }
  EXPECT_EQ(hp::detail::nearest_match(0, [](int) { return ""; }, "x").name, nullptr);
}

TEST(suggestions, are_empty_where_too_much_would_change) {
  const auto suggested = [](const char* pattern) {
    return std::string(hp::detail::suggestion_for(pattern, nearest(pattern)).text);
  };
  EXPECT_EQ(suggested("fisrt"), "first");
  EXPECT_EQ(suggested("*.qeury"), "layers.0.attention.query");
  EXPECT_EQ(suggested("*.bias"), "");
  EXPECT_EQ(suggested("*.experts.*"), "");
  EXPECT_EQ(hp::detail::suggestion_for("x", {}).length, 0);
}

TEST(suggestions, dims_are_those_of_the_operators_that_the_rule_speaks_of) {
  const hp::graph g = programs::one_matrix();
  const auto dims = [&](const char* dim, const char* where) {
    hp::detail::refusal_list list;
    hp::detail::list_dims_for(g, hp::shard_dim(dim, "dp", where), list);
    return std::string(list.joined.text);
  };
  EXPECT_EQ(dims("batch", "*"), "batch, ffn, hidden");
  EXPECT_EQ(dims("fnf", "product"), "ffn, batch, hidden");
  EXPECT_EQ(dims("hidden", "loss"), "ffn, batch");
  EXPECT_EQ(dims("hidden", "nothing"), "");
}

}  // namespace
