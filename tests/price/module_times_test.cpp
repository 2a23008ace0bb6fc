// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/module_times.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/groups/split_choice.hpp>
#include <hyperparallel/lowering/pipelined_program.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>
#include <hyperparallel/price/layer_weights.hpp>

#include "../../examples/omni_modal/placements.hpp"
#include "models/omni_model.hpp"
#include "support/tries.hpp"

namespace {

namespace hp = hyperparallel;
using models::omni_sizes;

hp::lowered_program lowered(const hp::sharded_program& p) {
  return hp::lower_training(p, {.topology = hp::on_topology(hp::h100::topology)});
}

/// A table of the modules of a plan, with what each computes under the strategy of its group.
hp::extent_t computed_by_modules(const hp::graph& g, const hp::submodel_plan& plan, int group) {
  const hp::module_times t = hp::detail::times_of_modules(g, plan.table, plan.strategy[group], hp::h100::device);
  EXPECT_TRUE(t.ok());
  hp::extent_t sum = 0;
  for (int m = 0; m < t.of.size; ++m)
    if (plan.table.placed[m].group == plan.table.group[group].name) sum += t.of[m].step(g.micro_batches);
  return sum;
}

TEST(module_times, a_part_computes_at_least_what_its_modules_do) {
  std::mt19937 random(5);
  int compared = 0, equal = 0;
  for (const int wanted = tested::tries(40, 500); compared < wanted;) {
    const hp::submodel_plan plan = programs::random_omni_plan(random);
    const hp::graph g = programs::omni_graph(
        {.micro_batches = 1 + static_cast<int>(random() % 3), .tower_layers = 2, .type = hp::f32}, &plan.table);
    const hp::submodel_program p = hp::partition(g, plan);
    if (!p.ok()) continue;
    bool priced = true;  // a strategy whose rules match nothing on all modules together has no times of modules
    for (const hp::strategy_value& s : plan.strategy)
      priced = priced && hp::detail::times_of_modules(g, plan.table, s, hp::h100::device).ok();
    if (!priced) continue;
    const hp::part_times t = hp::times_of_parts(lowered(p.program), hp::h100::device);
    ASSERT_TRUE(t.ok());
    for (int k = 0; k < t.ranks.size; ++k) {
      const hp::extent_t modules = computed_by_modules(g, plan, p.group_of_part[k]);
      EXPECT_LE(modules, t.computed[k]) << "part " << k;
      EXPECT_LE(t.computed[k], t.makespan);
      equal += modules == t.computed[k];
    }
    ++compared;
  }
  EXPECT_GT(equal, 0) << "a part that joins no numbers reaches the bound";
}

TEST(module_times, of_all_modules_on_one_group_are_those_of_its_program) {
  const hp::graph g = omni_modal::training_step_of({}, 3, {}, hp::f32, hp::f32);
  for (const char* name : {"single", "dp", "zero3", "tp", "dp-tp"}) {
    const int ranks = name == std::string("single") ? 1 : 4;
    const hp::strategy_value s = hp::strategy_called(name, ranks).strategy;
    const hp::module_times t = hp::detail::times_of_modules(g, omni_modal::modules_alone(), s, hp::h100::device);
    ASSERT_TRUE(t.ok());
    const hp::run_times whole = hp::simulate(lowered(hp::partition(g, s)), hp::h100::device);
    hp::extent_t sum = 0;
    for (const hp::module_time& m : t.of) sum += m.step(g.micro_batches);
    const hp::sharded_program p = hp::partition(g, s);
    for (const hp::program_step& step : p.step)
      if (!step.is_move && hp::detail::joins_numbers(p, step))
        sum += hp::detail::price_of_compute(hp::h100::device, p, step.index).time.picoseconds;
    EXPECT_EQ(sum, whole.busy[static_cast<int>(hp::resource::aic)]) << name;
  }
}

TEST(module_times, what_has_no_time_says_why) {
  const hp::graph g = omni_modal::training_step_of({}, 1, {}, hp::f32, hp::f32);
  hp::group_table unknown;
  hp::add_module(unknown, "text", "all");
  EXPECT_EQ(hp::detail::times_of_modules(g, unknown, omni_modal::zero1_of(2), hp::h100::device).groups.groups.code,
            hp::group_code::operator_has_no_module);
  EXPECT_EQ(hp::detail::times_of_modules(g, omni_modal::modules_alone(), omni_modal::zero1_of(3), hp::h100::device)
                .program.code,
            hp::strategy_code::dim_does_not_divide);
  const hp::graph doubles = omni_modal::training_step_of({}, 1, {}, hp::f64, hp::f64);
  const hp::module_times t =
      hp::detail::times_of_modules(doubles, omni_modal::modules_alone(), omni_modal::zero1_of(1), hp::b200::device);
  EXPECT_FALSE(t.ok());
  EXPECT_NE(t.code, hp::cost_code::ok);
}

/// What the page docs/how-to/train-an-omni-modal-model.md says of large_omni on eight H100, 24 micro-batches of 16.
hp::part_times clock_of(const hp::submodel_plan& plan, const hp::graph& g) {
  const hp::submodel_program p = hp::partition(g, plan);
  EXPECT_TRUE(p.ok());
  return hp::times_of_parts(lowered(p.program), hp::h100::device);
}
hp::part_times clock_of_1f1b(const hp::graph& g, int groups, bool by_time) {
  const hp::strategy_value s = omni_modal::zero1_of(8 / groups);
  hp::pipeline_value line{.schedule = hp::schedule_called("1F1B"), .ranks = groups};
  if (by_time) line.layers = hp::layers_by_time(g, s, hp::h100::device, groups);
  const hp::pipelined_program p = hp::partition(g, s, line);
  EXPECT_TRUE(p.ok());
  return hp::times_of_parts(lowered(p.program), hp::h100::device);
}

TEST(module_times, groups_by_load_have_few_bubbles_where_a_line_of_stages_has_many) {
  const hp::graph g = omni_modal::training_step_of(models::large_omni, 24, {}, hp::bf16, hp::f32);
  const auto loads = hp::loads_of_modules(g, omni_modal::modules_alone(), 8, hp::h100::device, omni_modal::zero1_of);
  const hp::device_split split = hp::split_devices(loads, 8);
  ASSERT_TRUE(hp::is_least_split(loads, 8, split));
  EXPECT_EQ(split.devices, ([] {
              hp::growing_array<int> devices;
              for (const int n : {1, 4, 1, 2}) devices.push(n);
              return devices;
            }()));
  const hp::part_times by_load = clock_of(omni_modal::placement_called("by-load", g), g);
  EXPECT_LE(by_load.idle(), 100'000) << "10 %";
  EXPECT_EQ(by_load.idle() / 1000, 70);
  EXPECT_EQ(by_load.makespan / 100'000'000, 2872);
  const struct {
    int groups;
    bool by_time;
    int step, idle;  // in 0.1 ms and 0.1 %
  } lines[] = {{4, true, 3270, 241}, {4, false, 3665, 323}, {8, true, 3095, 272}};
  for (const auto& each : lines) {
    const hp::part_times line = clock_of_1f1b(g, each.groups, each.by_time);
    EXPECT_EQ(line.makespan / 100'000'000, each.step);
    EXPECT_EQ(line.idle() / 1000, each.idle) << "between 10 and 40 %";
  }
  const hp::part_times one = clock_of(omni_modal::placement_called("one-group", g), g);
  EXPECT_GE(one.makespan * 100, by_load.makespan * 115) << "phase after phase on all ranks";
  EXPECT_EQ(one.makespan / 100'000'000, 4077);
  EXPECT_EQ(clock_of(omni_modal::placement_called("apart", g), g).makespan / 100'000'000, 4538);
}

/// Every way to put the four modules on groups, some on one, in sizes that divide the batch: the group of each module, and the
/// ranks of each group.
struct grouping {
  int group_of[4] = {};
  std::vector<int> ranks{};
};
std::vector<grouping> every_grouping(int devices) {
  std::vector<grouping> all;
  for (int code = 0; code < 256; ++code) {
    grouping each;
    int groups = 0;
    bool counts_up = true;  // the first module of a group has the next number
    for (int m = 0; m < 4; ++m) {
      each.group_of[m] = code >> (2 * m) & 3;
      counts_up = counts_up && each.group_of[m] <= groups;
      groups = std::max(groups, each.group_of[m] + 1);
    }
    for (int sizes = 0; counts_up && sizes < 1 << (2 * groups); ++sizes) {
      each.ranks.clear();
      int sum = 0;
      for (int k = 0; k < groups; ++k) sum += each.ranks.emplace_back(1 << (sizes >> (2 * k) & 3));
      if (sum <= devices) all.push_back(each);
    }
  }
  return all;
}
hp::submodel_plan plan_of(const grouping& g) {
  std::vector<omni_modal::placed_group> groups;
  for (std::size_t k = 0; k < g.ranks.size(); ++k)
    groups.push_back({"g" + std::to_string(k), g.ranks[k] == 1 ? "single" : "zero1", g.ranks[k], {}});
  for (int m = 0; m < 4; ++m)
    groups[static_cast<std::size_t>(g.group_of[m])].modules.push_back(models::omni_modules[m]);
  return omni_modal::plan_of(groups);
}

/// The time in which a rank of the plan that holds most receives all of it over the link of one device: no move between two
/// plans takes more.
hp::extent_t move_of(const hp::submodel_plan& plan, const hp::graph& g) {
  const hp::sharded_program p = hp::partition(g, plan).program;
  hp::extent_t most = 0;
  for (int k = 0; k < hp::parts_of(p); ++k) {
    hp::extent_t held = 0;
    for (const hp::program_storage& s : p.storage) held += s.home && s.part == k ? s.bytes : 0;
    most = std::max(most, held);
  }
  return most * 1'000 / 370 + 1'000'000'000;  // 370 GB/s, and a millisecond
}

TEST(module_times, a_split_chosen_by_the_load_beats_every_placement_that_stays) {
  constexpr int steps = 20, rounds = 4;  // of a phase, of images heavy and then sounds heavy
  omni_sizes sizes[2] = {models::large_omni, models::large_omni};
  sizes[0].frames = 200;
  sizes[1].patches = 160;
  sizes[1].frames = 2000;
  hp::graph g[2];
  for (int l = 0; l < 2; ++l) g[l] = omni_modal::training_step_of(sizes[l], 12, {}, hp::bf16, hp::f32);
  // Compiled are the splits by each of the two loads and the even one, each for both loads.
  hp::growing_array<hp::compiled_split> compiled;
  hp::extent_t move = 0;
  for (const hp::submodel_plan& plan :
       {omni_modal::placement_called("by-load", g[0]), omni_modal::placement_called("by-load", g[1]),
        omni_modal::placement_called("apart", g[0])}) {
    for (int l = 0; l < 2; ++l) {
      hp::compiled_split one;
      for (int m = 0; m < 4; ++m) one.devices.push(static_cast<int>(hp::rank_count(plan.table.group[m])));
      for (const hp::extent_t n : {sizes[l].sequence, sizes[l].patches, sizes[l].frames, sizes[l].sequence})
        one.room.push(n);
      one.time = clock_of(plan, g[l]).makespan;
      compiled.push(one);
    }
    move = std::max(move, move_of(plan, g[0]));
  }
  hp::present_split now{.steps = steps, .move = move};
  hp::extent_t dynamic = 0;
  for (int phase = 0; phase < 2 * rounds; ++phase) {
    const omni_sizes& seen = sizes[phase % 2];
    hp::growing_array<hp::extent_t> load;
    for (const hp::extent_t n : {seen.sequence, seen.patches, seen.frames, seen.sequence}) load.push(n);
    const hp::split_choice c = hp::choose_split(compiled, load, now);
    ASSERT_TRUE(c.ok());
    dynamic += c.time;
    now.split = c.split;
  }
  // Placements that stay: those of which the work alone takes as long are not played.
  std::vector<hp::module_times> work[2];
  for (int l = 0; l < 2; ++l)
    for (const int n : {1, 2, 4, 8})
      work[l].push_back(
          hp::detail::times_of_modules(g[l], omni_modal::modules_alone(), omni_modal::zero1_of(n), hp::h100::device));
  const hp::extent_t beaten = dynamic / rounds / steps * 105 / 100;  // for a step of each load
  int played = 0, bounded = 0;
  for (const grouping& each : every_grouping(8)) {
    hp::extent_t bound = 0;
    for (int l = 0; l < 2; ++l) {
      hp::extent_t longest = 0;
      for (std::size_t k = 0; k < each.ranks.size(); ++k) {
        std::size_t size = 0;
        while (1 << size < each.ranks[k]) ++size;
        hp::extent_t sum = 0;
        for (int m = 0; m < 4; ++m)
          if (each.group_of[m] == static_cast<int>(k)) sum += work[l][size].of[m].step(12);
        longest = std::max(longest, sum);
      }
      bound += longest;
    }
    if (bound >= beaten) {
      ++bounded;
      continue;
    }
    const hp::submodel_plan plan = plan_of(each);
    const hp::extent_t both = clock_of(plan, g[0]).makespan + clock_of(plan, g[1]).makespan;
    EXPECT_GE(both, bound);
    EXPECT_GE(both, beaten) << each.ranks.size() << " groups";
    ++played;
  }
  EXPECT_GE(played, 3);
  EXPECT_GT(bounded, 100);
}

}  // namespace
