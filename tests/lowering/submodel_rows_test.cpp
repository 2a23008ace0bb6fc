// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/submodel_rows.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include <hyperparallel/groups/stage_order.hpp>
#include <hyperparallel/groups/submodels.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition_stages.hpp>

#include "models/trained_models.hpp"
#include "support/tries.hpp"

namespace {

namespace hp = hyperparallel;

/// Stage t reads what the stages of `reads[t]` make; those without parameters behind them do not learn.
hp::graph graph_of(const std::vector<std::vector<int>>& reads, const std::vector<bool>& learns, int micro_batches) {
  hp::model_builder m({.activation = hp::f64, .parameter = hp::f64, .unrolled = true});
  const int batch = m.dim("batch", 2), hidden = m.dim("hidden", 2);
  const int input = m.input("x", {batch, hidden});
  std::vector<int> made;
  std::vector<bool> read(reads.size(), false);
  const auto name = [](std::size_t t, const char* what) { return "s" + std::to_string(t) + "." + what; };
  for (std::size_t t = 0; t < reads.size(); ++t) {
    int x = input;
    for (const int u : reads[t]) {
      x = m.sum(name(t, ("take" + std::to_string(u)).c_str()).c_str(), x, made[static_cast<std::size_t>(u)]);
      read[static_cast<std::size_t>(u)] = true;
    }
    const int weight = m.parameter(name(t, "weight").c_str(), {hidden, hidden});
    m.graph.tensor[weight].frozen = !learns[t];
    made.push_back(m.contract(name(t, "product").c_str(), "*a,ab->*b", x, weight));
  }
  const std::string last = name(reads.size() - 1, "loss");
  m.loss(m.apply<hp::ops::reduce>(last.c_str(), {made.back()}, {.text = "*->"}));
  return programs::trained(m, {.unrolled = true, .micro_batches = micro_batches, .type = hp::f64});
}

/// Each stage on a rank of its own, or on the rank of its part.
hp::sharded_program program_of(const hp::graph& g, const hp::growing_array<int>& part, int parts) {
  hp::group_table t;
  t.world = parts;
  for (int p = 0; p < parts; ++p) hp::add_group(t, ("p" + std::to_string(p)).c_str(), p);
  for (int s = 0; s < part.size; ++s)
    hp::add_module(t, ("s" + std::to_string(s)).c_str(), ("p" + std::to_string(part[s])).c_str());
  hp::graph ordered = g;
  hp::program_stages stages{hp::cut_by_modules(g, t).cut, part, parts, {}};
  hp::arrange_by_stages(ordered, stages.cut);
  return hp::partition(ordered, hp::strategy_called("single", 1).strategy, stages);
}

/// A line of parts has the rows of 1F1B.
TEST(submodel_rows, a_line_is_1f1b) {
  for (int stages = 1; stages <= 5; ++stages)
    for (int micro_batches = 1; micro_batches <= 7; ++micro_batches) {
      std::vector<std::vector<int>> reads(1);
      hp::growing_array<int> part;
      part.push(0);
      for (int t = 1; t < stages; ++t) {
        reads.push_back({t - 1});
        part.push(t);
      }
      const hp::graph g = graph_of(reads, std::vector<bool>(reads.size(), true), micro_batches);
      const hp::pipeline_schedule rows = hp::rows_of_submodels(program_of(g, part, stages), part);
      EXPECT_EQ(rows, hp::generate<hp::one_forward_one_backward>(
                          {.ranks = stages, .chunks = 1, .micro_batches = micro_batches}))
          << stages << ", " << micro_batches;
    }
}

/// Every action stands once in its part's row, and what it needs stands in some order that all rows allow.
void expect_laws(const hp::pipeline_schedule& s, const std::vector<std::vector<int>>& reads,
                 const std::vector<bool>& learns, const hp::growing_array<int>& part) {
  const int stages = s.stages, m = s.micro_batches;
  std::vector<int> forward(static_cast<std::size_t>(stages), 0), backward = forward,
                                                                 next(s.first.begin(), s.first.end() - 1);
  const auto at = [](int t) { return static_cast<std::size_t>(t); };
  bool any = true;
  int done = 0;
  while (any) {
    any = false;
    for (int r = 0; r < s.ranks; ++r) {
      if (next[at(r)] == s.first[r + 1]) continue;
      const hp::pipeline_action a = s.coding().action(s.action[next[at(r)]]);
      ASSERT_EQ(part[a.stage], r);
      const bool is_forward = a.kind == hp::action_kind::forward;
      bool ready = is_forward || forward[at(a.stage)] > a.micro_batch;
      if (is_forward)
        for (const int u : reads[at(a.stage)]) ready = ready && forward[at(u)] > a.micro_batch;
      for (int u = 0; u < stages && !is_forward; ++u)
        for (const int read : reads[at(u)])
          if (read == a.stage && learns[at(u)] && learns[at(a.stage)]) ready = ready && backward[at(u)] > a.micro_batch;
      if (!ready) continue;
      ASSERT_EQ(a.micro_batch, (is_forward ? forward : backward)[at(a.stage)]++) << "in their order";
      ASSERT_LE(forward[at(a.stage)] - backward[at(a.stage)], stages) << "no more in flight than stages";
      ++next[at(r)];
      ++done;
      any = true;
    }
  }
  EXPECT_EQ(done, 2 * stages * m) << "no row waits for ever";
}

TEST(submodel_rows, of_random_readers_and_parts_never_wait_for_ever) {
  std::mt19937 random(17);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int n = tested::tries(300, 5000); n > 0; --n) {
    const int stages = 1 + below(6), parts = 1 + below(stages), m = 1 + below(5);
    std::vector<std::vector<int>> reads(1);
    std::vector<bool> own{below(3) > 0}, learns;
    hp::growing_array<int> part;
    part.push(0);
    for (int t = 1; t < stages; ++t) {
      std::vector<int> of;
      for (int u = 0; u < t; ++u)
        if (below(3) == 0 || (t + 1 == stages && u + 1 == t)) of.push_back(u);
      reads.push_back(of);
      own.push_back(below(3) > 0);
      part.push(t < parts ? t : below(parts));
    }
    own.back() = true;
    const hp::graph g = graph_of(reads, own, m);
    ASSERT_EQ(g.status.code, hp::graph_code::ok);
    const hp::sharded_program p = program_of(g, part, parts);
    ASSERT_EQ(p.status.code, hp::strategy_code::ok);
    learns.resize(own.size(), false);  // as the graph says: what leads from what is trained to the loss
    for (const hp::program_step& one : p.step)
      if (!one.is_move && one.phase == hp::graph_phase::backward) learns[static_cast<std::size_t>(one.stage)] = true;
    expect_laws(hp::rows_of_submodels(p, part), reads, learns, part);
  }
}

/// The actions of a row, as "2F0 2B0 ".
std::string text_of_row(const hp::pipeline_schedule& s, int r) {
  std::string all;
  for (int e = s.first[r]; e < s.first[r + 1]; ++e)
    all += std::string(hp::text_of(s.coding().action(s.action[e])).text) + " ";
  return all;
}

/// A part of two stages goes on with what is backward of the least micro-batch, else with its later stage; on one part that is
/// one micro-batch after the other.
TEST(submodel_rows, a_part_of_two_stages_ends_what_it_began_first) {
  const std::vector<std::vector<int>> reads{{}, {0}, {1}};
  const hp::graph g = graph_of(reads, {true, true, true}, 4);
  hp::growing_array<int> there_and_back, together(3, 0);
  for (const int p : {0, 1, 0}) there_and_back.push(p);
  const hp::pipeline_schedule s = hp::rows_of_submodels(program_of(g, there_and_back, 2), there_and_back);
  EXPECT_EQ(text_of_row(s, 0), "0F0 0F1 2F0 2B0 2F1 0B0 2B1 0F2 0B1 2F2 2B2 0F3 0B2 2F3 2B3 0B3 ");
  EXPECT_EQ(text_of_row(s, 1), "1F0 1F1 1B0 1B1 1F2 1B2 1F3 1B3 ");
  EXPECT_EQ(text_of_row(hp::rows_of_submodels(program_of(g, together, 1), together), 0),
            "0F0 1F0 2F0 2B0 1B0 0B0 0F1 1F1 2F1 2B1 1B1 0B1 0F2 1F2 2F2 2B2 1B2 0B2 0F3 1F3 2F3 2B3 1B3 0B3 ");
}

/// A frozen tower is ahead of the part that reads it, by as many micro-batches as a trained one may be.
TEST(submodel_rows, a_frozen_tower_runs_ahead) {
  const std::vector<std::vector<int>> reads{{}, {}, {0, 1}};
  hp::growing_array<int> part;
  for (int t = 0; t < 3; ++t) part.push(t);
  const hp::graph g = graph_of(reads, {false, true, true}, 4);
  const hp::pipeline_schedule s = hp::rows_of_submodels(program_of(g, part, 3), part);
  EXPECT_EQ(text_of_row(s, 2), "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3 ");
  EXPECT_EQ(text_of_row(s, 1), "1F0 1F1 1B0 1F2 1B1 1F3 1B2 1B3 ");
  EXPECT_EQ(text_of_row(s, 0), "0F0 0F1 0B0 0F2 0B1 0F3 0B2 0B3 ");
}

}  // namespace
