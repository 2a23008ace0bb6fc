// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/search/group_search.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <hyperparallel/hardware/gpu_presets.hpp>

#include "../../examples/omni_modal/placements.hpp"
#include "models/omni_model.hpp"
#include "support/tries.hpp"

namespace {

namespace hp = hyperparallel;

struct priced_plan {
  hp::extent_t makespan = 0, memory = 0;
};

/// Every plan by itself: the group of each module by a counter, ranks and strategies by others.
std::vector<priced_plan> every_plan(const hp::graph& g, const hp::group_table& modules, int devices,
                                    const hp::interconnect& links, const std::vector<std::string>& strategies) {
  std::vector<priced_plan> all;
  const int count = modules.placed.size;
  std::vector<int> group_of(static_cast<std::size_t>(count), 0);
  const auto play = [&](const std::vector<int>& ranks, const std::vector<std::string>& names) {
    hp::submodel_plan plan;
    plan.table.world = 0;
    for (std::size_t k = 0; k < ranks.size(); ++k) {
      hp::add_group(plan.table, ("g" + std::to_string(k)).c_str(),
                    hp::rank_range{plan.table.world, plan.table.world + ranks[k] - 1});
      plan.table.world += ranks[k];
      plan.strategy.push(hp::strategy_called(names[k].c_str(), ranks[k]).strategy);
    }
    for (int m = 0; m < count; ++m) {
      plan.table.placed.push(modules.placed[m]);
      plan.table.placed[m].group =
          hp::short_text(("g" + std::to_string(group_of[static_cast<std::size_t>(m)])).c_str());
    }
    const hp::submodel_program p = hp::partition(g, plan);
    if (!p.ok()) return;
    const hp::lowered_program l = hp::lower_training(p.program, {.topology = links});
    const hp::run_times t = hp::simulate(l, hp::h100::device);
    EXPECT_TRUE(t.ok());
    all.push_back({t.makespan, l.addresses.high_water[0]});
  };
  const auto choose = [&](auto&& self, std::vector<int>& ranks, std::vector<std::string>& names, int groups,
                          int left) -> void {
    if (static_cast<int>(ranks.size()) == groups) return play(ranks, names);
    for (int n = 1; n <= left; ++n)
      for (const std::string& s : strategies) {
        if (n == 1 && s != strategies[0]) continue;
        ranks.push_back(n);
        names.push_back(n == 1 ? "single" : s);
        self(self, ranks, names, groups, left - n);
        ranks.pop_back();
        names.pop_back();
      }
  };
  const auto partitions = [&](auto&& self, int m, int groups) -> void {
    if (m == count) {
      std::vector<int> ranks;
      std::vector<std::string> names;
      return choose(choose, ranks, names, groups, devices);
    }
    for (int k = 0; k <= groups; ++k) {
      group_of[static_cast<std::size_t>(m)] = k;
      self(self, m + 1, std::max(groups, k + 1));
    }
  };
  partitions(partitions, 0, 0);
  return all;
}

hp::group_table modules_of_omni(std::mt19937* random = nullptr) {
  hp::group_table t;
  for (const char* name : {"text", "vision", "fusion"}) hp::add_module(t, name, "all");
  if (random != nullptr && (*random)() % 2 == 0) t.placed[1].frozen = true;
  return t;
}

TEST(group_search, is_the_best_of_all_plans) {
  std::mt19937 random(11);
  const hp::interconnect links = hp::on_topology(hp::h100::topology);
  hp::extent_t plans = 0, pruned = 0;
  for (int i = 0; i < tested::tries(6, 60); ++i) {
    const hp::group_table modules = modules_of_omni(&random);
    hp::model_builder m({.unrolled = true});
    programs::build_omni(m, {.tower_layers = 1 + static_cast<int>(random() % 3), .type = hp::f32});
    if (modules.placed[1].frozen) {
      ASSERT_TRUE(hp::freeze_modules(m.graph, hp::detail::on_one_group(modules, 1)).ok());
    }
    const hp::graph g =
        programs::trained(m, {.unrolled = true, .micro_batches = 1 + static_cast<int>(random() % 3), .type = hp::f32});
    const int devices = 2 + static_cast<int>(random() % 3);
    hp::group_limits limits{.played = 1 << 20};
    const std::vector<std::string> names =
        random() % 2 == 0 ? std::vector<std::string>{"zero1", "tp"} : std::vector<std::string>{"dp", "zero3", "tp"};
    for (const std::string& s : names) limits.strategies.push(hp::short_text(s.c_str()));
    const std::vector<priced_plan> all = every_plan(g, modules, devices, links, names);
    // Without and with a memory that the fastest plan does not fit.
    for (const bool tight : {false, true}) {
      if (tight) {
        const auto fastest = std::min_element(all.begin(), all.end(), [](const priced_plan& a, const priced_plan& b) {
          return a.makespan < b.makespan || (a.makespan == b.makespan && a.memory < b.memory);
        });
        limits.memory = fastest->memory - 1;
      }
      hp::extent_t least = hp::longest_time;
      for (const priced_plan& p : all)
        if (!tight || p.memory <= limits.memory) least = std::min(least, p.makespan);
      const hp::group_search r = hp::search_groups(g, modules, devices, hp::h100::device, links, limits);
      EXPECT_TRUE(r.certificate.complete);
      EXPECT_EQ(r.certificate.law_breaks, 0);
      EXPECT_EQ(r.certificate.partitions, 5);
      EXPECT_EQ(r.certificate.plans, static_cast<hp::extent_t>(all.size()));
      EXPECT_EQ(r.certificate.refused, 0);
      ASSERT_EQ(r.ok(), least < hp::longest_time);
      if (!r.ok()) continue;
      EXPECT_EQ(r.best[0].times.makespan, least);
      EXPECT_EQ(r.certificate.lower_bound, least);
      EXPECT_EQ(r.certificate.by_bound + r.certificate.played, r.certificate.plans);
      for (const hp::found_groups& f : r.best) {
        EXPECT_LE(f.bound, f.times.makespan);
        EXPECT_TRUE(hp::check_groups(f.plan.table).ok());
      }
      plans += r.certificate.plans;
      pruned += r.certificate.by_bound;
    }
  }
  EXPECT_GT(pruned * 4, plans) << "more than a quarter is passed over, of steps that hardly compute";
}

TEST(group_search, a_search_that_is_ended_says_what_it_knows) {
  const hp::graph g = programs::omni_graph({.micro_batches = 2, .tower_layers = 2, .type = hp::f32});
  const hp::interconnect links = hp::on_topology(hp::h100::topology);
  const hp::group_table modules = modules_of_omni();
  const hp::group_search whole = hp::search_groups(g, modules, 4, hp::h100::device, links);
  ASSERT_TRUE(whole.certificate.complete);
  const hp::group_search few = hp::search_groups(g, modules, 4, hp::h100::device, links, {.played = 1});
  EXPECT_FALSE(few.certificate.complete);
  EXPECT_EQ(few.certificate.played, 1);
  EXPECT_GT(few.certificate.lower_bound, 0);
  EXPECT_LE(few.certificate.lower_bound, whole.best[0].times.makespan);
  EXPECT_GE(few.best[0].times.makespan, whole.best[0].times.makespan);
  const hp::group_search unlisted = hp::search_groups(g, modules, 4, hp::h100::device, links, {.listed = 0});
  EXPECT_FALSE(unlisted.certificate.complete);
  EXPECT_LE(unlisted.certificate.lower_bound, whole.best[0].times.makespan);
  int asked = 0;
  const hp::group_search ended = hp::search_groups(g, modules, 4, hp::h100::device, links, {},
                                                   [&](const hp::group_search&) { return ++asked < 10; });
  EXPECT_FALSE(ended.certificate.complete);
  EXPECT_EQ(ended.certificate.lower_bound, 0);
}

TEST(group_search, what_cannot_be_searched_is_named) {
  const hp::graph g = programs::omni_graph({.micro_batches = 1, .type = hp::f32});
  const hp::interconnect links = hp::on_topology(hp::h100::topology);
  hp::group_table modules = modules_of_omni();
  hp::group_search r = hp::search_groups(g, modules, 4, hp::h100::device, links, {.memory = 1});
  EXPECT_FALSE(r.ok());
  EXPECT_TRUE(r.certificate.complete) << "none fits";
  EXPECT_GT(r.certificate.least_memory, 1);
  modules.placed.resize(2);
  r = hp::search_groups(g, modules, 4, hp::h100::device, links);
  EXPECT_EQ(r.groups.groups.code, hp::group_code::operator_has_no_module);
  for (int m = 2; m < 9; ++m) hp::add_module(modules, ("m" + std::to_string(m)).c_str(), "all");
  r = hp::search_groups(g, modules, 4, hp::h100::device, links);
  EXPECT_EQ(r.groups,
            (hp::submodel_status{.code = hp::submodel_code::modules_are_too_many, .given = 9, .expected = 8}));
  r = hp::search_groups(g, modules_of_omni(), 0, hp::h100::device, links);
  EXPECT_FALSE(r.hardware.ok());
}

/// Of half a billion parameters on eight devices: no slower than the plan by load.
TEST(group_search, towers_on_eight_devices) {
  const hp::graph g = omni_modal::training_step_of(models::large_omni, 8, {}, hp::bf16, hp::f32);
  const hp::interconnect links = hp::on_topology(hp::h100::topology);
  const hp::group_search r = hp::search_groups(g, omni_modal::modules_alone(), 8, hp::h100::device, links);
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r.certificate.law_breaks, 0);
  const hp::submodel_program by_load = hp::partition(g, omni_modal::placement_called("by-load", g));
  const hp::run_times t = hp::simulate(hp::lower_training(by_load.program, {.topology = links}), hp::h100::device);
  EXPECT_LE(r.best[0].times.makespan, t.makespan);
  EXPECT_TRUE(r.certificate.complete);
  EXPECT_EQ(r.certificate.lower_bound, r.best[0].times.makespan);
  EXPECT_EQ(r.certificate.plans, 3025);
  EXPECT_LE(r.certificate.played * 50, r.certificate.plans) << "the bounds pass over 98 %";
}

}  // namespace
