// SPDX-License-Identifier: Apache-2.0
// Entries of published lists have the modules that they name; regular expressions agree with the standard library's.

#include <hyperparallel/io/module_patterns.hpp>

#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

bool has(const std::string& entry, const std::string& name) {
  hp::detail::module_list list;
  EXPECT_TRUE(list.add(entry)) << entry;
  return list.has(name);
}

}  // namespace

TEST(ModulePatterns, NamesHaveWholeComponents) {
  EXPECT_TRUE(has("lm_head", "lm_head"));
  EXPECT_TRUE(has("gate", "model.layers.3.mlp.gate"));
  EXPECT_FALSE(has("gate", "model.layers.3.mlp.gate_proj"));
  EXPECT_TRUE(has("model.layers.1", "model.layers.1.mlp.up_proj"));
  EXPECT_FALSE(has("model.layers.1", "model.layers.10.mlp.up_proj"));
  EXPECT_TRUE(has("self_attn of every layer", "model.layers.9.self_attn.q_proj"));
}

TEST(ModulePatterns, GlobsMatchAllOfAModule) {
  EXPECT_TRUE(has("model.layers.*.self_attn", "model.layers.12.self_attn.q_proj"));  // gpt-oss
  EXPECT_FALSE(has("model.layers.*.self_attn", "model.layers.12.mlp.experts.gate_up_proj"));
  EXPECT_TRUE(has("model.layers.0*", "model.layers.0.mlp.up_proj"));  // modelopt
  EXPECT_FALSE(has("model.layers.0*", "model.layers.10.mlp.up_proj"));
  EXPECT_TRUE(has("*.mlp.shared_expert.*", "model.layers.4.mlp.shared_expert.up_proj"));
  EXPECT_FALSE(has("*.mlp.gate", "model.layers.4.mlp.gate_proj"));
}

TEST(ModulePatterns, RegularExpressionsOfPublishedFiles) {
  const std::string dense = R"(re:.*mlp\.(gate|up|gate_up|down)_proj.*)";  // Kimi-K2.5
  EXPECT_TRUE(has(dense, "model.layers.0.mlp.gate_proj"));
  EXPECT_FALSE(has(dense, "model.layers.3.mlp.experts.0.gate_proj"));
  EXPECT_TRUE(has("re:.*self_attn.*", "model.layers.3.self_attn.kv_b_proj"));
  EXPECT_TRUE(has(R"(re:model\.layers\.[0-2]\.)", "model.layers.1.mlp.up_proj"));
  EXPECT_FALSE(has(R"(re:model\.layers\.\d\.)", "model.layers.11.mlp.up_proj"));
  for (const char* not_known : {"re:a(?!b)", "re:(a", "re:a{2}", "re:(a)*", "re:[a", "re:\\1", "re:a)"}) {
    hp::detail::module_list list;
    EXPECT_FALSE(list.add(not_known)) << not_known;
  }
}

// Random expressions of the known parts, on random names, match a beginning where the standard library's do.
TEST(ModulePatterns, AgreeWithTheStandardLibrary) {
  std::mt19937 random(11);
  const std::vector<std::string> parts = {"a",       "b",          ".",    "\\.", "x*",    "a+",
                                          "b?",      "[ab]",       "[^a]", "\\d", "(a|b)", "(?:ab|x)",
                                          "(a|b.)?", "(a|(b|x)a)", "$",    ".*",  "[a-c]+"};
  const std::string letters = "abcx.12";
  int matched = 0, cases = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (std::size_t n = 1 + random() % 5; n > 0; --n) text += parts[random() % parts.size()];
    if (random() % 8 == 0) text = "a" + text + "|b.x";
    hp::detail::module_list list;
    if (!list.add("re:" + text)) continue;  // a bar behind a group
    const std::regex same(text);
    for (int k = 0; k < 5; ++k) {
      std::string name;
      for (std::size_t n = random() % 7; n > 0; --n) name += letters[random() % letters.size()];
      const bool expected = std::regex_search(name, same, std::regex_constants::match_continuous);
      EXPECT_EQ(list.has(name), expected) << text << " on " << name;
      matched += expected;
      ++cases;
    }
  }
  EXPECT_GT(matched, 1000);
  EXPECT_GT(cases, 10000);
}
