// SPDX-License-Identifier: Apache-2.0
// Layouts in short and as JSON.

#include "reshard/layout_text.hpp"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <string>

namespace rs = hp_tool::reshard;

namespace {

template <class Work>
std::string complaint(const Work& work) {
  try {
    work();
  } catch (const hyperparallel::io_error& e) {
    return e.what();
  }
  return "";
}

rs::set_layout of_json(const std::string& text) { return rs::layout_of_json(nlohmann::json::parse(text), "l.json"); }

TEST(LayoutText, ShortFormsAreMeshes) {
  const rs::set_layout l = rs::parse_short_layout("tp=2,ep=4,pp=2", "--to");
  EXPECT_EQ(l.ranks(), 16);
  EXPECT_EQ(l.coordinate(5, "pp"), 1);
  EXPECT_EQ(l.coordinate(5, "ep"), 2);
  EXPECT_EQ(l.coordinate(5, "tp"), 0);
  EXPECT_EQ(l.text(), "tp=2,ep=4,pp=2");
  EXPECT_EQ(rs::parse_short_layout("whole", "--to").ranks(), 1);
  for (const char* bad : {"tp", "tp=", "tp=0", "tp=x", "tp=2,", "tp=2,tp=2", "dp=2", "tp=99999999", "tp=1000,pp=1000",
                          "=2", "tp=-1", "tp=02"})
    EXPECT_NE(complaint([&] { rs::parse_short_layout(bad, "--to"); }).find("'--to'"), std::string::npos) << bad;
}

TEST(LayoutText, JsonIsReadBackEqual) {
  const rs::set_layout l = of_json(
      R"({"axes": [["pp", 2], ["a", 3]], "rules": [{"tensors": "*.q.*", "map": [["a"], []]}], "stages": [3, 4], "uneven": true})");
  EXPECT_EQ(of_json(rs::layout_json(l).dump()), l);
  EXPECT_EQ(l.layers_of(1, 7), (rs::index_range{3, 7}));
  const rs::set_layout s = rs::parse_short_layout("tp=2", "--to");
  const rs::set_layout again = of_json(rs::layout_json(s).dump());
  EXPECT_EQ(again.slice_of("model.layers.0.mlp.down_proj.weight", {4, 8}, 1),
            s.slice_of("model.layers.0.mlp.down_proj.weight", {4, 8}, 1));
  EXPECT_FALSE(of_json(R"({"axes": []})").rules.empty());
}

TEST(LayoutText, WhatIsNoneIsRefusedByFile) {
  for (const char* bad :
       {R"({})", R"({"axes": 3})", R"({"axes": [["tp"]]})", R"({"axes": [["tp", -1]]})",
        R"({"axes": [["tp", 2]], "rules": [{}]})",
        R"({"axes": [["tp", 2]], "rules": [{"tensors": "a", "map": [["x"]]}]})",
        R"({"axes": [["tp", 2]], "rules": [{"tensors": "a", "map": [["tp"], ["tp"]]}]})",
        R"({"axes": [["pp", 2]], "stages": [1]})",
        R"({"axes": [["pp", 2]], "rules": [{"tensors": "a", "map": [["pp"]]}]})", R"({"axes": [], "uneven": 1})",
        R"({"axes": [], "other": 1})", R"({"axes": [["pp", 2]], "stages": [1, -1]})", R"([])"})
    EXPECT_NE(complaint([&] { of_json(bad); }).find("'l.json'"), std::string::npos) << bad;
}

}  // namespace
