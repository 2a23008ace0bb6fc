// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/groups/check_groups.hpp>

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace hp = hyperparallel;
using code = hp::group_code;

namespace {

constexpr hp::group_table omni() {
  hp::group_table t;
  t.world = 16;
  t.disjoint = t.complete = true;
  hp::add_group(t, "tower", hp::rank_range{0, 3}, 9);
  hp::add_group(t, "decoder", 15, hp::rank_range{10, 14}, hp::rank_range{4, 8});
  hp::add_module(t, "vision", "tower");
  hp::add_module(t, "audio", "tower", "audio.*");
  hp::add_module(t, "language", "decoder", "layers.*");
  return t;
}
static_assert(hp::check_groups(omni()).ok());

/// Mistakes, one each, and what is said of them.
struct mistake {
  void (*make)(hp::group_table&);
  hp::group_status expected;
};
constexpr mistake mistakes[] = {
    {[](hp::group_table& t) { t.world = 0; }, {.code = code::world_cannot_be, .given = 0}},
    {[](hp::group_table& t) { t.world = -5; }, {.code = code::world_cannot_be, .given = -5}},
    {[](hp::group_table& t) { t.world = (1 << 30) + 1; }, {.code = code::world_cannot_be, .given = (1 << 30) + 1}},
    {[](hp::group_table& t) { t.group.clear(); }, {.code = code::table_has_no_group}},
    {[](hp::group_table& t) { t.group[1].name = ""; }, {.code = code::group_name_is_empty_or_too_long, .group = 1}},
    {[](hp::group_table& t) { t.group[1].name = "tower"; }, {.code = code::group_stands_twice, .group = 1, .other = 0}},
    {[](hp::group_table& t) { t.group[1].ranks.clear(); }, {.code = code::group_has_no_ranks, .group = 1, .module = 2}},
    {[](hp::group_table& t) { hp::add_group(t, "idle"); }, {.code = code::group_has_no_ranks, .group = 2}},
    {[](hp::group_table& t) { t.group[0].ranks[0] = {3, 0}; },
     {.code = code::ranks_run_backwards, .group = 0, .rank = 3, .given = 0}},
    {[](hp::group_table& t) { t.group[0].ranks[0] = {-1, 3}; },
     {.code = code::rank_is_outside_the_world, .group = 0, .rank = -1}},
    {[](hp::group_table& t) { t.group[1].ranks[0] = 16; },
     {.code = code::rank_is_outside_the_world, .group = 1, .rank = 16}},
    {[](hp::group_table& t) { t.group[1].ranks[1] = {10, 2147483647}; },
     {.code = code::rank_is_outside_the_world, .group = 1, .rank = 2147483647}},
    {[](hp::group_table& t) { t.placed[1].name = ""; }, {.code = code::module_name_is_empty_or_too_long, .module = 1}},
    {[](hp::group_table& t) { t.placed[2].name = "vision"; },
     {.code = code::module_stands_twice, .module = 2, .other = 0}},
    {[](hp::group_table& t) { t.placed[2].operators.push(""); },
     {.code = code::pattern_is_empty_or_too_long, .module = 2, .given = 1}},
    {[](hp::group_table& t) { t.placed[2].group = "decodre"; },
     {.code = code::module_names_no_group, .group = 1, .module = 2}},
    {[](hp::group_table& t) { t.placed[2].group = "tower"; }, {.code = code::group_has_no_module, .group = 1}},
    {[](hp::group_table& t) { t.group[0].ranks.push(2); }, {.code = code::rank_stands_twice, .group = 0, .rank = 2}},
    {[](hp::group_table& t) { t.group[0].ranks.push({12, 14}); },
     {.code = code::groups_share_a_rank, .group = 0, .other = 1, .rank = 12}},
    {[](hp::group_table& t) { t.group[0].ranks.resize(1); }, {.code = code::rank_has_no_group, .rank = 9}},
    {[](hp::group_table& t) { t.world = 17; }, {.code = code::rank_has_no_group, .rank = 16}},
};
constexpr bool says(int i) {
  hp::group_table t = omni();
  mistakes[i].make(t);
  return hp::check_groups(t) == mistakes[i].expected;
}
template <int... I>
constexpr int first_unsaid(std::integer_sequence<int, I...>) {
  int first = -1;
  ((first < 0 && !says(I) ? void(first = I) : void()), ...);
  return first;
}
constexpr int mistake_count = static_cast<int>(std::size(mistakes));
static_assert(first_unsaid(std::make_integer_sequence<int, mistake_count>()) == -1);

TEST(check_groups, each_mistake_is_named) {
  for (int i = 0; i < mistake_count; ++i) EXPECT_TRUE(says(i)) << i << " " << hp::name_of(mistakes[i].expected.code);
}

TEST(check_groups, groups_may_share_and_ranks_be_idle_where_nothing_else_is_asked) {
  hp::group_table t = omni();
  t.group[0].ranks.push({10, 14});
  EXPECT_EQ(hp::check_groups(t).code, code::groups_share_a_rank);
  t.disjoint = false;
  EXPECT_TRUE(hp::check_groups(t).ok());
  t.group[1].ranks.resize(1);
  EXPECT_EQ(hp::check_groups(t), (hp::group_status{.code = code::rank_has_no_group, .rank = 4}));
  t.complete = false;
  EXPECT_TRUE(hp::check_groups(t).ok());
}

/// Rank by rank.
hp::group_status naive_ranks(const hp::group_table& t) {
  std::vector<std::vector<int>> owners(static_cast<std::size_t>(t.world));
  for (int g = 0; g < t.group.size; ++g)
    for (const hp::rank_range& r : t.group[g].ranks)
      for (int rank = r.first; rank <= r.last; ++rank) owners[static_cast<std::size_t>(rank)].push_back(g);
  hp::group_status twice, shared, none;
  for (int rank = t.world - 1; rank >= 0; --rank) {
    const std::vector<int>& mine = owners[static_cast<std::size_t>(rank)];
    for (std::size_t i = 1; i < mine.size(); ++i) {
      if (mine[i] == mine[i - 1]) twice = {.code = code::rank_stands_twice, .rank = rank};
      shared = {.code = code::groups_share_a_rank, .rank = rank};
    }
    if (mine.empty()) none = {.code = code::rank_has_no_group, .rank = rank};
  }
  if (!twice.ok()) return twice;
  if (t.disjoint && t.complete && !shared.ok() && !none.ok()) return shared.rank < none.rank ? shared : none;
  if (t.disjoint && !shared.ok()) return shared;
  return t.complete ? none : hp::group_status{};
}

TEST(check_groups, ranks_are_as_a_walk_over_all_of_them_finds) {
  std::mt19937 random(3);
  int seen[32] = {};
  for (int trial = 0; trial < 20'000; ++trial) {
    hp::group_table t;
    t.world = 1 + static_cast<int>(random() % 12);
    t.disjoint = random() % 2 == 0;
    t.complete = random() % 2 == 0;
    const char* const names[] = {"a", "b", "c"};
    const int groups = 1 + static_cast<int>(random() % 3);
    for (int g = 0; g < groups; ++g) {
      hp::add_group(t, names[g]);
      hp::add_module(t, names[g], names[g]);
      for (int i = static_cast<int>(random() % 3); i >= 0; --i) {
        const int first = static_cast<int>(random()) & 7, span = static_cast<int>(random() % 4);
        const int low = first % t.world;
        t.group[g].ranks.push({low, low + span < t.world ? low + span : t.world - 1});
      }
    }
    const hp::group_status expected = naive_ranks(t), found = hp::check_groups(t);
    ASSERT_EQ(found.code, expected.code) << trial;
    ASSERT_EQ(found.rank, expected.rank) << trial;
    ++seen[static_cast<int>(found.code)];
    if (found.code == code::groups_share_a_rank) {
      ASSERT_NE(found.group, found.other);
      ASSERT_GE(hp::position_in(t.group[found.group], found.rank), 0);
      ASSERT_GE(hp::position_in(t.group[found.other], found.rank), 0);
    }
  }
  for (const code c : {code::ok, code::rank_stands_twice, code::groups_share_a_rank, code::rank_has_no_group})
    EXPECT_GT(seen[static_cast<int>(c)], 500) << hp::name_of(c);
}

TEST(check_groups, tables_have_names_of_their_own) {
  hp::group_tables all;
  all.table.push(omni());
  all.table.push(omni());
  all.table[0].name = "train";
  EXPECT_EQ(hp::check_tables(all), hp::group_status{});
  all.table[1].name = "train";
  EXPECT_EQ(hp::check_tables(all), (hp::group_status{.code = code::table_stands_twice, .other = 0, .table = 1}));
  all.table[1].name = "serve";
  EXPECT_EQ(hp::check_tables(all), hp::group_status{});
  all.table[1].world = 4;
  EXPECT_EQ(hp::check_tables(all),
            (hp::group_status{.code = code::rank_is_outside_the_world, .group = 0, .rank = 9, .table = 1}));
}

TEST(check_groups, codes_have_names) {
  EXPECT_STREQ(hp::name_of(code::ok), "ok");
  EXPECT_STREQ(hp::name_of(code::module_names_no_group), "module_names_no_group");
  EXPECT_STREQ(hp::name_of(code::operator_has_two_modules), "operator_has_two_modules");
}

}  // namespace
