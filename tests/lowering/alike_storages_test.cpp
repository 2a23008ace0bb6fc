// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/alike_storages.hpp>

#include <search/search_models.hpp>

#include <hyperparallel/strategy/named_strategies.hpp>

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace hp = hyperparallel;

namespace {

struct grouped {
  hp::sharded_program p;
  hp::storage_uses uses;
  hp::program_moves moves;
  hp::growing_array<hp::tier_pin> pin;
  hp::storage_groups groups;

  grouped(const searched::small_model& model, const char* strategy, int ranks, bool pinned)
      : p(hp::partition(model.build(), hp::strategy_called(strategy, ranks).strategy)),
        uses(p),
        moves(hp::kinds_of_moves(p)),
        pin(pins(p, pinned)),
        groups(p, uses, moves, pin) {}

  static hp::growing_array<hp::tier_pin> pins(const hp::sharded_program& p, bool pinned) {
    hp::growing_array<hp::tier_pin> pin;
    if (pinned) pin.resize(p.storage.size);
    for (int s = 0; s < pin.size; s += 3) pin[s] = {hp::offload_control::offload, 1};
    return pin;
  }

  /// By looking at every step: the blocks in which anything of the storage's tensors is used.
  std::set<int> blocks_of(int storage) const {
    std::set<int> blocks;
    for (int i = 0; i < p.step.size; ++i)
      hp::detail::visit_values(p, p.step[i], [&](int v, bool) {
        if (p.value[v].storage == storage) blocks.insert(uses.block_of[i]);
      });
    return blocks;
  }
};

const searched::small_model worlds[] = {{.layers = 5},
                                        {.layers = 4, .recomputed = true},
                                        {.layers = 2, .wide_layers = 3, .experts = 4, .micro_batches = 2}};

TEST(AlikeStorages, EveryStorageIsInAGroupOrTemporary) {
  for (const searched::small_model& model : worlds)
    for (const char* strategy : {"single", "zero3", "tp-sp"})
      for (const bool pinned : {false, true}) {
        const grouped g(model, strategy, std::string(strategy) == "single" ? 1 : 4, pinned);
        hp::extent_t in_groups = 0, resident = 0, grouped_homes = 0;
        int members = 0;
        for (const hp::alike_storages& one : g.groups.group) {
          in_groups += one.bytes;
          members += one.storages;
          EXPECT_LE(one.largest, one.bytes);
          EXPECT_EQ(one.largest, hp::detail::aligned(g.p.storage[one.storage].bytes));
          if (one.persistent) grouped_homes += one.bytes;
        }
        hp::extent_t expected = 0;
        int expected_members = 0;
        for (int s = 0; s < g.p.storage.size; ++s) {
          const bool of_one_block = g.blocks_of(s).size() == 1 && !g.uses.resident[s];
          const bool handed_on = g.uses.use[s].next_last >= 0 || g.uses.use[s].last_outside >= 0;
          if (g.uses.resident[s]) resident += hp::detail::aligned(g.p.storage[s].bytes);
          if (g.p.storage[s].bytes == 0 || g.blocks_of(s).empty() || (of_one_block && !handed_on)) continue;
          if (of_one_block && g.uses.use[s].segment < 0 && g.uses.use[s].next_last < 0) continue;
          expected += hp::detail::aligned(g.p.storage[s].bytes);
          ++expected_members;
        }
        EXPECT_EQ(in_groups, expected);
        EXPECT_EQ(members, expected_members);
        EXPECT_EQ(grouped_homes, resident);
      }
}

TEST(AlikeStorages, TemporariesAreTheMostAliveAtOnce) {
  for (const searched::small_model& model : worlds) {
    const grouped g(model, "single", 1, false);
    std::map<int, std::map<int, std::pair<int, int>>> life;  // of each block and storage: first and last step
    for (int i = 0; i < g.p.step.size; ++i)
      hp::detail::visit_values(g.p, g.p.step[i], [&](int v, bool) {
        const int s = g.p.value[v].storage;
        if (g.uses.resident[s] || g.blocks_of(s).size() > 1 || g.uses.use[s].next_last >= 0) return;
        if (g.uses.use[s].segment >= 0 && g.uses.use[s].last_outside >= 0) return;
        auto [at, fresh] = life[g.uses.block_of[i]].try_emplace(s, i, i);
        at->second.second = i;
      });
    for (int b = 0; b < g.uses.blocks.size; ++b) {
      hp::extent_t most = 0;
      for (int i = g.uses.blocks[b].begin; i < g.uses.blocks[b].end; ++i) {
        hp::extent_t alive = 0;
        for (const auto& [s, steps] : life[b])
          if (steps.first <= i && i <= steps.second) alive += hp::detail::aligned(g.p.storage[s].bytes);
        most = std::max(most, alive);
      }
      EXPECT_EQ(g.groups.temporaries[b], most) << b;
    }
  }
}

TEST(AlikeStorages, PinsPartGroups) {
  const grouped plain(worlds[0], "single", 1, false), pinned(worlds[0], "single", 1, true);
  EXPECT_GT(pinned.groups.group.size, plain.groups.group.size);
  for (const hp::alike_storages& one : pinned.groups.group) {
    const bool input = one.kind == hp::memory_class::inputs || !pinned.p.storage[one.storage].home;
    if (one.persistent && input) continue;
    EXPECT_EQ(one.pin, pinned.pin[one.storage]);
  }
}

}  // namespace
