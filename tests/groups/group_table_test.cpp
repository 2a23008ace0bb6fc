// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/groups/group_table.hpp>

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace hp = hyperparallel;

namespace {

constexpr hp::group_table omni() {
  hp::group_table t;
  t.world = 16;
  hp::add_group(t, "tower", hp::rank_range{0, 3}, 9);
  hp::add_group(t, "decoder", 15, hp::rank_range{10, 13});
  hp::add_module(t, "vision", "tower");
  hp::add_module(t, "audio", "tower", "audio.*", "wave?");
  hp::add_module(t, "language", "decoder", "layers.*");
  return t;
}

static_assert(omni() == omni());
static_assert(hp::find_group(omni(), "decoder") == 1 && hp::find_group(omni(), "deco") == -1);
static_assert(hp::find_module(omni(), "audio") == 1 && hp::find_module(omni(), "tower") == -1);
static_assert(hp::rank_count(omni().group[0]) == 5);
static_assert(hp::rank_at(omni().group[1], 0) == 15 && hp::rank_at(omni().group[1], 4) == 13);
static_assert(hp::position_in(omni().group[1], 10) == 1 && hp::position_in(omni().group[1], 14) == -1);

constexpr bool has(const char* module, const char* name) {
  const hp::group_table t = omni();
  return hp::detail::has_operator(t.placed[hp::find_module(t, module)], name);
}
static_assert(has("vision", "vision") && has("vision", "vision.patch") && !has("vision", "vision2.patch"));
static_assert(!has("vision", "visio") && !has("vision", "my.vision.patch"));
static_assert(has("audio", "audio.mel") && has("audio", "wave1") &&
              !has("audio", "audio"));  // patterns stand in place of the name

static_assert([] {
  hp::group_table t;
  hp::add_group(t, "a name of more than thirty-one characters", 1);
  hp::add_module(t, "m", "a name of more than thirty-one characters", "a pattern of more than thirty-one characters");
  return t.group[0].name == hp::short_text("") && t.placed[0].group == hp::short_text("") &&
         t.placed[0].operators[0] == hp::short_text("");
}());

TEST(group_table, positions_and_ranks_are_inverse) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    hp::process_group g;
    std::set<int> seen;
    for (int i = static_cast<int>(random() % 5); i >= 0; --i) {
      const int first = static_cast<int>(random() % 40), last = first + static_cast<int>(random() % 4);
      bool fresh = true;
      for (int r = first; r <= last; ++r) fresh = fresh && !seen.contains(r);
      if (!fresh) continue;
      for (int r = first; r <= last; ++r) seen.insert(r);
      g.ranks.push({first, last});
    }
    const hp::growing_array<int> all = hp::ranks_of(g);
    ASSERT_EQ(all.size, hp::rank_count(g));
    ASSERT_EQ(std::set<int>(all.begin(), all.end()), seen);
    for (int p = 0; p < all.size; ++p) {
      ASSERT_EQ(hp::rank_at(g, p), all[p]);
      ASSERT_EQ(hp::position_in(g, all[p]), p);
    }
    for (int r = 0; r < 45; ++r) ASSERT_EQ(hp::position_in(g, r) >= 0, seen.contains(r));
  }
}

TEST(group_table, a_range_takes_the_memory_of_an_entry) {
  hp::process_group g{"all", {}};
  g.ranks.push({0, (1 << 30) - 1});
  EXPECT_EQ(hp::rank_count(g), 1 << 30);
  EXPECT_EQ(hp::rank_at(g, 123'456'789), 123'456'789);
  EXPECT_EQ(hp::position_in(g, 987'654'321), 987'654'321);
}

TEST(group_table, its_ranks_are_those_of_a_mesh) {
  const hp::group_table t = omni();
  const hp::growing_array<int> ranks = hp::ranks_of(t.group[1]);
  hp::mesh_shape line{1, {5}};
  EXPECT_EQ(hp::check_rank_list(line, {ranks.size, ranks.item}).code, hp::rank_list_code::ok);
}

TEST(group_table, tables_are_found_by_name) {
  hp::group_tables all;
  all.table.push(omni());
  all.table.push(omni());
  all.table[0].name = "train";
  all.table[1].name = "serve";
  EXPECT_EQ(hp::find_table(all, "serve"), 1);
  EXPECT_EQ(hp::find_table(all, "tune"), -1);
}

}  // namespace
