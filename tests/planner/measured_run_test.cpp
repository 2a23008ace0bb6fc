// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/measured_run.hpp>

#include <hyperparallel/planner/known_hardware.hpp>
#include <hyperparallel/planner/plan_search.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <layers/decoder_shapes.hpp>

#include "measured_runs.hpp"
#include "small_decoders.hpp"

namespace {

namespace hp = hyperparallel;

constexpr hp::memory_reserve no_reserve{.library_bytes = 0, .allocator_per_mille = 0};
constexpr const hp::stack_rules& library = hp::known_stacks[0];
const hp::stack_rules& megatron = *hp::find_stack("megatron");
const hp::stack_rules& fsdp2 = *hp::find_stack("fsdp2");

/// What hp plan says of a plan with a calibration.
struct told {
  hp::plan_estimate estimate{};
  hp::extent_t computing = 0, step = 0, needed = 0;
};
told told_of(const hp::decoder& d, const hp::decoder_plan& p, const hp::plan_prices& stated, hp::memory_reserve reserve,
             const hp::stack_rules& stack, const hp::calibration& c) {
  reserve.measured_beside = c.beside;
  const hp::extent_t bytes = stated.device().tier[0].bytes;
  hp::plan_prices prices(hp::calibrated_device(stated.device(), stack, c), stated.links());
  told t;
  t.estimate = hp::estimate_plan(d, p, prices, hp::calibrated_stack(stack, c));
  EXPECT_TRUE(t.estimate.ok());
  t.estimate.simulated =
      hp::simulate_plan(d, p, prices, stack.walked ? hp::largest_simulated_memory : reserve.most_peak(bytes));
  t.computing = t.estimate.computing();
  t.step = t.estimate.time();
  t.needed = hp::needed_of(t.estimate, reserve);
  return t;
}

hp::memory_reserve calibrated_reserve(const hp::calibration& c) {
  hp::memory_reserve reserve;
  reserve.measured_beside = c.beside;
  return reserve;
}

struct asked_plan {
  hp::decoder model;
  hp::decoder_plan plan;
  const hp::stack_rules* stack;
};
std::vector<asked_plan> asked_plans() {
  const hp::decoder llama = hp::test::llama3_8b;
  std::vector<asked_plan> all;
  for (const hp::decoder& d : {small_decoders::dense(), small_decoders::with_experts(), small_decoders::latent()})
    all.push_back({d, {.tp = 2, .dp = 2, .zero = 1, .batch = 8, .sequence = 8}, &library});
  for (const hp::stack_rules* stack : {&library, &megatron}) {
    all.push_back({llama, {.tp = 8, .dp = 2, .zero = 1, .batch = 16, .sequence = 4096}, stack});
    all.push_back(
        {llama, {.tp = 2, .pp = 4, .dp = 2, .zero = 1, .micro_batches = 8, .batch = 16, .sequence = 4096}, stack});
    all.push_back({llama, {.dp = 16, .zero = 3, .recomputed = true, .batch = 32, .sequence = 4096}, stack});
  }
  all.push_back({llama, {.dp = 16, .zero = 3, .recomputed = true, .batch = 32, .sequence = 4096}, &fsdp2});
  all.push_back({llama, {.tp = 4, .dp = 4, .zero = 3, .batch = 16, .sequence = 8192}, &fsdp2});
  return all;
}
const hp::plan_prices& h100() {
  static const hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  return prices;
}
hp::extent_t times(hp::extent_t n, double factor) { return static_cast<hp::extent_t>(static_cast<double>(n) * factor); }

// A run that is as predicted changes nothing, bit for bit.
TEST(MeasuredRun, AsPredictedChangesNothing) {
  EXPECT_EQ(hp::detail::slower_device(hp::h100::device, 1), hp::h100::device);
  for (const asked_plan& a : asked_plans()) {
    const told before = told_of(a.model, a.plan, h100(), {}, *a.stack, {});
    if (before.needed > h100().device().tier[0].bytes) continue;  // a run that was there would say that it needs less
    const hp::calibration memory =
        hp::calibrate(a.model, {.plan = a.plan, .memory = before.needed - 2 * hp::GiB}, h100(), {}, *a.stack);
    EXPECT_EQ(memory, hp::calibration{});
    if (a.stack->walked) continue;
    const hp::calibration both = hp::calibrate(
        a.model, {.plan = a.plan, .step = before.step, .memory = before.needed - 2 * hp::GiB}, h100(), {}, *a.stack);
    EXPECT_EQ(both, hp::calibration{});
  }
}

// With the calibration the measured plan takes the measured step, and needs the measured memory beside libraries.
TEST(MeasuredRun, ThePredictionOfItsPlanIsWhatWasMeasured) {
  int held = 0, number = 0;
  for (const asked_plan& a : asked_plans()) {
    const told before = told_of(a.model, a.plan, h100(), {}, *a.stack, {});
    // More or less of both in turn.
    const auto [slower, larger] = ++number % 2 == 0 ? std::pair{0.9, 1.3} : std::pair{1.25, 0.8};
    const hp::measured_run run{
        .plan = a.plan, .step = times(before.step, slower), .memory = times(before.needed - 2 * hp::GiB, larger)};
    const hp::calibration c = hp::calibrate(a.model, run, h100(), {}, *a.stack);
    std::printf("%s: code %d, computing %.3f, beside %.1f GiB\n", a.stack->name, static_cast<int>(c.code), c.factor,
                static_cast<double>(c.beside) / static_cast<double>(hp::GiB));
    if (c.code == hp::calibration_code::memory_exceeds_device || c.code == hp::calibration_code::step_is_below_moves)
      continue;
    ASSERT_TRUE(c.ok());
    ++held;
    const told after = told_of(a.model, a.plan, h100(), {}, *a.stack, c);
    EXPECT_LE(std::abs(after.step - run.step), run.step / 1000 + 2)
        << a.stack->name << " " << slower << " " << c.factor;
    if (a.stack->walked) {
      EXPECT_LE(std::abs(after.step - run.step), 2);
      EXPECT_LE(std::abs(after.estimate.time() - run.step), run.step / 1000 + 2);
    }
    EXPECT_EQ(after.needed, std::min(run.memory + 2 * hp::GiB, h100().device().tier[0].bytes));
    EXPECT_TRUE(hp::is_answer(hp::verdict_of(after.estimate, calibrated_reserve(c), h100().device().tier[0].bytes)));
  }
  EXPECT_GT(held, 6);
}

// Computing scales with the factor, links and data-sheet bounds stay.
TEST(MeasuredRun, ComputingScales) {
  for (const asked_plan& a : asked_plans())
    for (const double factor : {0.2, 1.7}) {
      const told before = told_of(a.model, a.plan, h100(), no_reserve, *a.stack, {});
      const told after = told_of(a.model, a.plan, h100(), no_reserve, *a.stack, {.factor = factor});
      const auto is_scaled = [&](hp::extent_t x, hp::extent_t y) {
        EXPECT_NEAR(static_cast<double>(y) / static_cast<double>(x) / factor, 1.0, 1e-3) << a.stack->name << factor;
      };
      if (!a.stack->walked)
        is_scaled(before.estimate.evaluation.times.compute_busy, after.estimate.evaluation.times.compute_busy);
      // Of a pipeline it has the bubble, in which stages wait for moves, too.
      if (a.plan.pp == 1) is_scaled(before.computing, after.computing);
      EXPECT_EQ(before.estimate.received[0], after.estimate.received[0]);
    }
}

// Every rate that a device states stays one, and its tiers in order.
TEST(MeasuredRun, DevicesStayOnesThatCanBe) {
  for (const hp::known_hardware& h : hp::hardware_presets)
    for (const double factor : {hp::detail::least_tried, 0.2, 3.7, hp::detail::most_tried}) {
      const hp::device_value d = hp::detail::slower_device(h.device, factor);
      EXPECT_EQ(hp::check(d).code, hp::check(h.device).code) << h.name.text << factor;
      for (int f = 0; f < hp::number_format_count; ++f) EXPECT_EQ(d.matrix_flops[f] > 0, h.device.matrix_flops[f] > 0);
      EXPECT_EQ(d.tier[0].bytes, h.device.tier[0].bytes);
      EXPECT_EQ(d.gmm_cold, h.device.gmm_cold);
    }
}

// Phases and parts scale, and add up to the total with what the device waits; one that never waits does not then.
TEST(MeasuredRun, TimesOfAStackScale) {
  const hp::decoder d = hp::test::llama3_8b;
  for (const hp::extent_t sequence : {128, 4096})
    for (const double factor : {0.31, 0.999, 1.1, 7.3}) {
      const hp::decoder_plan p{.dp = 8, .zero = 3, .batch = 8, .sequence = sequence};
      const hp::stack_time whole = hp::stack_time_of(d, p, fsdp2, hp::h100::device), t = hp::scaled(whole, factor);
      EXPECT_NEAR(static_cast<double>(t.total()), static_cast<double>(whole.total()) * factor, 1);
      EXPECT_NEAR(static_cast<double>(t.idle()), static_cast<double>(whole.idle()) * factor, 1);
      EXPECT_NEAR(static_cast<double>(t.forward), static_cast<double>(whole.forward) * factor, 1);
      EXPECT_EQ(t.total(), t.busy() + t.idle());
      EXPECT_LE(t.host, t.total());
      EXPECT_EQ(hp::scaled(whole, 1), whole);
    }
}

// Steps of a computing and moves of which a share is hidden: the factor is found, or moves alone take longer.
constexpr hp::extent_t largest(hp::extent_t a, hp::extent_t b) { return a < b ? b : a; }
struct overlapped {
  hp::extent_t compute, moves;
  double hidden;
  constexpr hp::detail::predicted_step operator()(double f) const {
    const auto busy = static_cast<hp::extent_t>(static_cast<double>(compute) * f);
    return {true, busy, largest(moves - static_cast<hp::extent_t>(static_cast<double>(busy) * hidden), 0)};
  }
};
TEST(MeasuredRun, FactorsAreFoundWhateverIsHidden) {
  constexpr hp::extent_t ms = 1'000'000'000;
  for (const hp::extent_t compute : {ms, 40 * ms, 900 * ms})
    for (const hp::extent_t moves : {hp::extent_t{0}, 30 * ms, 700 * ms})
      for (const double hidden : {0.0, 0.3, 0.9, 1.0})
        for (const hp::extent_t measured : {ms / 2, 20 * ms, 350 * ms, 701 * ms, 4000 * ms}) {
          const overlapped step{compute, moves, hidden};
          const hp::detail::found_factor found = hp::detail::factor_of(measured, step);
          const bool can_be = step(hp::detail::least_tried).total() <= measured && step(20).total() >= measured;
          if (can_be) {
            EXPECT_TRUE(found.is_reached);
            EXPECT_LE(std::abs(step(found.factor).total() - measured), measured / 1000 + 1)
                << compute << " " << moves << " " << hidden << " " << measured;
          } else if (step(hp::detail::least_tried).total() > measured + measured / 1000) {
            EXPECT_FALSE(found.is_reached);
          }
        }
}
static_assert(hp::detail::factor_of(3000, overlapped{1000, 1000, 0}).factor == 2);
static_assert(hp::detail::slower_device(hp::h100::device, 2).tier[0].bandwidth ==
              hp::h100::device.tier[0].bandwidth / 2);
static_assert(hp::scaled({.forward = 3, .backward = 5, .update = 1, .part = {9}}, 2).total() == 18);

// What is held beside all that is counted, over small numbers: the largest peak that fits, and nothing below 0.
TEST(MeasuredRun, ReservesHaveWhatIsBeside) {
  for (const hp::extent_t beside : {-40, -3, 0, 5, 60})
    for (const hp::extent_t library_bytes : {0, 7})
      for (const hp::extent_t waste : {0, 30, 1000}) {
        const hp::memory_reserve r{library_bytes, waste, beside};
        EXPECT_EQ(r.without_waste().measured_beside, beside);
        for (hp::extent_t bytes = 0; bytes < 120; ++bytes) {
          EXPECT_EQ(r.needed(bytes), std::max(r.without_measured().needed(bytes) + beside, hp::extent_t{0}));
          EXPECT_EQ(r.needed(hp::not_counted), hp::not_counted);
          const hp::extent_t most = r.most_peak(bytes);
          if (most > 0) {
            EXPECT_LE(r.needed(most), bytes);
          }
          EXPECT_GT(r.needed(most + 1), bytes);
        }
      }
}

// Brute force: a search with a calibration finds what pricing all plans with it finds, and none whose parameters and states do
// not fit, however little the run held.
TEST(MeasuredRun, SearchesHaveTheCalibration) {
  int answered = 0, floored = 0;
  for (const hp::decoder& d : {small_decoders::dense(), small_decoders::with_experts()})
    for (const hp::extent_t beside : {-100'000, 6'000})
      for (const hp::extent_t bytes : {8'000, 25'000, 100'000}) {
        hp::device_value device = hp::matrix384::device;
        device.tier[0].bytes = bytes;
        hp::plan_prices prices(hp::detail::slower_device(device, 4), hp::matrix384::topology);
        hp::plan_question q{.devices = 4, .batch = 8, .sequence = 24, .reserve = no_reserve};
        q.reserve.measured_beside = beside;
        hp::extent_t best = hp::not_counted;
        hp::visit_legal_plans(d, q, [&](const hp::decoder_plan& p) {
          const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
          EXPECT_LE(hp::time_bound(d, p, prices), e.evaluation.time);
          EXPECT_GE(hp::needed_of(e, q.reserve), beside < 0 ? hp::detail::held_throughout(e) : hp::extent_t{0});
          const bool fits = hp::verdict_of(e, q.reserve, bytes) == hp::fit_verdict::fits;
          EXPECT_EQ(fits, hp::needed_of(e, q.reserve) <= bytes);
          floored += !fits && q.reserve.needed(e.memory()) <= bytes;
          if (fits) best = std::min(best, e.evaluation.time);
        });
        const hp::plan_answer a = hp::search_plans(d, q, prices, [](const hp::plan_progress&) { return true; });
        EXPECT_TRUE(a.complete);
        EXPECT_EQ(a.ok(), best != hp::not_counted);
        if (a.ok()) {
          EXPECT_EQ(a.best[0].evaluation.time, best);
        }
        answered += a.ok();
      }
  EXPECT_GT(answered, 3);
  EXPECT_GT(floored, 3);
}

// A run that contradicts itself has a code with the amount that it contradicts.
TEST(MeasuredRun, ContradictionsAreRefused) {
  const hp::decoder d = hp::test::llama3_8b;
  const hp::decoder_plan p{.tp = 8, .dp = 2, .zero = 1, .batch = 16, .sequence = 4096};
  const hp::extent_t least = hp::sheet_bound(d, p, h100().device(), h100().links()).picoseconds();
  const auto of = [&](hp::extent_t step, hp::extent_t memory) {
    return hp::calibrate(d, {.plan = p, .step = step, .memory = memory}, h100(), {});
  };
  EXPECT_EQ(of(least - 1, 0).code, hp::calibration_code::step_is_below_sheet);
  EXPECT_EQ(of(least - 1, 0).limit, least);
  EXPECT_EQ(of(100'000'000'000'000, 0).code, hp::calibration_code::factor_is_out_of_range);
  EXPECT_GT(of(100'000'000'000'000, 0).factor, hp::most_calibration);
  EXPECT_EQ(of(0, 80 * hp::GiB + 1).code, hp::calibration_code::memory_exceeds_device);
  EXPECT_EQ(of(0, 7 * hp::GiB).code, hp::calibration_code::memory_is_below_states);
  EXPECT_EQ(of(0, 7 * hp::GiB).limit, hp::detail::held_throughout(told_of(d, p, h100(), {}, library, {}).estimate));
  // Over links that are slow by what is predicted, not by their data sheet, moves alone take longer.
  hp::topology_value slow = hp::h100::topology;
  for (int l = 0; l < slow.level_count; ++l) slow.level[l].latency *= 100'000;
  const hp::plan_prices far(hp::h100::device, slow);
  const hp::calibration c = hp::calibrate(d, {.plan = p, .step = 2 * least}, far, {});
  EXPECT_EQ(c.code, hp::calibration_code::step_is_below_moves);
  EXPECT_GT(c.limit, 2 * least);
  EXPECT_EQ(hp::calibrate(d, {.plan = {.batch = 1 << 24, .sequence = 1 << 24}, .step = 1'000'000}, h100(), {}).code,
            hp::calibration_code::is_not_counted);
}

/// Errors of all other runs of a group, before and after one of it calibrates.
struct held_out {
  double before = 0, after = 0;
  int pairs = 0;
  void add(double predicted, double calibrated, double measured) {
    before += std::abs(predicted / measured - 1);
    after += std::abs(calibrated / measured - 1);
    ++pairs;
  }
  void print(const char* what) const {
    std::printf("%-44s %4d pairs: mean error %5.2f %% before, %5.2f %% after\n", what, pairs, 100 * before / pairs,
                100 * after / pairs);
  }
};

struct published_step {
  int devices;
  double seconds;
};
/// A model in a format at several scales, the smallest first: as much a device, so that data ranks alone differ.
struct published_runs {
  const char* name;
  hp::extent_t hidden, layers, heads, width;
  const char* format;
  int tp, pp, cp, chunks;
  hp::extent_t micro_batches;
  std::vector<published_step> step;
};

// The smallest of published runs predicts the larger ones. Source: NVIDIA's dgxc-benchmarking, llama3.1 of tag v25.02, steps of sequences of 8192 tokens on H100.
TEST(MeasuredRun, APublishedRunPredictsLargerScales) {
  const published_runs all[] = {
      {"llama3-8b", 4096, 32, 32, 14336, "fp8", 1, 1, 2, 1, 32, {{8, 9.44}, {16, 9.47}, {32, 9.6}}},
      {"llama3-70b",
       8192,
       80,
       64,
       28672,
       "bf16",
       4,
       4,
       2,
       5,
       64,
       {{64, 14.61}, {128, 14.7}, {256, 14.72}, {512, 14.8}, {1024, 14.86}}},
      {"llama3-70b",
       8192,
       80,
       64,
       28672,
       "fp8",
       4,
       4,
       2,
       5,
       64,
       {{64, 10.46}, {128, 10.52}, {512, 10.76}, {1024, 10.83}}},
      {"llama3-405b", 16384, 126, 128, 53248, "fp8", 8, 9, 2, 7, 63, {{576, 11.0}, {1152, 11.1}}},
  };
  const hp::known_hardware& hardware = *hp::find_hardware("h100");
  held_out sum;
  for (const published_runs& runs : all) {
    hp::decoder d = hp::test::llama3_8b;
    d.hidden = runs.hidden;
    d.layers = runs.layers;
    d.attention.query_heads = runs.heads;
    d.feed_forward.width = runs.width;
    const auto plan_on = [&](int devices) {
      hp::decoder_plan p{.tp = runs.tp,
                         .pp = runs.pp,
                         .dp = devices / runs.tp / runs.pp / runs.cp,
                         .cp = runs.cp,
                         .zero = 1,
                         .micro_batches = static_cast<int>(runs.micro_batches),
                         .sequence = 8192};
      p.batch = p.dp * runs.micro_batches;
      p.formats = hp::find_formats(runs.format)->formats;
      p.chunks = runs.chunks;
      if (runs.chunks > 1)
        p.schedule = static_cast<int>(hp::schedule_called("Interleaved1F1B") - hp::schedule_table.item);
      EXPECT_TRUE(hp::check_plan(d, p, devices).ok());
      return p;
    };
    const auto prices_of = [&](int devices) {
      return hp::plan_prices(hp::reported_device(hardware), hp::dealt_evenly(hardware.links, devices));
    };
    const auto seconds = [&](int devices, const hp::calibration& c) {
      return static_cast<double>(told_of(d, plan_on(devices), prices_of(devices), {}, megatron, c).step) / 1e12;
    };
    const published_step& smallest = runs.step[0];
    const hp::measured_run run{.plan = plan_on(smallest.devices),
                               .step = static_cast<hp::extent_t>(smallest.seconds * 1e12)};
    const hp::calibration c = hp::calibrate(d, run, prices_of(smallest.devices), {}, megatron);
    ASSERT_TRUE(c.ok());
    held_out of_runs;
    for (const published_step& s : runs.step) {
      if (s.devices == smallest.devices) continue;
      const double before = seconds(s.devices, {}), after = seconds(s.devices, c);
      of_runs.add(before, after, s.seconds);
      sum.add(before, after, s.seconds);
    }
    of_runs.print((std::string(runs.name) + " in " + runs.format + ", larger scales").c_str());
  }
  sum.print("published runs at larger scales");
  EXPECT_EQ(sum.pairs, 10);
  EXPECT_LE(sum.after, 0.01 * sum.pairs);
  EXPECT_LE(sum.after, sum.before / 3);
}

// Runs of one model on one stack, measured on one H100: each predicts the others, whose sequence, micro-batch, devices or recomputation differ.
// Nothing is waited for over links there, so steps are what is computed.
TEST(MeasuredRun, OneRunPredictsTheOthersOfItsModel) {
  std::map<std::string, std::vector<measured_runs::measured_run>> groups;
  for (measured_runs::measured_run& r : measured_runs::all())
    groups[r.name.substr(0, r.name.find(' ')) + " on " + r.stack->name].push_back(r);
  held_out stack_time, large_time, longest_time, own_time, stack_memory, own_memory;
  for (const auto& [name, runs] : groups) {
    held_out of_group;
    const auto longest = std::max_element(runs.begin(), runs.end(),
                                          [](const auto& a, const auto& b) { return a.step_seconds < b.step_seconds; });
    for (const measured_runs::measured_run& by : runs) {
      if (by.step_seconds <= 0) continue;
      const auto computing = [&](const measured_runs::measured_run& r) {
        return static_cast<double>(hp::stack_time_of(r.model, r.plan, *r.stack, hp::h100::device).total()) / 1e12;
      };
      const auto own = [&](const measured_runs::measured_run& r) {
        hp::plan_prices prices(hp::h100::device, hp::h100::topology);
        return hp::estimate_plan(r.model, r.plan, prices);
      };
      const auto needed = [&](hp::extent_t bytes) {
        return static_cast<double>(hp::memory_reserve{}.without_waste().needed(bytes));
      };
      const double factor = by.step_seconds / computing(by);
      const hp::plan_estimate own_by = own(by);
      const double own_factor = by.step_seconds / (static_cast<double>(own_by.computing()) / 1e12);
      const auto reserved = [](const measured_runs::measured_run& r) {
        return static_cast<double>(hp::stack_memory_of(r.model, r.plan, *r.stack).reserved);
      };
      for (const measured_runs::measured_run& r : runs) {
        if (&r == &by || r.step_seconds <= 0) continue;
        const double predicted = computing(r);
        stack_time.add(predicted, factor * predicted, r.step_seconds);
        of_group.add(predicted, factor * predicted, r.step_seconds);
        if (by.step_seconds >= 0.2 && r.step_seconds >= 0.2)
          large_time.add(predicted, factor * predicted, r.step_seconds);
        if (&by == &*longest) longest_time.add(predicted, factor * predicted, r.step_seconds);
        const hp::plan_estimate e = own(r);
        const double seconds = static_cast<double>(e.computing()) / 1e12;
        own_time.add(seconds, own_factor * seconds, r.step_seconds);
        if (by.measured.reserved <= 0 || r.measured.reserved <= 0) continue;
        const auto has = static_cast<double>(r.measured.reserved), by_has = static_cast<double>(by.measured.reserved);
        stack_memory.add(reserved(r), reserved(r) + by_has - reserved(by), has);
        own_memory.add(needed(e.memory()), needed(e.memory()) + by_has - needed(own_by.memory()), has);
      }
    }
    if (of_group.pairs > 0) of_group.print(name.c_str());
  }
  stack_time.print("seconds, stack of the run");
  large_time.print("seconds, stack of the run, from 0.2 s on");
  longest_time.print("seconds, stack of the run, by the longest");
  own_time.print("seconds, --stack library");
  stack_memory.print("reserved, stack of the run");
  own_memory.print("reserved, --stack library");
  EXPECT_GT(stack_time.pairs, 150);
  EXPECT_LE(own_time.after, 0.7 * own_time.before);
}

}  // namespace
