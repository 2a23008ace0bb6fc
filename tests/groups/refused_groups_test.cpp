// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/groups/refused_groups.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;
using code = hp::group_code;

namespace {

hp::group_table omni() {
  hp::group_table t;
  t.world = 16;
  t.disjoint = t.complete = true;
  hp::add_group(t, "tower", hp::rank_range{0, 3});
  hp::add_group(t, "decoder", hp::rank_range{4, 15});
  hp::add_module(t, "vision", "tower");
  hp::add_module(t, "language", "decoder", "layers.*");
  return t;
}

std::string why(void (*change)(hp::group_table&)) {
  hp::group_table t = omni();
  change(t);
  return hp::text_of_refusal(hp::check_groups(t), t);
}

TEST(refused_groups, sentences_name_groups_modules_and_ranks) {
  EXPECT_EQ(why([](hp::group_table&) {}), "ok");
  EXPECT_EQ(why([](hp::group_table& t) { t.world = 0; }), "a world of 0 ranks cannot be");
  EXPECT_EQ(why([](hp::group_table& t) { t.group.clear(); }), "the table has no group");
  EXPECT_EQ(why([](hp::group_table& t) { t.group[0].name = ""; }),
            "the name of a group is empty, or longer than 31 characters");
  EXPECT_EQ(why([](hp::group_table& t) { t.group[1].name = "tower"; }), "group tower stands twice");
  EXPECT_EQ(why([](hp::group_table& t) { t.group[1].ranks.clear(); }),
            "group decoder has no ranks, and module language is on it");
  EXPECT_EQ(why([](hp::group_table& t) { hp::add_group(t, "idle"); }), "group idle has no ranks");
  EXPECT_EQ(why([](hp::group_table& t) { t.group[0].ranks[0] = {3, 1}; }),
            "group tower has ranks from 3 to 1, which runs backwards");
  EXPECT_EQ(why([](hp::group_table& t) { t.group[0].ranks[0] = -4; }),
            "rank -4 of group tower is outside the world of 16 ranks");
  EXPECT_EQ(why([](hp::group_table& t) { t.placed[0].name = ""; }),
            "the name of a module is empty, or longer than 31 characters");
  EXPECT_EQ(why([](hp::group_table& t) { t.placed[1].name = "vision"; }), "module vision stands twice");
  EXPECT_EQ(why([](hp::group_table& t) { t.placed[1].operators.push(""); }),
            "a pattern of module language is empty, or longer than 31 characters");
  EXPECT_EQ(why([](hp::group_table& t) { t.placed[1].group = "decodre"; }),
            "module language is on group decodre, which does not exist: the nearest is decoder");
  EXPECT_EQ(why([](hp::group_table& t) { t.placed[0].group = "decoder"; }), "no module is on group tower of 4 ranks");
  EXPECT_EQ(why([](hp::group_table& t) { t.group[0].ranks.push(2); }), "rank 2 stands twice in group tower");
  EXPECT_EQ(why([](hp::group_table& t) { t.group[0].ranks.push(7); }),
            "groups decoder and tower share rank 7, and the table asks for disjoint groups");
  EXPECT_EQ(why([](hp::group_table& t) { t.group[0].ranks[0] = {1, 3}; }),
            "rank 0 of the 16 is in no group, and the table asks for a complete one");
}

TEST(refused_groups, sentences_name_operators) {
  const char* const names[] = {"vision.patch", "layers.0.attention", "loss"};
  hp::group_table t = omni();
  const auto say = [&] { return hp::text_of_refusal(hp::claim_names(t, names, 3).status, t, names, 3); };
  EXPECT_EQ(say(), "operator loss belongs to none of the 2 modules");
  t.placed[1].operators.push("l*");
  EXPECT_EQ(say(), "ok");
  t.placed[0].operators.push("*");
  EXPECT_EQ(say(), "operator layers.0.attention belongs to modules vision and language");
  t.placed[0].operators.clear();
  hp::add_module(t, "visoin", "tower");
  EXPECT_EQ(say(),
            "module visoin on group tower has none of the 3 operators of the model: the nearest is vision.patch");
  EXPECT_EQ(hp::text_of_refusal({.code = code::graph_is_refused}, t), "the model cannot be built");
}

TEST(refused_groups, sentences_name_tables) {
  hp::group_tables all;
  all.table.push(omni());
  all.table.push(omni());
  const auto say = [&] { return hp::text_of_refusal(hp::check_tables(all), all); };
  all.table[0].name = all.table[1].name = "train";
  EXPECT_EQ(say(), "table train stands twice");
  all.table[1].name = "serve";
  EXPECT_EQ(say(), "ok");
  all.table[1].world = 15;
  EXPECT_EQ(say(), "table serve: rank 15 of group decoder is outside the world of 15 ranks");
  all.table[0].name = "";
  all.table[0].world = 8;
  EXPECT_EQ(say(), "rank 15 of group decoder is outside the world of 8 ranks");
}

TEST(refused_groups, every_code_has_words) {
  for (int c = 1; c <= static_cast<int>(code::operator_has_two_modules); ++c) {
    const std::string key = std::string("group_code::") + hp::name_of(static_cast<code>(c));
    EXPECT_NE(hp::detail::find_refusal(key.c_str()), nullptr) << key;
  }
}

}  // namespace
