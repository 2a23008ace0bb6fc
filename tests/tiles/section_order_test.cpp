// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/tiles/section_order.hpp>

#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>
#include <hyperparallel/tiles/tile_program.hpp>

#include <models/trained_models.hpp>
#include <support/tries.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace {

namespace hp = hyperparallel;

hp::sharded_program program_of(const char* strategy, int ranks) {
  return hp::partition(programs::moe_graph({.unrolled = true}), hp::strategy_called(strategy, ranks).strategy);
}
hp::detail::tiled_program tiled(const hp::sharded_program& p, const hp::growing_array<hp::extent_t>& duration,
                                const char* pattern = "*.experts.*") {
  hp::tile_options o;
  o.operators.push(pattern);
  o.duration = duration;
  return hp::detail::tile_program(p, hp::kinds_of_moves(p), o);
}
std::string name_of(const hp::sharded_program& p, const hp::program_step& s) {
  const std::string name =
      s.is_move ? std::string("move of ") + p.graph.name_of_tensor(p.value[p.move[s.index].target].tensor)
                : std::string(p.graph.name_of_op(p.compute[s.index].op));
  return name + (s.tile.dim >= 0 ? " " + std::to_string(s.tile.index) : std::string());
}
std::vector<std::string> names_of(const hp::sharded_program& p, hp::graph_phase phase) {
  std::vector<std::string> all;
  for (const hp::program_step& s : p.step)
    if (s.phase == phase) all.push_back(name_of(p, s));
  return all;
}
std::ptrdiff_t at(const std::vector<std::string>& all, const std::string& name) {
  const auto found = std::find(all.begin(), all.end(), name);
  EXPECT_NE(found, all.end()) << name;
  return found - all.begin();
}

/// When each step of an order ends that runs on a queue of operators and one of moves, as whole tiles of what it follows.
struct played {
  std::vector<hp::extent_t> ready, begin, end;
  hp::extent_t makespan = 0;
};
played play(const hp::sharded_program& p, const hp::growing_array<hp::program_step>& order,
            const hp::growing_array<hp::extent_t>& duration) {
  const auto key = [](const hp::program_step& s) { return 2 * s.index + (s.is_move ? 1 : 0); };
  std::vector<hp::extent_t> of(static_cast<std::size_t>(2 * (p.step.size + 1)));
  for (int i = 0; i < p.step.size; ++i) of.at(static_cast<std::size_t>(key(p.step[i]))) = duration[i];
  played out;
  hp::extent_t free[2] = {0, 0};
  for (int b = 0; b < order.size; ++b) {
    const hp::program_step& s = order[b];
    hp::extent_t ready = 0;
    for (int a = 0; a < b; ++a) {
      const hp::program_step& before = order[a];
      hp::detail::visit_values(p, s, [&](int v, bool writes) {
        hp::detail::visit_values(p, before, [&](int w, bool wrote) {
          if ((!writes && !wrote) || p.value[v].storage != p.value[w].storage) return;
          const auto cut = [&](int value) {
            return hp::detail::place_of_dim(p.graph.tensor[p.value[value].tensor], s.tile.dim) >= 0;
          };
          const hp::detail::tile_span met = hp::detail::tiles_met(before.tile, s.tile);
          const bool meets = met.begin <= before.tile.index && before.tile.index < met.end;
          if (s.tile.dim >= 0 && !meets && cut(v) && cut(w)) return;
          ready = std::max(ready, out.end[static_cast<std::size_t>(a)]);
        });
      });
    }
    const hp::extent_t time = of[static_cast<std::size_t>(key(s))] / s.tile.count;
    const hp::extent_t begin = std::max(ready, free[s.is_move]);
    out.ready.push_back(ready);
    out.begin.push_back(begin);
    out.end.push_back(begin + time);
    free[s.is_move] = begin + time;
    out.makespan = std::max(out.makespan, begin + time);
  }
  return out;
}

hp::growing_array<hp::extent_t> alike(const hp::sharded_program& p, hp::extent_t operators, hp::extent_t moves) {
  hp::growing_array<hp::extent_t> d;
  for (const hp::program_step& s : p.step) d.push(s.is_move ? moves : operators);
  return d;
}

// While a tile's results are on their way the next tile is computed, and what nobody waits for comes last.
TEST(SectionOrder, WeightGradientsWaitForTheTilesOfMoves) {
  const hp::sharded_program p = program_of("ep", 4);
  const std::vector<std::string> order = names_of(tiled(p, alike(p, 6000, 600)).program, hp::graph_phase::backward);
  const std::string rows = "gradient(layers.1.moe.dispatch) ", weight = "gradient(layers.1.moe.experts.down.weight) ";
  EXPECT_LT(at(order, rows + "0"), at(order, rows + "1"));
  for (int k = 0; k < 6; ++k) EXPECT_LT(at(order, rows + "5"), at(order, weight + std::to_string(k)));
}

// A first tile that is long on its way: what waits for nothing of it is computed meanwhile.
TEST(SectionOrder, OtherStepsFillTheTimeOfAMove) {
  const hp::sharded_program p = program_of("ep", 4);
  hp::growing_array<hp::extent_t> d = alike(p, 600, 60);
  const played quick = play(p, tiled(p, d).program.step, d), untiled = play(p, p.step, d);
  EXPECT_LT(quick.makespan, untiled.makespan);
  d = alike(p, 600, 3000);
  const hp::detail::tiled_program told = tiled(p, d), untold = tiled(p, alike(p, 600, 1));
  EXPECT_LE(play(p, told.program.step, d).makespan, play(p, untold.program.step, d).makespan);
}

// The first section, where both queues begin empty: no operator waits while a later one of its section could run.
TEST(SectionOrder, OperatorsNeverWaitBesideOneThatCouldRun) {
  std::mt19937 random(26);
  int waits = 0;
  for (const char* const strategy : {"ep", "ep-tp", "dp-ep", "2d"})
    for (int round = 0; round < tested::tries(25, 2000); ++round) {
      const hp::sharded_program p = program_of(strategy, 4);
      hp::growing_array<hp::extent_t> d;
      for (int i = 0; i < p.step.size; ++i) d.push((1 + static_cast<int>(random() % 1000)) * 60);
      const hp::detail::tiled_program t = tiled(p, d, "layers.0.moe.experts.*");
      ASSERT_GT(t.sections, 0);
      const played run = play(p, t.program.step, d);
      const auto is_in_first = [&](std::size_t i) {
        return t.program.step[static_cast<int>(i)].phase == hp::graph_phase::forward;
      };
      hp::extent_t free = 0;
      for (std::size_t i = 0; is_in_first(i); ++i) {
        if (t.program.step[static_cast<int>(i)].is_move) continue;
        const bool waited = run.begin[i] > free;
        waits += waited;
        for (std::size_t k = i + 1; waited && is_in_first(k); ++k) {
          const hp::program_step& other = t.program.step[static_cast<int>(k)];
          EXPECT_TRUE(other.is_move || run.ready[k] >= run.begin[i]) << strategy << ": " << name_of(p, other);
        }
        free = run.end[i];
      }
    }
  EXPECT_GT(waits, 100);
}

}  // namespace
