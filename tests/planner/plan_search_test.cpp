// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/plan_search.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/hardware/gpu_presets.hpp>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

#include <layers/decoder_shapes.hpp>

#include "small_decoders.hpp"

namespace {

namespace hp = hyperparallel;

const auto to_the_end = [](const hp::plan_progress&) { return true; };
const auto always = [](bool) { return true; };

hp::plan_prices prices_with(hp::extent_t bytes) {
  hp::device_value device = hp::matrix384::device;
  device.tier[0].bytes = bytes;
  return {device, hp::matrix384::topology};
}

constexpr hp::plan_question question(hp::extent_t devices) {
  return {.devices = devices, .batch = 16, .sequence = 48, .reserve = {.library_bytes = 0, .allocator_per_mille = 0}};
}

/// All plans by loops over all numbers, without divisors, bounds or an order.
std::vector<hp::decoder_plan> all_plans(const hp::decoder& d, const hp::plan_question& q) {
  std::vector<hp::decoder_plan> all;
  const int most = static_cast<int>(q.devices);
  hp::decoder_plan p{.batch = q.batch, .sequence = q.sequence};
  for (p.tp = 1; p.tp <= most; ++p.tp)
    for (p.pp = 1; p.tp * p.pp <= most; ++p.pp)
      for (p.dp = 1; p.tp * p.pp * p.dp <= most; ++p.dp)
        for (p.cp = 1; p.tp * p.pp * p.dp * p.cp <= most; ++p.cp)
          for (p.ep = 1; p.tp * p.pp * p.dp * p.cp * p.ep <= most; ++p.ep)
            for (p.micro_batches = 1; p.micro_batches <= q.batch; ++p.micro_batches)
              for (p.zero = 0; p.zero <= 3; ++p.zero)
                for (const bool recomputed : {false, true})
                  for (const bool sequence_parallel : {false, true}) {
                    p.recomputed = recomputed;
                    p.sequence_parallel = sequence_parallel;
                    if ((p.tp == 1 && !sequence_parallel) || (p.dp * p.cp * p.ep == 1 && p.zero > 0)) continue;
                    if (hp::check_plan(d, p, q.devices).ok()) all.push_back(p);
                  }
  return all;
}

// It may be ended while it lists plans, after at most a thousand of them; then nothing is complete and no bound is told.
TEST(PlanSearch, EndsWhileItListsPlans) {
  int ended = 0;
  for (const hp::decoder& d : small_decoders::all()) {
    hp::plan_question q = question(8);
    q.batch = 5040;
    hp::extent_t legal = 0;
    hp::visit_legal_plans(d, q, [&](const hp::decoder_plan&) { ++legal; });
    hp::plan_prices prices = prices_with(hp::GiB);
    int asked = 0;
    const hp::plan_answer a = hp::search_plans(d, q, prices, [&](const hp::plan_progress&) { return ++asked < 2; });
    EXPECT_FALSE(a.complete);
    EXPECT_EQ(a.listed, a.legal == legal);
    if (a.listed) continue;
    ++ended;
    EXPECT_LE(a.legal, 2048);
    EXPECT_EQ(a.bound, 0);
    EXPECT_TRUE(a.best.empty());
    EXPECT_EQ(a.slower(), 0);
  }
  EXPECT_GT(ended, 0);
}

// Brute force: the best time of all plans, priced one by one, for several memories.
TEST(PlanSearch, FindsWhatPricingAllPlansFinds) {
  int answered = 0, none = 0, left_out = 0, asked = 0;
  for (const hp::decoder& d : small_decoders::all())
    for (const hp::extent_t devices : {1, 2, 4, 6}) {
      const hp::plan_question q = question(devices);
      const std::vector<hp::decoder_plan> all = all_plans(d, q);
      if (all.empty()) continue;  // 6 devices deal 2 heads and 8 sequences to no one
      ++asked;
      hp::plan_prices prices = prices_with(hp::GiB);
      std::vector<hp::plan_estimate> estimates;
      hp::extent_t least = hp::GiB, most = 0;
      for (const hp::decoder_plan& p : all) {
        estimates.push_back(hp::estimate_plan(d, p, prices));
        ASSERT_TRUE(estimates.back().ok());
        least = std::min(least, estimates.back().evaluation.memory);
        most = std::max(most, estimates.back().evaluation.memory);
      }
      for (const hp::extent_t bytes : {least - 1, least, least + (most - least) / 4, (least + most) / 2, most}) {
        hp::plan_prices tight = prices_with(bytes);
        const hp::plan_answer a = hp::search_plans(d, q, tight, to_the_end);
        EXPECT_EQ(a.legal, static_cast<hp::extent_t>(all.size()));
        EXPECT_TRUE(a.complete);
        EXPECT_EQ(a.left, 0);
        hp::extent_t best = hp::not_counted;
        for (const hp::plan_estimate& e : estimates)
          if (e.evaluation.memory <= bytes && (best == hp::not_counted || e.evaluation.time < best))
            best = e.evaluation.time;
        ASSERT_EQ(a.ok(), best != hp::not_counted);
        EXPECT_EQ(a.bound, best);
        if (a.ok()) {
          EXPECT_EQ(a.best[0].evaluation.time, best);
        } else {
          // The plan that comes closest is named, with the memory that it needs.
          ASSERT_NE(a.least_unfit.evaluation.memory, hp::not_counted);
          EXPECT_GT(a.least_unfit.evaluation.memory, bytes);
          EXPECT_LE(a.least_unfit.evaluation.memory, most);
        }
        ++(a.ok() ? answered : none);
        left_out += a.slower() + a.too_large > 0 ? 1 : 0;
      }
    }
  EXPECT_GT(answered, 50);
  EXPECT_EQ(none, asked);
  EXPECT_GT(asked, 30);
  EXPECT_GT(left_out, 10);
}

// However early it is ended, no plan that fits is faster than the bound.
TEST(PlanSearch, TheBoundHoldsWhereverItEnds) {
  const hp::decoder d = small_decoders::with_experts();
  const hp::plan_question q = question(4);
  hp::plan_prices prices = prices_with(hp::GiB);
  const hp::plan_answer whole = hp::search_plans(d, q, prices, to_the_end);
  ASSERT_TRUE(whole.ok());
  hp::extent_t last = 0;
  for (const hp::extent_t most : {0, 1, 5, 25, 125}) {
    const hp::plan_answer a =
        hp::search_plans(d, q, prices, [&](const hp::plan_progress& p) { return p.priced < most; });
    EXPECT_FALSE(a.complete);
    EXPECT_EQ(a.priced, most);
    EXPECT_EQ(a.legal, a.too_large + a.priced + a.left);
    EXPECT_LE(a.bound, whole.bound);
    EXPECT_GE(a.bound, last);
    last = a.bound;
    if (a.ok()) {
      EXPECT_GE(a.best[0].evaluation.time, whole.best[0].evaluation.time);
    }
  }
}

// Rows are in order; two of the same degrees differ in memory by a tenth, the slower one being smaller.
TEST(PlanSearch, RowsDiffer) {
  for (const hp::decoder& d : small_decoders::all()) {
    hp::plan_question q = question(4);
    q.rows = 40;
    hp::plan_prices prices = prices_with(hp::GiB);
    const hp::plan_answer a = hp::search_plans(d, q, prices, to_the_end);
    ASSERT_GT(a.best.size, 3);
    for (int i = 0; i < a.best.size; ++i)
      for (int k = i + 1; k < a.best.size; ++k) {
        const hp::plan_estimate &fast = a.best[i], &slow = a.best[k];
        EXPECT_LE(fast.evaluation.time, slow.evaluation.time);
        if (!hp::detail::same_degrees(fast.plan, slow.plan)) continue;
        EXPECT_LT(slow.evaluation.memory, fast.evaluation.memory / 10 * 9);
      }
  }
}

// The first row has a clock, and no other is faster by what is known of it; an answer that is ended stays an estimate.
TEST(PlanSearch, SimulatesTheBestUntilNoneIsFaster) {
  int simulated = 0, replayed = 0;
  for (const hp::decoder& d : small_decoders::all())
    for (const hp::extent_t devices : {1, 2, 4, 6}) {
      const hp::plan_question q = question(devices);
      hp::plan_prices prices = prices_with(hp::GiB);
      hp::plan_answer a = hp::search_plans(d, q, prices, to_the_end);
      if (a.legal == 0) continue;
      ASSERT_TRUE(a.ok());
      const hp::plan_answer estimated = a;
      hp::simulate_best(d, q, prices, a, [] { return false; });
      EXPECT_EQ(a.simulations.made, 0);
      EXPECT_EQ(a.best[0].plan, estimated.best[0].plan);
      hp::simulate_best(d, q, prices, a, [] { return true; });
      ASSERT_EQ(a.best.size, estimated.best.size);
      ASSERT_TRUE(a.best[0].simulated.ok());
      EXPECT_EQ(a.best[0].time(), a.best[0].simulated.times.makespan);
      hp::extent_t known = 0, by_replay = 0;
      for (const hp::plan_estimate& e : a.best) {
        EXPECT_GE(e.time(), a.best[0].time());
        EXPECT_GE(e.time(), a.bound);
        simulated += e.simulated.ok();
        known += e.simulated.ok();
        by_replay += e.simulated.is_replayed();
        EXPECT_EQ(e.simulated.is_replayed(), e.simulated.ok() && e.plan.pp > 1);
        if (e.simulated.ok()) {
          EXPECT_EQ(hp::simulate_plan(d, e.plan, prices, hp::GiB).times.makespan, e.time());
        }
      }
      EXPECT_EQ(a.simulations.made, known);
      EXPECT_EQ(a.simulations.replayed, by_replay);
      for (int row = a.best.size - 1; row >= 0; --row)
        if (a.best[row].simulated.code == hp::simulated_plan_code::not_asked) {
          hp::simulate_row(d, q, prices, a, row);
          ++row;
        }
      for (const hp::plan_estimate& e : a.best) replayed += e.simulated.is_replayed();
    }
  EXPECT_GE(simulated, 10);
  EXPECT_GE(replayed, 10);
}

// Of 100 000 legal plans few fit, and those that are fastest by their bounds do not: changes that hold less find one soon.
TEST(PlanSearch, FindsAPlanThatFitsAmongTheFirst) {
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  const hp::plan_question q{.devices = 512, .batch = 2048, .sequence = 4096};
  const hp::plan_answer a =
      hp::search_plans(hp::test::deepseek_v3, q, prices, [](const hp::plan_progress& p) { return p.priced < 64; });
  EXPECT_TRUE(a.ok());
  EXPECT_FALSE(a.complete);
  EXPECT_GT(a.priced_unfit, 0);
}

// Of 77 000 legal plans of DeepSeek-V3 on 512 devices the bounds leave some hundred to price.
TEST(PlanSearch, IsCompleteAfterFewPricesWhereThereAreExperts) {
  hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  const hp::plan_question q{.devices = 512, .batch = 2048, .sequence = 4096};
  const hp::plan_answer a =
      hp::search_plans(hp::test::deepseek_v3, q, prices, [](const hp::plan_progress& p) { return p.priced < 800; });
  ASSERT_TRUE(a.ok());
  EXPECT_TRUE(a.complete);
  EXPECT_EQ(a.bound, a.best[0].evaluation.time);
  EXPECT_GT(a.best[0].plan.ep, 1);
}

/// The first row of a complete search, simulated; no plan where none fits.
hp::plan_estimate winner_of(const hp::decoder& d, const hp::plan_question& q, hp::plan_prices& prices) {
  hp::plan_answer a = hp::search_plans(d, q, prices, to_the_end);
  hp::simulate_best(d, q, prices, a, [] { return true; });
  return a.ok() ? a.best[0] : hp::plan_estimate{};
}

// Random legal plans that fit by address, each simulated: none is faster than the winner of a complete search.
TEST(PlanSearch, NoRandomPlanThatIsSimulatedIsFasterThanTheWinner) {
  const bool all = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr;
  const int asked = all ? 200 : 8;
  std::mt19937 random(5);
  for (hp::decoder d : {hp::test::llama3_8b, hp::test::qwen3_30b_a3b, hp::test::deepseek_v3}) {
    if (!all) d.layers = d.has_latents ? 4 : 3;
    const hp::extent_t devices = !all ? 8 : d.has_latents ? 512 : 64;
    const hp::plan_question q{.devices = devices, .batch = hp::larger(devices, hp::extent_t{64}), .sequence = 4096};
    hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
    const hp::plan_estimate best = winner_of(d, q, prices);
    ASSERT_TRUE(best.evaluation.time != hp::not_counted);
    EXPECT_TRUE(best.simulated.ok());
    std::vector<hp::decoder_plan> legal;
    hp::visit_legal_plans(d, q, [&](const hp::decoder_plan& p) {
      if (p.pp == 1) legal.push_back(p);
    });
    std::shuffle(legal.begin(), legal.end(), random);
    int simulated = 0;
    for (std::size_t i = 0; i < legal.size() && simulated < asked; ++i) {
      const hp::plan_estimate e = hp::estimate_plan(d, legal[i], prices);
      const hp::extent_t has = prices.device().tier[0].bytes;
      if (!e.ok() || hp::verdict_of(e.evaluation.memory, q.reserve, has) != hp::fit_verdict::fits) continue;
      const hp::simulated_plan s = hp::simulate_plan(d, legal[i], prices, q.reserve.most_peak(has));
      if (!s.ok()) continue;
      EXPECT_GE(s.times.makespan, best.time());
      ++simulated;
    }
    EXPECT_GE(simulated, all ? 100 : 4);
  }
}

hp::decoder llama(hp::extent_t layers, hp::extent_t hidden, hp::extent_t heads, hp::extent_t key_heads,
                  hp::extent_t width, hp::extent_t vocabulary) {
  hp::decoder d;
  d.vocabulary = vocabulary;
  d.hidden = hidden;
  d.layers = layers;
  d.attention = {.query_heads = heads, .key_heads = key_heads, .head_dim = hidden / heads, .rope_base = 10000.0};
  d.feed_forward = {.width = width};
  return d;
}

// Random small models at memories around what plans need: all legal plans, simulated one by one, against the search. Where one
// fits a plan is found that fits, and none that fits is faster; of every other memory none of them does.
TEST(PlanSearch, FindsByAddressWhatSimulatingAllPlansFinds) {
  const bool all = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr;
  std::mt19937 random(3);
  const auto pick = [&](const std::vector<hp::extent_t>& of) { return of[random() % of.size()]; };
  int found = 0, none = 0, left_out = 0;
  for (int model = 0; model < (all ? 300 : 5); ++model) {
    const hp::extent_t hidden = pick({64, 512}), heads = pick({4, 8});
    const hp::decoder d =
        llama(pick({1, 2, 3, 4, 5}), hidden, heads, pick({2, 4}), pick({1, 4, 8}) * hidden, pick({512, 4096}));
    const hp::plan_question q{.devices = all ? pick({1, 2, 4}) : pick({1, 2}),
                              .batch = pick({2, 4, 8}),
                              .sequence = pick({64, 512}),
                              .reserve = {.library_bytes = 0, .allocator_per_mille = 0}};
    const auto prices_of = [](hp::extent_t bytes) {
      hp::device_value device = hp::h100::device;
      device.tier[0].bytes = bytes;
      return hp::plan_prices(device, hp::h100::topology);
    };
    hp::plan_prices roomy = prices_of(hp::GiB);
    std::vector<hp::decoder_plan> legal;
    std::vector<hp::extent_t> needs;
    hp::visit_legal_plans(d, q, [&](const hp::decoder_plan& p) {
      legal.push_back(p);
      needs.push_back(hp::simulate_plan(d, p, roomy, hp::GiB).least_bytes);
    });
    std::sort(needs.begin(), needs.end());
    for (const hp::extent_t bytes :
         {needs[0] - 1, needs[0], needs[0] + needs[0] / 50, needs[random() % needs.size()]}) {
      hp::plan_prices prices = prices_of(bytes);
      hp::extent_t best = hp::not_counted;
      for (const hp::decoder_plan& p : legal) {
        const hp::simulated_plan s = hp::simulate_plan(d, p, prices, bytes);
        if (s.ok()) best = std::min(best, s.times.makespan);
      }
      const hp::plan_answer a = hp::search_simulated_plans(d, q, prices, to_the_end, always);
      EXPECT_TRUE(a.complete);
      EXPECT_EQ(a.left + a.unsimulated + a.uncounted, 0);
      EXPECT_EQ(a.bound, best);
      ASSERT_EQ(a.ok(), best != hp::not_counted);
      ++(a.ok() ? found : none);
      left_out += a.simulations.made < static_cast<hp::extent_t>(legal.size());
      if (!a.ok()) continue;
      EXPECT_EQ(a.best[0].time(), best);
      EXPECT_TRUE(a.best[0].simulated.ok());
      EXPECT_LE(a.best[0].simulated.bytes, bytes);
      for (const hp::plan_estimate& e : a.best) EXPECT_LE(e.memory(), bytes);
    }
  }
  EXPECT_GT(found, all ? 800 : 14);
  EXPECT_GE(none, all ? 50 : 1);
  EXPECT_GT(left_out, all ? 800 : 14);
}

// The row that keeps its like out does not fit by address: what it kept out does.
TEST(PlanSearch, WhatARowKeptOutComesBackWhereThatRowDoesNotFit) {
  hp::device_value device = hp::h100::device;
  device.tier[0].bytes = 276930568;
  hp::plan_prices prices(device, hp::h100::topology);
  const hp::plan_question q{
      .devices = 1, .batch = 2, .sequence = 512, .reserve = {.library_bytes = 0, .allocator_per_mille = 0}};
  const hp::plan_answer a = hp::search_simulated_plans(llama(2, 512, 8, 8, 4096, 512), q, prices, to_the_end, always);
  ASSERT_TRUE(a.ok());
  EXPECT_TRUE(a.complete);
  EXPECT_GT(a.simulations.unfit, 0);
  EXPECT_LE(a.best[0].simulated.bytes, 276930568);
}

// An answer that is ended when the first row is simulated says how many could be faster.
TEST(PlanSearch, WhatIsNotSimulatedLeavesTheSearchIncomplete) {
  int incomplete = 0;
  for (const hp::decoder& d : small_decoders::all()) {
    const hp::plan_question q = question(2);
    hp::plan_prices prices = prices_with(hp::GiB);
    const hp::plan_answer a =
        hp::search_simulated_plans(d, q, prices, to_the_end, [](bool is_needed) { return is_needed; });
    ASSERT_TRUE(a.ok());
    EXPECT_TRUE(a.best[0].simulated.ok());
    EXPECT_EQ(a.complete, a.unsimulated == 0);
    EXPECT_EQ(a.bound < a.best[0].time(), a.unsimulated > 0);
    incomplete += a.complete ? 0 : 1;
  }
  EXPECT_GT(incomplete, 0);
}

/// Dense models of 70 billion parameters to a trillion, and one with experts.
std::vector<hp::decoder> large_models() {
  return {llama(80, 8192, 64, 64, 24576, 152064),    llama(80, 8192, 64, 8, 28672, 128256),
          llama(96, 12288, 96, 96, 33024, 51200),    llama(126, 16384, 128, 8, 53248, 128256),
          llama(128, 25600, 160, 160, 68608, 51200), hp::test::deepseek_v3};
}

// k times as many micro-batches of the same size take k times as long and hold as much; k times as many layers in k times as
// many stages are counted, too. What a plan is refused for is memory, never its size.
TEST(PlanSearch, ScalingTheBatchOrTheLayersChangesNoVerdictButThatOfMemory) {
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  for (hp::decoder d : large_models()) {
    if (d.has_latents) continue;
    hp::decoder_plan p{.tp = 8, .pp = 2, .dp = 4, .zero = 1, .micro_batches = 16, .batch = 64, .sequence = 4096};
    hp::extent_t last = 0, held = 0;
    for (int k = 1; k <= 256; k *= 4) {
      hp::decoder_plan scaled = p;
      scaled.micro_batches *= k;
      scaled.batch *= k;
      const hp::plan_estimate e = hp::estimate_plan(d, scaled, prices);
      ASSERT_TRUE(e.ok());
      EXPECT_GE(e.evaluation.time, 3 * last);
      EXPECT_LE(last == 0 ? 0 : e.evaluation.time, 4 * last);
      if (k > 1) {
        EXPECT_EQ(e.evaluation.memory, held);
      }
      last = e.evaluation.time;
      held = e.evaluation.memory;
    }
    for (int k = 1; k <= 16; k *= 2) {
      hp::decoder deep = d;
      deep.layers *= k;
      hp::decoder_plan scaled = p;
      scaled.pp *= k;
      scaled.micro_batches = 4096;
      scaled.batch = 16384;
      EXPECT_TRUE(hp::estimate_plan(deep, scaled, prices).ok());
    }
  }
}

// Large models: no random plan that fits is faster by its clock or replay than what a complete search finds; those more than
// a fifth slower by the estimate are not simulated. By default 200 plans of one setting; HYPERPARALLEL_EXHAUSTIVE=1: 500 of each
// of 24 settings on up to 4 096 devices.
TEST(PlanSearch, NoPlanOfALargeModelIsFasterThanWhatIsFound) {
  const bool all = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr;
  std::mt19937 random(49);
  int searched = 0, pipelines = 0;
  for (const hp::decoder& d : large_models())
    for (const hp::extent_t devices : {64, 512, 1024, 4096}) {
      const bool is_sample = devices == 64 && d.hidden == 8192 && d.attention.key_heads == 64;
      if (!all && !is_sample) continue;
      const hp::plan_question q{.devices = devices, .batch = devices == 64 ? 1024 : 4 * devices, .sequence = 4096};
      hp::plan_prices prices(hp::h100::device, hp::h100::topology);
      const hp::plan_answer a = hp::search_simulated_plans(d, q, prices, to_the_end, always);
      EXPECT_EQ(a.uncounted, 0);
      EXPECT_TRUE(a.complete);
      ++searched;
      const hp::extent_t most = q.reserve.most_peak(prices.device().tier[0].bytes);
      const hp::extent_t best = a.ok() ? a.best[0].time() : hp::not_counted;
      pipelines += a.ok() && a.best[0].plan.pp > 1;
      std::vector<hp::decoder_plan> legal;
      hp::visit_legal_plans(d, q, [&](const hp::decoder_plan& p) { legal.push_back(p); });
      std::shuffle(legal.begin(), legal.end(), random);
      legal.resize(std::min<std::size_t>(legal.size(), all ? 500 : 200));
      int simulated = 0;
      for (const hp::decoder_plan& p : legal) {
        const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
        ASSERT_TRUE(e.ok());
        if (e.evaluation.time / 5 * 4 >= best || hp::memory_bound(d, p) > most || ++simulated > 300) continue;
        const hp::simulated_plan by_clock = hp::simulate_plan(d, p, prices, most);
        if (by_clock.ok()) {
          EXPECT_GE(by_clock.times.makespan, best);
        }
      }
    }
  EXPECT_EQ(searched, all ? 24 : 1);
  EXPECT_GE(pipelines, 1);
}

// A step of 26 days or more has no time: plans that no bound excludes are counted by themselves, and nothing is complete.
TEST(PlanSearch, WhatIsNotCountedLeavesTheSearchIncomplete) {
  hp::plan_prices prices = prices_with(hp::extent_t{1} << 50);
  const hp::plan_question q{.devices = 1, .batch = hp::largest_plan_number, .sequence = hp::largest_plan_number};
  const hp::plan_answer a = hp::search_plans(hp::test::llama3_8b, q, prices, to_the_end);
  EXPECT_FALSE(a.ok());
  EXPECT_FALSE(a.complete);
  EXPECT_GT(a.uncounted, 0);
  EXPECT_EQ(a.priced + a.left + a.slower(), 0);
  EXPECT_EQ(a.uncounted + a.too_large, a.legal);
  EXPECT_LT(a.bound, hp::not_counted);
}

TEST(PlanSearch, ARowFallsBehindByItsClock) {
  const hp::decoder d = small_decoders::dense();
  const hp::plan_question q = question(4);
  hp::plan_prices prices = prices_with(hp::GiB);
  hp::plan_answer a;
  for (const int zero : {3, 0})
    a.best.push(hp::estimate_plan(d, {.dp = 4, .zero = zero, .batch = 16, .sequence = 48}, prices));
  a.best[0].evaluation.time = 1;  // as an estimate that is far too short
  hp::simulate_best(d, q, prices, a, [] { return true; });
  ASSERT_EQ(a.best.size, 2);
  EXPECT_EQ(a.simulations.made, 2);
  EXPECT_EQ(a.best[0].plan.zero, 0);
  EXPECT_EQ(a.best[1].plan.zero, 3);
  EXPECT_LT(a.best[0].time(), a.best[1].time());
}

TEST(PlanSearch, ARowWhoseAddressesExceedTheMemoryIsNone) {
  const hp::decoder d = small_decoders::dense();
  hp::plan_question q = question(2);
  hp::plan_prices prices = prices_with(hp::GiB);
  hp::plan_answer a = hp::search_plans(d, q, prices, to_the_end);
  ASSERT_TRUE(a.ok());
  hp::plan_prices small = prices_with(1);
  const int rows = a.best.size;
  int unfit = 0;
  for (int row = rows - 1; row >= 0; --row) unfit += !hp::simulate_row(d, q, small, a, row);
  EXPECT_EQ(unfit, rows);
  EXPECT_EQ(a.simulations.unfit, unfit);
  EXPECT_EQ(a.best.size, rows - unfit);
}

TEST(MemoryReserve, LeavesRoomForItself) {
  for (const hp::extent_t per_mille : {0, 30, 1000})
    for (const hp::extent_t library : {0, 100})
      for (hp::extent_t bytes = 0; bytes < 5000; bytes += 7) {
        const hp::memory_reserve r{.library_bytes = library, .allocator_per_mille = per_mille};
        const hp::extent_t peak = r.most_peak(bytes);
        if (bytes > library) {
          EXPECT_LE(r.needed(peak), bytes);
          EXPECT_GT(r.needed(peak + 1), bytes);
        } else {
          EXPECT_EQ(peak, 0);
        }
      }
}

// On a stack that is walked, too: what it computes and the moves that are exposed, of all plans that it has rules for; the time of a
// plan is what the stack computes and these.
TEST(PlanSearch, FindsTheFastestOfAWalkedStack) {
  const hp::stack_rules& fsdp2 = *hp::find_stack("fsdp2");
  hp::decoder d = hp::test::llama3_8b;
  d.layers = 4;
  int compared = 0;
  for (const hp::extent_t devices : {1, 4, 8}) {
    const hp::plan_question q{.devices = devices, .batch = 16, .sequence = 2048, .stack = fsdp2};
    hp::plan_prices prices(hp::h100::device, hp::h100::topology);
    hp::extent_t best = hp::not_counted, least = hp::not_counted;
    for (const hp::decoder_plan& p : all_plans(d, q)) {
      if (hp::check_stack(d, p, fsdp2) != hp::stack_code::ok) continue;
      const hp::plan_estimate e = hp::estimate_plan(d, p, prices, fsdp2);
      ASSERT_TRUE(e.ok());
      const hp::extent_t computing = hp::stack_time_of(d, p, fsdp2, prices.device()).total();
      EXPECT_EQ(e.time(), computing + e.exposed());
      EXPECT_EQ(e.computing(), computing);
      if (e.memory() <= q.reserve.most_peak(prices.device().tier[0].bytes)) best = std::min(best, e.time());
      least = std::min(least, e.memory());
      ++compared;
    }
    const hp::plan_answer a = hp::search_plans(d, q, prices, to_the_end);
    ASSERT_TRUE(a.ok());
    EXPECT_TRUE(a.complete);
    EXPECT_EQ(a.best[0].time(), best);
    // Where none fits, the one that needs least is named.
    hp::device_value small = hp::h100::device;
    small.tier[0].bytes = hp::GiB;
    hp::plan_prices few(small, hp::h100::topology);
    const hp::plan_answer none = hp::search_plans(d, q, few, to_the_end);
    EXPECT_FALSE(none.ok());
    EXPECT_TRUE(none.complete);
    EXPECT_EQ(none.least_unfit.memory(), least);
  }
  EXPECT_GT(compared, 20);
}

}  // namespace
