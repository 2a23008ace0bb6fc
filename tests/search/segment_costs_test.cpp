// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/search/segment_costs.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "search_models.hpp"

namespace {

namespace hp = hyperparallel;

struct row_of_variants {
  int rows = 0;
  hp::busy_times busy{};
  hp::extent_t memory = 0;
};

/// The rows of variants that a choice of candidates has, from the definition.
void collect(const hp::segment_costs& c, const std::vector<int>& candidate, std::vector<const hp::block_variant*>& row,
             row_of_variants& found) {
  const int b = static_cast<int>(row.size());
  if (b == c.size()) {
    ++found.rows;
    found.busy = {};
    found.memory = 0;
    for (const hp::block_variant* v : row) {
      found.busy += v->busy;
      found.memory += v->memory;
    }
    return;
  }
  for (const hp::block_variant& v : c.variant[b]) {
    if (v.candidate != candidate[static_cast<std::size_t>(b)]) continue;
    if (b > 0 && (v.enters != row.back()->leaves || v.gradient_leaves != row.back()->gradient_enters)) continue;
    row.push_back(&v);
    collect(c, candidate, row, found);
    row.pop_back();
  }
}

constexpr int every_candidate = 100;

struct plan_counts {
  int spaces = 0, plans = 0;
};

/// Some of the candidates of each part, at most so many.
void thin_out(hp::plan_space& space, std::mt19937& random, int most) {
  for (int p = 0; p < space.parts; ++p)
    for (hp::growing_array<hp::part_candidate>& list = space.candidate[p]; list.size > most;) {
      list[static_cast<int>(random() % static_cast<unsigned>(list.size))] = list.last();
      --list.size;
    }
}

/// Measures the parts under one of the frames of `g`, and adds them up for random plans.
void expect_sums(const hp::graph& g, std::mt19937& random, bool reduced, int most_candidates, int plans,
                 const std::string& what, plan_counts& counts) {
  const hp::device_value device = searched::random_device(random);
  const hp::topology_value topology = searched::random_topology(random);
  hp::plan_prices prices(device, topology);
  hp::search_limits limits;
  limits.reduced = reduced;
  limits.pipeline = 2;
  limits.context = 2;
  std::vector<hp::plan_frame> frames;
  hp::detail::visit_frames(g, random() % 2 == 0 ? 4 : 8, limits, [&](const hp::plan_frame& f) {
    if (f.tp > 1) frames.push_back(f);
  });
  if (frames.empty()) return;
  const hp::plan_frame f = frames[random() % frames.size()];
  const bool turns = f.context == hp::context_form::ring && f.cp > 1;
  const hp::graph planned = turns ? hp::rotate_attention(g, f.cp) : g;
  const hp::model_parts parts = hp::detail::find_parts(planned);
  hp::plan_space space;
  hp::detail::fill_space(space, planned, parts, f, limits.reduced);
  thin_out(space, random, most_candidates);
  hp::segment_costs costs(g, planned, parts, space, prices);
  costs.measure_all();
  if (!costs.alive() || !costs.rules_fit) return;
  ++counts.spaces;
  for (int k = 0; k < plans; ++k) {
    int choice[hp::max_model_parts] = {};
    bool alive = true;
    std::string names = what + ": ";
    std::vector<int> candidate;
    for (int b = 0; b < costs.size(); ++b) {
      candidate.push_back(static_cast<int>(random() % static_cast<unsigned>(costs.block[b].candidates)));
      alive = alive && costs.is_alive(b, candidate.back());
      costs.read_candidate(b, candidate.back(), choice);
    }
    for (int p = 0; p < space.parts; ++p) names += std::string(space.candidate[p][choice[p]].name.text) + " | ";
    if (!alive) continue;
    hp::strategy_value s;
    if (!hp::detail::compose(space, choice, s)) continue;
    const hp::plan_evaluation e = hp::evaluate_plan(g, s, f.pipeline, prices);
    ASSERT_TRUE(e.ok());
    row_of_variants found;
    std::vector<const hp::block_variant*> row;
    collect(costs, candidate, row, found);
    EXPECT_EQ(found.rows, 1) << names;
    const hp::sharded_program p = hp::partition(g, s);
    EXPECT_EQ(found.busy, hp::detail::busy_of(p, hp::pipeline_form(g, f.pipeline), hp::priced_program(p, prices)))
        << names;
    EXPECT_LE(found.busy.bound(), e.time) << names;
    EXPECT_GE(found.busy.bound(), costs.least_busy()) << names;
    EXPECT_LE(found.memory, e.memory) << names;
    ++counts.plans;
  }
}

// The law: parts measured in some plans add up to what keeps the queues of any other plan busy.
TEST(SegmentCosts, AddUpToTheBusyTimesOfThePlan) {
  const bool exhaustive = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr;
  std::mt19937 random(17);
  plan_counts counts;
  for (int i = 0; i < (exhaustive ? 400 : 30); ++i) {
    const hp::graph g = searched::random_model(random, i % 2 == 0).build();
    expect_sums(g, random, random() % 2 == 0, every_candidate, exhaustive ? 60 : 12, std::to_string(i), counts);
  }
  EXPECT_GT(counts.spaces, 15);
  EXPECT_GT(counts.plans, 150);
}

// Two stacks meet at a joint where both take over what they carry: neither may depend on how the other came to rest.
TEST(SegmentCosts, AddUpOverTwoStacks) {
  const bool exhaustive = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr;
  std::mt19937 random(11);
  plan_counts counts;
  for (int i = 0; i < (exhaustive ? 200 : 16); ++i) {
    const searched::small_model m = searched::random_two_stacks(random);
    expect_sums(m.build(), random, false, i % 20 == 19 ? every_candidate : 3, exhaustive ? 60 : 24, std::to_string(i),
                counts);
  }
  EXPECT_GT(counts.spaces, 5);
  EXPECT_GT(counts.plans, exhaustive ? 3000 : 100);
}

TEST(SegmentCosts, RefusedCandidatesAreTold) {
  // 4 heads of keys and no groups do not divide by 8: attention cannot be tensor parallel; feed-forward can.
  const hp::graph g = searched::small_model{.batch = 8, .sequence = 16}.build();
  const hp::model_parts parts = hp::detail::find_parts(g);
  hp::plan_space space;
  hp::detail::fill_space(space, g, parts, {.tp = 8}, false);
  hp::plan_prices prices(hp::generic_host::device, hp::generic_host::topology);
  hp::segment_costs costs(g, g, parts, space, prices);
  costs.measure_all();
  EXPECT_TRUE(costs.alive());
  for (int p = 0; p < space.parts; ++p)
    for (int c = 0; c < space.candidate[p].size; ++c)
      if (hp::detail::same_text(space.candidate[p][c].name.text, "tensor")) {
        EXPECT_EQ(costs.is_dead(p, c), p == 1) << p;
      }
  EXPECT_EQ(costs.refused.code, hp::strategy_code::dim_does_not_divide);
}

}  // namespace
