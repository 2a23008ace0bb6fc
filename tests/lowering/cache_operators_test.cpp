// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/cache_operators.hpp>

#include <hyperparallel/strategy/address_plan.hpp>
#include <hyperparallel/strategy/check_program.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <lowering/random_cache_actions.hpp>
#include <support/tries.hpp>
#include <world/small_models.hpp>

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace {

namespace hp = hyperparallel;
using kind = hp::cache_action_kind;
using code = hp::cache_insertion_code;

/// What a program computes, told without storages: every value as a text of what made it.
std::map<std::string, int> meanings(const hp::sharded_program& p) {
  std::vector<std::string> of(static_cast<std::size_t>(p.value.size));
  std::map<std::string, int> all;
  const auto at = [&](int v) -> std::string& { return of[static_cast<std::size_t>(v)]; };
  for (int t = 0; t < p.home.size; ++t)
    if (p.home[t] >= 0) at(p.home[t]) = "home " + std::to_string(t);
  std::vector<int> held(static_cast<std::size_t>(p.storage.size), -1);
  for (int t = 0; t < p.home.size; ++t)
    if (p.home[t] >= 0) held[static_cast<std::size_t>(p.value[p.home[t]].storage)] = p.home[t];
  const auto write = [&](int v) { held[static_cast<std::size_t>(p.value[v].storage)] = v; };
  for (const hp::program_step& s : p.step) {
    std::string text;
    if (s.is_move) {
      const hp::program_move& m = p.move[s.index];
      if (m.detaches) continue;
      const bool copy = hp::cache_operator_of(p, m) != hp::cache_operator::within_tier;
      at(m.target) =
          copy ? at(m.source)
               : "move to " + std::to_string(hp::box_of(p, m.target, 1).dim[0].begin) + "(" + at(m.source) + ")";
      write(m.target);
      if (!copy) ++all[at(m.target)];
      continue;
    }
    const hp::program_compute& c = p.compute[s.index];
    const hp::graph_operator& o = p.graph.op[c.op];
    text = std::to_string(c.op) + "(";
    for (int i = 0; i < o.operand_count; ++i) text += at(c.operand[i]) + ",";
    text = std::to_string(std::hash<std::string>{}(text));
    for (int r = 0; r < o.result_count; ++r) {
      at(c.result[r]) = text + "." + std::to_string(r);
      write(c.result[r]);
    }
    all[text] = 1;  // once or again, it is the same
  }
  for (int t = 0; t < p.home.size; ++t)
    if (p.home[t] >= 0)
      ++all["left " + std::to_string(t) + " " + at(held[static_cast<std::size_t>(p.value[p.home[t]].storage)])];
  return all;
}

hp::sharded_program small_program(const char* strategy, int ranks) {
  const hp::graph g = small_models::decoder({.layers = 2});
  return hp::partition(g, hp::strategy_called(strategy, ranks).strategy);
}

TEST(CacheOperators, EveryStepReadsWhatItReadBefore) {
  const int cases = tested::tries(15, 2000);
  std::mt19937 random(7);
  for (const char* strategy : {"dp", "tp-sp", "zero3"}) {
    const hp::sharded_program p = small_program(strategy, 4);
    ASSERT_EQ(p.status.code, hp::strategy_code::ok) << strategy;
    const std::map<std::string, int> before = meanings(p);
    for (int i = 0; i < cases; ++i) {
      const programs::cache_plan plan = programs::random_cache_plan(p, random);
      hp::cache_insertion_status status;
      const hp::sharded_program with = hp::insert_cache_operators(p, plan.home_tier, plan.action, status);
      ASSERT_EQ(status.code, code::ok) << strategy << " " << i << ": " << to_text(status.code);
      const hp::program_status laws = hp::check_program(with);
      ASSERT_EQ(laws.code, hp::program_code::ok)
          << strategy << " " << i << ": " << name_of(laws.code) << " step " << laws.step;
      EXPECT_EQ(meanings(with), before) << strategy << " " << i;
      // No two blocks of a tier that are alive together overlap.
      const hp::program_addresses a = hp::plan_addresses(with);
      const hp::growing_array<hp::storage_lifetime> lives = hp::lifetimes_of(with);
      for (int x = 0; x < with.storage.size; ++x)
        for (int y = 0; y < x; ++y) {
          if (with.storage[x].tier != with.storage[y].tier) continue;
          if (!lives[x].always && lives[x].first > lives[x].last) continue;
          if (!lives[y].always && lives[y].first > lives[y].last) continue;
          if (!lives[x].always && !lives[y].always && !hp::detail::alive_together(lives[x], lives[y])) continue;
          EXPECT_TRUE(a.storage[x] + with.storage[x].bytes <= a.storage[y] ||
                      a.storage[y] + with.storage[y].bytes <= a.storage[x]);
        }
    }
  }
}

TEST(CacheOperators, WithoutActionsTheProgramIsWhatItWas) {
  const hp::sharded_program p = small_program("dp", 2);
  hp::growing_array<int> at_home;
  at_home.resize(p.storage.size, 0);
  hp::growing_array<hp::cache_action> steps;
  for (int i = 0; i < p.step.size; ++i) steps.push({kind::step, i});
  hp::cache_insertion_status status;
  const hp::sharded_program with = hp::insert_cache_operators(p, at_home, steps, status);
  EXPECT_EQ(status.code, code::ok);
  EXPECT_EQ(with.value.size, p.value.size);
  EXPECT_EQ(with.storage.size, p.storage.size);
  EXPECT_EQ(with.move.size, p.move.size);
  for (int v = 0; v < p.value.size; ++v) EXPECT_EQ(with.value[v].storage, p.value[v].storage);
}

// What a step has read for the last time is still there while the step runs: who is given its memory would wait.
TEST(CacheOperators, WhatIsReleasedLaterKeepsItsMemoryUpToThere) {
  const hp::sharded_program p = small_program("dp", 2);
  const hp::growing_array<hp::storage_lifetime> before = hp::lifetimes_of(p);
  hp::growing_array<int> at_home;
  at_home.resize(p.storage.size, 0);
  for (int later = 0; later < 3; ++later) {
    hp::growing_array<hp::cache_action> actions;
    for (int i = 0; i < p.step.size; ++i) {
      actions.push({kind::step, i});
      for (int s = 0; s < p.storage.size; ++s)
        if (before[s].last + later == i && before[s].first <= before[s].last) actions.push({kind::release, s});
    }
    hp::cache_insertion_status status;
    const hp::sharded_program with = hp::insert_cache_operators(p, at_home, actions, status);
    ASSERT_EQ(status.code, code::ok);
    EXPECT_EQ(with.step.size, p.step.size);
    const hp::growing_array<hp::storage_lifetime> lives = hp::lifetimes_of(with);
    for (int s = 0; s < p.storage.size; ++s) {
      EXPECT_EQ(lives[s].first, before[s].first);
      const bool grows = !before[s].always && before[s].last + later < p.step.size;
      EXPECT_EQ(lives[s].last, before[s].last + (grows ? later : 0));
    }
  }
}

TEST(CacheOperators, WhatAMoveStagesIsHeldToo) {
  const hp::sharded_program p = small_program("dp", 2);
  hp::growing_array<int> at_home;
  at_home.resize(p.storage.size, 0);
  hp::growing_array<hp::cache_action> actions;
  for (int i = 0; i < p.step.size; ++i) {
    actions.push({kind::step, i});
    if (i > 1 && p.step[i - 2].is_move) actions.push({kind::release, p.storage.size + p.step[i - 2].index});
  }
  hp::cache_insertion_status status;
  const hp::sharded_program with = hp::insert_cache_operators(p, at_home, actions, status);
  ASSERT_EQ(status.code, code::ok);
  const hp::program_moves moves = hp::kinds_of_moves(with);
  const auto block = hp::detail::temporaries_of(with, hp::lifetimes_of(with), moves);
  int held = 0;
  for (int i = 0; i + 2 < p.step.size; ++i) {
    if (!p.step[i].is_move) continue;
    ++held;
    EXPECT_EQ(with.move[p.step[i].index].held, i + 2);
    EXPECT_EQ(block[p.storage.size + p.step[i].index].last, i + 2);
  }
  EXPECT_GT(held, 0);
}

TEST(CacheOperators, WhatComesBeforeAPartBelongsToIt) {
  const hp::sharded_program p = small_program("dp", 2);
  int first = 0;  // of the update
  while (!hp::is_in(p.step[first].phase, hp::update_phases)) ++first;
  const int home = p.value[p.home[hp::find_tensor(p.graph, "tokens")]].storage;
  for (const bool enters : {false, true}) {
    hp::growing_array<int> home_tier;
    home_tier.resize(p.storage.size, 0);
    hp::growing_array<hp::cache_action> actions;
    for (int i = 0; i < p.step.size; ++i) {
      if (i == first) {
        if (enters) actions.push({kind::enter, i});
        actions.push({kind::store, home});
      }
      actions.push({kind::step, i});
    }
    hp::cache_insertion_status status;
    const hp::sharded_program with = hp::insert_cache_operators(p, home_tier, actions, status);
    ASSERT_EQ(status.code, code::ok);
    EXPECT_EQ(with.step.size, p.step.size + 1);
    EXPECT_EQ(with.step[first].phase, p.step[enters ? first : first - 1].phase);
  }
}

/// Leaving as much as possible leaves room for one step at a time, not more.
TEST(CacheOperators, WhatLeavesAtOnceNeedsLittleRoom) {
  const hp::sharded_program p = small_program("dp", 2);
  std::mt19937 random(3);
  const programs::cache_plan plan = programs::random_cache_plan(
      p, random, {.leaving = 100, .early = 0, .remote_homes = 100, .recomputed = 0, .tiers = 1});
  hp::cache_insertion_status status;
  const hp::sharded_program with = hp::insert_cache_operators(p, plan.home_tier, plan.action, status);
  ASSERT_EQ(status.code, code::ok);
  EXPECT_LT(2 * hp::alive_maximum(with), hp::alive_maximum(p));
  EXPECT_GT(hp::plan_addresses(with).high_water[1], 0);
}

TEST(CacheOperators, RefusesWhatCannotBe) {
  const hp::sharded_program p = small_program("dp", 2);
  int first = 0;
  while (p.step[first].is_move) ++first;
  const hp::program_compute& c = p.compute[p.step[first].index];
  const int read = p.value[c.operand[0]].storage, made = p.value[c.result[0]].storage;
  const auto refused = [&](int home_tier, std::initializer_list<hp::cache_action> actions) {
    hp::growing_array<int> homes;
    homes.resize(p.storage.size, 0);
    homes[read] = home_tier;
    hp::growing_array<hp::cache_action> all;
    for (const hp::cache_action& a : actions) all.push(a);
    hp::cache_insertion_status status;
    static_cast<void>(hp::insert_cache_operators(p, homes, all, status));
    return status.code;
  };
  EXPECT_EQ(refused(0, {{kind::step, first}}), code::ok);
  EXPECT_EQ(refused(1, {{kind::step, first}}), code::step_reads_what_is_not_here);
  EXPECT_EQ(refused(1, {{kind::prefetch, read}, {kind::step, first}}), code::ok);
  EXPECT_EQ(refused(1, {{kind::prefetch, read}, {kind::prefetch, read}}), code::prefetch_of_what_is_here);
  EXPECT_EQ(refused(0, {{kind::prefetch, read}}), code::prefetch_without_a_copy);
  EXPECT_EQ(refused(0, {{kind::step, first}, {kind::detach, made}}), code::detach_without_a_copy);
  EXPECT_EQ(refused(0, {{kind::store, made, 1}}), code::store_of_what_is_not_here);
  EXPECT_EQ(refused(0, {{kind::store, read, 1}, {kind::detach, read}}), code::home_is_not_back);
  EXPECT_EQ(refused(0, {{kind::store, read, 1}, {kind::detach, read}, {kind::prefetch, read}}), code::ok);
  EXPECT_EQ(refused(0, {{kind::recompute, made}}), code::nothing_computes_it);
}

}  // namespace
