// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/rl_step.hpp>

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

constexpr hp::rl_phases phases{{60, 3200}, {20, 9600}, 5};

// Both functions are the same at compile time.
static_assert(hp::synchronous_step(phases, 32) == 60 + 100 + 20 + 300 + 5);
static_assert(hp::asynchronous_step(phases, {16, 16}, {}) == (60 + 200) + (20 + 600) + 5);
static_assert(hp::asynchronous_step(phases, {16, 16}, {.staleness = 1, .by_whole_batch = true}) == 620 + 5);
static_assert(hp::waiting_share(4) == 0.75);

std::vector<hp::rl_handover> handovers() {
  std::vector<hp::rl_handover> all;
  for (const int chunks : {1, 2, 3, 4, 16})
    for (const double staleness : {0.0, 0.1, 0.25, 0.5, 0.9, 1.0, 2.0})
      for (const bool partial : {false, true})
        for (const bool whole : {false, true}) all.push_back({chunks, staleness, partial, whole});
  return all;
}

const std::vector<hp::rl_phases> several{
    phases, {{0, 1000}, {0, 1000}, 0}, {{400, 10}, {3, 500}, 1}, {{5, 9000}, {0, 10}, 0}};

// The chunks one after the other, each when it is there and the one before is done.
double by_chunks(const hp::rl_phases& p, hp::rl_split s, const hp::rl_handover& how) {
  const double g = hp::generator_seconds(p.generation, s.rollout, how), u = p.training.on(s.trainer);
  double end = 0;
  for (int j = 1; j <= how.chunks; ++j) {
    const double there = std::max(0.0, (static_cast<double>(j) / how.chunks - how.staleness) * g);
    end = std::max(end, there) + u / how.chunks;
  }
  return std::max(end, g) + p.rest;
}

TEST(RlStep, ClosedFormIsTheChunksInTurn) {
  for (const hp::rl_phases& p : several)
    for (const hp::rl_handover& how : handovers())
      for (const hp::rl_split s : {hp::rl_split{1, 1}, hp::rl_split{8, 24}, hp::rl_split{100, 28}}) {
        const double expected = by_chunks(p, s, how);
        EXPECT_NEAR(hp::asynchronous_step(p, s, how), expected, 1e-9 * expected);
      }
}

TEST(RlStep, LiesBetweenTheLongerSideAndBothInTurn) {
  for (const hp::rl_phases& p : several)
    for (const hp::rl_handover& how : handovers()) {
      const hp::rl_split s{12, 20};
      const double g = hp::generator_seconds(p.generation, 20, how), u = p.training.on(12);
      const double t = hp::asynchronous_step(p, s, how);
      EXPECT_GE(t, std::max(g, u) + p.rest);
      EXPECT_LE(t, (g + u + p.rest) * (1 + 1e-12));
      if (how.chunks == 1 && how.staleness == 0) {
        EXPECT_DOUBLE_EQ(t, g + u + p.rest);
      }
      if (how.staleness >= 1) {
        EXPECT_DOUBLE_EQ(t, std::max(g, u) + p.rest);
      }
    }
}

TEST(RlStep, MoreOfAnythingTakesNoLonger) {
  for (const hp::rl_phases& p : several)
    for (const hp::rl_handover& how : handovers()) {
      const double t = hp::asynchronous_step(p, {8, 8}, how) * (1 + 1e-12);
      EXPECT_LE(hp::asynchronous_step(p, {9, 8}, how), t);
      EXPECT_LE(hp::asynchronous_step(p, {8, 9}, how), t);
      hp::rl_handover more = how;
      more.staleness += 0.2;
      EXPECT_LE(hp::asynchronous_step(p, {8, 8}, more), t);
      more = how;
      more.chunks *= 2;
      EXPECT_LE(hp::asynchronous_step(p, {8, 8}, more), t);
      more = how;
      more.partial = true;
      EXPECT_LE(hp::asynchronous_step(p, {8, 8}, more), t);
      EXPECT_LE(hp::synchronous_step(p, 9), hp::synchronous_step(p, 8));
    }
}

// Where all phases scale, a split gains nothing: the work is the same.
TEST(RlStep, WithoutAWaitNoSplitBeatsTheSynchronousStep) {
  for (const hp::rl_phases& p : several) {
    const hp::rl_phases scaled{{0, p.generation.work}, {0, p.training.work}, p.rest};
    for (const hp::rl_handover& how : handovers())
      for (int rollout = 1; rollout < 32; ++rollout)
        EXPECT_GE(hp::asynchronous_step(scaled, {32 - rollout, rollout}, how),
                  hp::synchronous_step(scaled, 32) * (1 - 1e-12));
  }
}

TEST(RlStep, BestSplitIsTheBestOfAll) {
  for (const hp::rl_phases& p : several)
    for (const hp::rl_handover& how : handovers()) {
      const hp::rl_split best = hp::best_split(p, 24, how);
      EXPECT_EQ(best.trainer + best.rollout, 24);
      for (int rollout = 1; rollout < 24; ++rollout)
        EXPECT_LE(hp::asynchronous_step(p, best, how), hp::asynchronous_step(p, {24 - rollout, rollout}, how));
    }
}

TEST(RlStep, FittedPhaseIsTheCurveItsPointsLieOn) {
  for (const hp::rl_phase truth : {hp::rl_phase{60, 3200}, hp::rl_phase{0, 100}, hp::rl_phase{7, 0}}) {
    const std::vector<hp::rl_point> points{{8, truth.on(8)}, {32, truth.on(32)}, {64, truth.on(64)}};
    const hp::rl_phase found = hp::fitted_phase(points, 0.5);
    EXPECT_NEAR(found.fixed, truth.fixed, 1e-8);
    EXPECT_NEAR(found.work, truth.work, 1e-6);
  }
}

TEST(RlStep, FittedPhaseOfOneNumberOfDevicesTakesTheShare) {
  const std::vector<hp::rl_point> points{{32, 100}, {32, 100}};
  const hp::rl_phase found = hp::fitted_phase(points, 0.75);
  EXPECT_DOUBLE_EQ(found.fixed, 75);
  EXPECT_DOUBLE_EQ(found.on(32), 100);
}

// A phase that takes longer on more devices is no work, one that falls faster than devices rise is nothing but work.
TEST(RlStep, FittedPhaseHasNoPartBelowZero) {
  const hp::rl_phase rising = hp::fitted_phase(std::vector<hp::rl_point>{{8, 10}, {16, 12}}, 0);
  EXPECT_EQ(rising.work, 0);
  EXPECT_GT(rising.fixed, 10);
  const hp::rl_phase falling = hp::fitted_phase(std::vector<hp::rl_point>{{8, 10}, {16, 2}}, 0);
  EXPECT_EQ(falling.fixed, 0);
  EXPECT_GT(falling.work, 0);
}

}  // namespace
