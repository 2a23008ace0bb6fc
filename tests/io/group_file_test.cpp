// SPDX-License-Identifier: Apache-2.0
// Tables of process groups are read in both forms and written so that they are read back; what cannot be is one line.

#include "workplace.hpp"

#include <hyperparallel/groups/check_groups.hpp>
#include <hyperparallel/groups/group_table.hpp>
#include <hyperparallel/groups/refused_groups.hpp>
#include <hyperparallel/io/group_file.hpp>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace hp = hyperparallel;
using nlohmann::json;

namespace {

const std::string own = R"({"name": "train", "world": 64, "disjoint": true, "complete": true,
  "groups": [{"name": "tower", "ranks": ["0-15"]}, {"name": "decoder", "ranks": [16, "17-63"]}],
  "modules": [{"name": "vision", "group": "tower"}, {"name": "audio", "group": "tower"},
              {"name": "language", "group": "decoder", "operators": ["layers.*", "head*"]}]})";

const std::string by_node = R"({"devices_per_node": 8, "disjoint": true, "process_groups": {
  "tower": {"nodes": [0, 1], "modules": ["vision", "audio"]},
  "decoder": {"nodes": ["2-7"], "module": "language"}}})";

hp::group_table expected() {
  hp::group_table t;
  t.name = "train";
  t.world = 64;
  t.disjoint = t.complete = true;
  hp::add_group(t, "tower", hp::rank_range{0, 15});
  hp::add_group(t, "decoder", 16, hp::rank_range{17, 63});
  hp::add_module(t, "vision", "tower");
  hp::add_module(t, "audio", "tower");
  hp::add_module(t, "language", "decoder", "layers.*", "head*");
  return t;
}

/// Behind "cannot read 'g.json': ".
std::string complaint(const std::string& text) {
  try {
    hp::parse_group_file(text, "g.json");
  } catch (const hp::io_error& e) {
    return std::string(e.what()).substr(22);
  }
  return "read";
}

/// The file with the value at a JSON pointer replaced; a null takes it away.
std::string edited(const std::string& text, const std::string& at, const json& value) {
  json object = json::parse(text);
  object[json::json_pointer(at)] = value;
  return object.dump();
}

TEST(group_file, what_is_written_is_read) {
  const hp::group_tables all = hp::parse_group_file(own, "g.json");
  ASSERT_EQ(all.table.size, 1);
  EXPECT_EQ(all.table[0], expected());
}

TEST(group_file, modules_may_be_frozen) {
  const hp::group_tables all = hp::parse_group_file(edited(own, "/modules/0/frozen", true), "g.json");
  EXPECT_TRUE(all.table[0].placed[0].frozen);
  EXPECT_FALSE(all.table[0].placed[1].frozen);
  EXPECT_EQ(hp::parse_group_file(hp::json_text_of(all), "g.json"), all);
  EXPECT_EQ(complaint(edited(own, "/modules/1/frozen", 1)), "modules[1].frozen is 1; expected true or false");
}

TEST(group_file, nodes_stand_for_their_ranks) {
  const hp::group_tables all = hp::parse_group_file(by_node, "g.json");
  ASSERT_EQ(all.table.size, 1);
  hp::group_table t;
  t.world = 64;
  t.disjoint = true;
  hp::add_group(t, "decoder", hp::rank_range{16, 63});
  hp::add_group(t, "tower", hp::rank_range{0, 7}, hp::rank_range{8, 15});
  hp::add_module(t, "language", "decoder");
  hp::add_module(t, "vision", "tower");
  hp::add_module(t, "audio", "tower");
  EXPECT_EQ(all.table[0], t);
  const hp::group_tables ranks = hp::parse_group_file(
      R"({"process_groups": {"a": {"ranks": [0, "2-3"], "module": "m"}, "b": {"nodes": [1], "module": "n"}}})",
      "g.json");
  EXPECT_EQ(ranks.table[0].world, 4);
  EXPECT_EQ(hp::rank_at(ranks.table[0].group[0], 1), 2);
  EXPECT_EQ(hp::rank_at(ranks.table[0].group[1], 0), 1);
}

TEST(group_file, several_tables_have_names) {
  json both;
  both["tables"] = {json::parse(own), json::parse(by_node)};
  EXPECT_EQ(complaint(both.dump()), "tables[1].name is missing");
  both["tables"][1]["name"] = "train";
  EXPECT_EQ(complaint(both.dump()), "table train stands twice");
  both["tables"][1]["name"] = "serve";
  const hp::group_tables all = hp::parse_group_file(both.dump(), "g.json");
  ASSERT_EQ(all.table.size, 2);
  EXPECT_EQ(hp::find_table(all, "train"), 0);
  EXPECT_EQ(hp::find_table(all, "serve"), 1);
  EXPECT_EQ(hp::parse_group_file(hp::json_text_of(all), "g.json"), all);
  both["tables"][1]["process_groups"]["tower"]["nodes"] = {"2-3"};
  EXPECT_EQ(complaint(both.dump()),
            "table serve: groups decoder and tower share rank 16, and the table asks for disjoint groups");
  both["tables"][1]["process_groups"]["tower"]["nodes"] = {"0-1"};
  EXPECT_EQ(complaint(both.dump()), "read");
  both["world"] = 4;
  EXPECT_EQ(complaint(both.dump()), "world is 4; no field of a file of tables has that name");
}

TEST(group_file, files_are_read) {
  const io_test::workplace place;
  place.put("g.json", own);
  EXPECT_EQ(hp::read_group_file(place.path("g.json")).table[0], expected());
  EXPECT_THROW(hp::read_group_file(place.path("none.json")), hp::io_error);
}

TEST(group_file, each_mistake_is_one_line_with_its_place) {
  const std::string ranks = "; expected a list of numbers from 0 to 1073741823 and ranges as \"4-7\"";
  EXPECT_EQ(complaint(edited(own, "/groups/0/ranks/0", -4)), "groups[0].ranks[0] is -4" + ranks);
  EXPECT_EQ(complaint(edited(own, "/groups/1/ranks/1", 1.5)), "groups[1].ranks[1] is 1.5" + ranks);
  for (const char* text :
       {"", "-", "4", "-4", "4-", "4--7", "4-7-9", "0x1-3", " 1-2", "1-99999999999999999999", "0-1073741824"})
    EXPECT_EQ(complaint(edited(own, "/groups/1/ranks/1", text)), "groups[1].ranks[1] is " + json(text).dump() + ranks);
  for (const json& value : {json(1 << 30), json(18446744073709551615U), json(nullptr), json(true), json::array()})
    EXPECT_EQ(complaint(edited(own, "/groups/1/ranks/1", value)), "groups[1].ranks[1] is " + value.dump() + ranks);
  EXPECT_EQ(complaint(edited(own, "/groups/0/ranks", 3)), "groups[0].ranks is 3" + ranks);
  EXPECT_EQ(complaint(edited(own, "/groups/0/ranks", nullptr)), "groups[0].ranks is null" + ranks);
  EXPECT_EQ(complaint(edited(own, "/groups/0/ranks", json::array())),
            "table train: group tower has no ranks, and module vision is on it");
  EXPECT_EQ(complaint(edited(own, "/groups/0/ranks/0", "15-0")),
            "table train: group tower has ranks from 15 to 0, which runs backwards");
  EXPECT_EQ(complaint(edited(own, "/groups/0/ranks/0", "0-64")),
            "table train: rank 64 of group tower is outside the world of 64 ranks");
  EXPECT_EQ(complaint(edited(own, "/groups/0/ranks/1", 3)), "table train: rank 3 stands twice in group tower");
  EXPECT_EQ(complaint(edited(own, "/groups/0/ranks/0", "1-15")),
            "table train: rank 0 of the 64 is in no group, and the table asks for a complete one");
  EXPECT_EQ(complaint(edited(own, "/modules/2/group", "decodre")),
            "table train: module language is on group decodre, which does not exist: the nearest is decoder");
  EXPECT_EQ(complaint(edited(own, "/modules/2/group", "tower")),
            "table train: no module is on group decoder of 48 ranks");
  EXPECT_EQ(complaint(edited(own, "/modules/1/name", "vision")), "table train: module vision stands twice");
  EXPECT_EQ(complaint(edited(own, "/groups/1/name", "tower")), "table train: group tower stands twice");
  EXPECT_EQ(complaint(edited(own, "/groups/0/name", "")),
            "groups[0].name is \"\"; expected a text of 1 to 31 printable characters");
  EXPECT_EQ(complaint(edited(own, "/groups/0/name", nullptr)), "groups[0].name is missing");
  EXPECT_EQ(complaint(edited(own, "/modules/0/group", nullptr)), "modules[0].group is missing");
  EXPECT_EQ(complaint(edited(own, "/modules/2/operators/1", "")),
            "modules[2].operators[1] is \"\"; expected a text of 1 to 31 printable characters");
  EXPECT_EQ(complaint(edited(own, "/modules/2/operators", "layers.*")),
            "modules[2].operators is \"layers.*\"; expected a list of 1 to 4096 names");
  EXPECT_EQ(complaint(edited(own, "/groups", 1)), "groups is 1; expected a list of 1 to 4096 objects");
  EXPECT_EQ(complaint(edited(own, "/groups/0", 1)), "groups[0] is 1; expected an object");
  EXPECT_EQ(complaint(edited(own, "/world", 0)), "world is 0; expected a whole number from 1 to 1073741824");
  EXPECT_EQ(complaint(edited(own, "/world", 1e30)), "world is 1e+30; expected a whole number from 1 to 1073741824");
  EXPECT_EQ(complaint(edited(own, "/disjoint", 1)), "disjoint is 1; expected true or false");
  EXPECT_EQ(complaint(edited(own, "/disjiont", true)), "disjiont is true; no field of a table has that name");
  EXPECT_EQ(complaint(edited(own, "/groups/0/rank", 1)), "groups[0].rank is 1; no field of a group has that name");
  EXPECT_EQ(complaint(edited(own, "/modules/0/on", 1)), "modules[0].on is 1; no field of a module has that name");
  EXPECT_EQ(complaint(edited(own, "/process_groups", json::object())),
            "process_groups is {}; groups stand beside it; expected one of both");
  EXPECT_EQ(complaint("{}"), "groups is missing");
  EXPECT_EQ(complaint(R"({"tables": [{}]})"), "tables[0].name is missing");
}

TEST(group_file, mistakes_of_nodes_are_one_line_too) {
  const std::string nodes = "; expected a list of numbers from 0 to 134217727 and ranges as \"4-7\"";
  EXPECT_EQ(complaint(edited(by_node, "/process_groups/tower/nodes/1", 1 << 27)),
            "process_groups.tower.nodes[1] is 134217728" + nodes);
  EXPECT_EQ(complaint(edited(by_node, "/process_groups/tower/nodes/1", 0)), "rank 0 stands twice in group tower");
  EXPECT_EQ(complaint(edited(by_node, "/process_groups/tower/nodes", nullptr)),
            "process_groups.tower.nodes is missing");
  EXPECT_EQ(complaint(edited(by_node, "/process_groups/tower/nodes", json::array())),
            "group tower has no ranks, and module vision is on it");
  EXPECT_EQ(complaint(edited(by_node, "/process_groups/decoder/module", nullptr)),
            "no module is on group decoder of 48 ranks");
  EXPECT_EQ(complaint(edited(by_node, "/process_groups/tower/module", "x")),
            "process_groups.tower.module is \"x\"; modules stand beside it; expected one of both");
  EXPECT_EQ(complaint(edited(by_node, "/process_groups/tower/ranks", json::array({1}))),
            "process_groups.tower.ranks is [1]; nodes stand beside them; expected one of both");
  EXPECT_EQ(complaint(edited(by_node, "/process_groups/tower", 3)), "process_groups.tower is 3; expected an object");
  EXPECT_EQ(complaint(edited(by_node, "/process_groups", 3)), "process_groups is 3; expected an object");
  EXPECT_EQ(complaint(edited(by_node, "/process_groups", json::object())), "the table has no group");
  EXPECT_EQ(complaint(edited(by_node, "/process_groups", nullptr)), "process_groups is missing");
  EXPECT_EQ(complaint(edited(by_node, "/devices_per_node", 0)),
            "devices_per_node is 0; expected a whole number from 1 to 65536");
  EXPECT_EQ(complaint(R"({"process_groups": {"a\u0000b": {"nodes": [1], "module": "m"}}})"),
            "a group is called \"a\\u0000b\"; expected 1 to 31 printable characters");
  json many = json::parse(by_node);
  for (int i = 0; i < 4096; ++i)
    many["process_groups"]["tower"]["modules"][static_cast<std::size_t>(i)] = "m" + std::to_string(i);
  EXPECT_NE(complaint(many.dump()).find("; expected at most 4096 modules"), std::string::npos);
  for (int i = 0; i < 4096; ++i) many["process_groups"]["g" + std::to_string(i)] = 1;
  EXPECT_NE(complaint(many.dump()).find("; expected at most 4096 groups"), std::string::npos);
}

TEST(group_file, text_that_is_no_json_is_named_with_its_place) {
  EXPECT_EQ(complaint("[]"), "the file is no JSON object");
  EXPECT_EQ(complaint(R"({"world": })").rfind("the file is not JSON (byte 11", 0), 0U);
  EXPECT_EQ(complaint(R"({"world": 4, "world": 8})"), "the file names 'world' twice");
  EXPECT_EQ(complaint(R"({"process_groups": {"a": {}, "a": {}}})"), "the file names 'a' twice");
  EXPECT_EQ(complaint(std::string(10, '[')), "the file is nested deeper than 6 levels");
  EXPECT_EQ(complaint(std::string((1 << 20) + 1, ' ')), "the file is larger than 1048576 bytes");
}

TEST(group_file, random_tables_are_read_back) {
  std::mt19937 random(5);
  int several = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    hp::group_tables all;
    const int tables = 1 + static_cast<int>(random() % 3);
    several += tables > 1;
    for (int i = 0; i < tables; ++i) {
      hp::group_table t;
      if (tables > 1 || random() % 2 == 0) t.name = ("table \"" + std::to_string(i)).c_str();
      t.disjoint = random() % 2 == 0;
      const int groups = 1 + static_cast<int>(random() % 4);
      int next = 0;
      for (int g = 0; g < groups; ++g) {
        const std::string name = "group" + std::to_string(9 - g);
        hp::add_group(t, name.c_str());
        for (int r = static_cast<int>(random() % 3); r >= 0; --r) {
          next += static_cast<int>(random() % 1000);
          const int last = next + static_cast<int>(random() % 2 == 0 ? 0 : random() % 100'000);
          t.group[g].ranks.push({next, last});
          next = last + 1;
        }
        for (int m = static_cast<int>(random() % 3); m >= 0; --m) {
          hp::add_module(t, ("m" + std::to_string(m) + name).c_str(), name.c_str());
          for (int p = static_cast<int>(random() % 3); p > 0; --p) t.placed.last().operators.push("a\\?*.\"b\"");
        }
      }
      t.world = next + static_cast<int>(random() % 5);
      all.table.push(t);
    }
    ASSERT_TRUE(hp::check_tables(all).ok()) << hp::text_of_refusal(hp::check_tables(all), all);
    ASSERT_EQ(hp::parse_group_file(hp::json_text_of(all), "g.json"), all) << hp::json_text_of(all);
  }
  EXPECT_GT(several, 1000);
}

TEST(group_file, damaged_bytes_are_read_or_one_line) {
  std::mt19937 random(7);
  int refused = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    std::string text = random() % 2 == 0 ? own : by_node;
    for (int i = static_cast<int>(random() % 4); i >= 0; --i)
      text[random() % text.size()] = static_cast<char>(random());
    const std::string said = complaint(text);
    refused += said != "read";
    ASSERT_EQ(said.find('\n'), std::string::npos) << said;
  }
  EXPECT_GT(refused, 10'000);
}

}  // namespace
