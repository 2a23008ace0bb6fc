// SPDX-License-Identifier: Apache-2.0
// The language of maps: the presets are read, and every mistake is refused with its rule.

#include "reshard/layout_map.hpp"

#include <gtest/gtest.h>

#include <string>

#include "reshard/named_maps.hpp"

namespace rs = hp_tool::reshard;

namespace {

std::string complaint(const std::string& text) {
  try {
    rs::parse_layout_map(text, "m.json");
  } catch (const hyperparallel::io_error& e) {
    return e.what();
  }
  return "";
}

TEST(LayoutMap, PresetsAreMaps) {
  const std::string own = rs::own_map_text();
  for (const std::string_view text : {rs::megatron_map_text, std::string_view(own), rs::fused_map_text}) {
    const rs::layout_map m = rs::parse_layout_map(text, "preset");
    EXPECT_FALSE(m.rules.empty());
    EXPECT_EQ(rs::parse_layout_map(m.text, "again").rules.size(), m.rules.size());
  }
}

TEST(LayoutMap, ReadsARule) {
  const rs::layout_map m = rs::parse_layout_map(
      R"json({"name": "x", "local": ["layer"], "tied": ["h", "t"], "rules": [
              {"theirs": "a.{layer}", "is": "expert (two p) i",
               "hf": {"hf": "b.{layer}.{expert}", "view": "c i", "take": "c", "from": "n", "of": "n+2*p", "as": "(p two)"}}]})json",
      "m.json");
  ASSERT_EQ(m.rules.size(), 1u);
  EXPECT_EQ(m.rules[0].stacked(), "expert");
  EXPECT_EQ(m.rules[0].parts[0].of.value({{"n", 5}, {"p", 3}}), 11);
  EXPECT_FALSE(m.rules[0].parts[0].of.value({{"n", 5}}));
  EXPECT_EQ(m.head_tied_to, "t");
  EXPECT_FALSE(m.keeps_others);
}

TEST(LayoutMap, MistakesAreRefusedWithTheirRule) {
  const auto rule = [](const std::string& inner) { return R"({"rules": [{"theirs": "a.{layer}", )" + inner + "}]}"; };
  struct {
    std::string text, told;
  } const cases[] = {
      {R"([1])", "is no JSON object"},
      {R"({"rule": []})", "unknown key 'rule'"},
      {R"({"rules": {}})", "'rules' is a list"},
      {R"({"rules": [{"hf": "b"}]})", "has no 'theirs'"},
      {rule(R"("hf": "b", "of": [])"), "has one of 'hf' and 'of'"},
      {rule(R"("of": [])"), "is no list of parts"},
      {rule(R"("of": ["b", "c"])"), "several parts and no 'join'"},
      {rule(R"("hf": "b.{layer")"), "has a { without a }"},
      {rule(R"("hf": {"hf": "b", "view": "a b"})"), "'is' and each 'view' go together"},
      {rule(R"("is": "a b", "hf": {"hf": "b", "view": "a c"})"), "have other names"},
      {rule(R"("is": "a b", "join": "c", "hf": {"hf": "b", "view": "a b"})"), "which is no name of 'is'"},
      {rule(R"("is": "a (b", "hf": {"hf": "b", "view": "a b"})"), "has a ( without a )"},
      {rule(R"("is": "a b", "hf": {"hf": "b", "view": "a b", "take": "x", "as": "y"})"),
       "which is no name of the view"},
      {rule(R"("is": "a b", "hf": {"hf": "b", "view": "a b", "take": "b"})"), "'take' without 'as'"},
      {rule(R"("is": "a b", "rows_multiple": "n", "hf": {"hf": "b", "view": "a b"})"),
       "'rows_multiple' goes without views"},
      {rule(R"("hf": "b", "reads_only": 1)"), "'reads_only' is true or false"},
      {rule(R"("hf": "b", "cut": "rows")"), "'cut' is \"parts\" or \"joined\""},
      {rule(R"("hf": "b", "cut": "joined")"), "'cut' goes with 'join'"},
      {rule(R"("hf": "b", "colour": 1)"), "unknown key 'colour'"},
      {rule(R"("hf": "b.{la\ryer}")"), "has the number {la?yer}"},
      {rule(R"("hf": "b", "rows_multiple": "2 n")"), "expected a sum of products of sizes"},
      {R"({"others": "kept"})", "'others' is"},
      {R"({"tied": ["a"]})", "list of two names"},
  };
  for (const auto& c : cases)
    EXPECT_NE(complaint(c.text).find(c.told), std::string::npos) << complaint(c.text) << " for " << c.text;
}

}  // namespace
