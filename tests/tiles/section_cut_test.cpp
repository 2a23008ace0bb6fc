// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/tiles/section_cut.hpp>

#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <models/trained_models.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

namespace hp = hyperparallel;
using hp::detail::dim_set;

hp::sharded_program program_of(const char* strategy, int ranks) {
  return hp::partition(programs::moe_graph({.unrolled = true}), hp::strategy_called(strategy, ranks).strategy);
}

/// Runs of neighbouring steps of a phase, and the dims that all of them may be cut along: every such run of up to `longest`.
template <class Visit>
void visit_sections(const hp::sharded_program& p, const hp::detail::section_cutter& cutter, int longest,
                    const Visit& visit) {
  for (int first = 0; first < p.step.size; ++first) {
    hp::growing_array<int> steps;
    dim_set common;
    for (int i = first; i < p.step.size && i < first + longest && p.step[i].phase == p.step[first].phase; ++i) {
      const dim_set own = cutter.dims_of(p.step[i]);
      common = steps.empty() ? own : common.common_with(own);
      if (common.count == 0) break;
      steps.push(i);
      visit(steps, common);
    }
  }
}

// Every section of every strategy: whole shards on all devices, at most so many tiles, the inner cut only where results have
// its dim, and a move beside an operator.
TEST(SectionCut, CutsAreWholeShardsOfWhatTheStepsHave) {
  int cuts = 0, inner_ones = 0;
  for (int s = 0; s < hp::named_strategy_count; ++s)
    for (const int most : {2, 5, 12}) {
      const hp::sharded_program p = program_of(hp::named_strategy_at(s).name, 4);
      if (p.status.code != hp::strategy_code::ok) continue;
      SCOPED_TRACE(hp::named_strategy_at(s).name);
      const hp::program_moves moves = hp::kinds_of_moves(p);
      const hp::detail::section_cutter cutter(p, moves, most);
      visit_sections(p, cutter, 6, [&](const hp::growing_array<int>& steps, const dim_set& common) {
        const hp::step_tile outer = cutter.outer_cut(steps, common);
        if (outer.dim < 0) return;
        ++cuts;
        bool has_move = false, has_operator = false;
        hp::growing_array<hp::detail::section_step> section;
        for (const int i : steps) {
          (p.step[i].is_move ? has_move : has_operator) = true;
          section.push({i, {}, 1});
          section.last().cut.dim = 0;
        }
        EXPECT_TRUE(has_move && has_operator);
        EXPECT_TRUE(common.has(outer.dim));
        cutter.cut(section, steps, outer);
        for (const hp::detail::section_step& one : section) {
          EXPECT_EQ(hp::detail::outer_of(one.cut), outer);
          EXPECT_LE(one.cut.count, most);
          EXPECT_EQ(one.cut.shard % hp::detail::outer_of(one.cut).count, 0);
          inner_ones += one.cut.inner.dim >= 0;
          EXPECT_TRUE(one.cut.inner.dim < 0 || cutter.dims_of(p.step[one.step]).has(one.cut.inner.dim));
          hp::detail::visit_values(p, p.step[one.step], [&](int v, bool writes) {
            EXPECT_TRUE(hp::detail::holds_whole_shards(p, v, one.cut));
            EXPECT_TRUE(!writes || hp::detail::tile_in(p.graph.tensor[p.value[v].tensor], one.cut) == one.cut);
          });
        }
      });
    }
  EXPECT_GT(cuts, 300);
  EXPECT_GT(inner_ones, 200);
}

// Of two dims the one that reads least again: experts, not slots, for their weights lack the slots.
TEST(SectionCut, ExpertsComeBeforeTheirSlots) {
  const hp::sharded_program p = program_of("ep", 2);
  const hp::program_moves moves = hp::kinds_of_moves(p);
  const hp::detail::section_cutter cutter(p, moves, 12);
  int products = 0;
  visit_sections(p, cutter, 3, [&](const hp::growing_array<int>& steps, const dim_set& common) {
    const hp::program_step& last = p.step[steps.last()];
    if (last.is_move || last.phase != hp::graph_phase::forward || !p.step[steps[0]].is_move) return;
    const std::string name = p.graph.name_of_op(p.compute[last.index].op);
    if (name.find("experts.gate") == std::string::npos) return;
    const hp::step_tile cut = cutter.outer_cut(steps, common);
    if (cut.dim < 0) return;
    ++products;
    EXPECT_STREQ(p.graph.name_of_dim(cut.dim), "experts");
  });
  EXPECT_GT(products, 0);
}

TEST(SectionCut, CommonDimsAreInBothSets) {
  dim_set a, b;
  for (const int d : {3, 5, 40}) a.add(d);
  for (const int d : {40, 2, 3}) b.add(d);
  const dim_set both = a.common_with(b);
  EXPECT_EQ(both.count, 2);
  EXPECT_TRUE(both.has(3) && both.has(40) && !both.has(5) && !both.has(2));
}

}  // namespace
