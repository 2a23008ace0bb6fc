// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/stage_replay.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace {

namespace hp = hyperparallel;

hp::growing_array<hp::stage_passes> random_stages(std::mt19937& random, int count, int most) {
  std::uniform_int_distribution<hp::extent_t> time(1, most);
  hp::growing_array<hp::stage_passes> stages;
  for (int s = 0; s < count; ++s) {
    hp::stage_passes one;
    for (hp::pass_time* p : {&one.forward, &one.backward, &one.update}) {
      p->time = time(random);
      p->computed = p->time / 2;
      p->moved = p->time / 3;
    }
    stages.push(one);
  }
  return stages;
}

/// The end of the last backward by going over all passes until nothing changes, each as early as its stage and its neighbours
/// let it. Rows of 1F1B written out from its description.
hp::extent_t relaxed(const hp::growing_array<hp::stage_passes>& stages, int m, hp::extent_t hop) {
  const int p = stages.size;
  struct pass {
    bool backward;
    int k;
  };
  std::vector<std::vector<pass>> row(static_cast<std::size_t>(p));
  for (int s = 0; s < p; ++s) {
    const int ahead = std::min(m, p - s);
    auto& out = row[static_cast<std::size_t>(s)];
    for (int k = 0; k < ahead; ++k) out.push_back({false, k});
    for (int k = 0; k < m; ++k) {
      out.push_back({true, k});
      if (k + ahead < m) out.push_back({false, k + ahead});
    }
  }
  const auto at = [&](int s, bool backward, int k) { return static_cast<std::size_t>((s * 2 + backward) * m + k); };
  std::vector<hp::extent_t> end(static_cast<std::size_t>(2 * p * m), 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (int s = 0; s < p; ++s) {
      hp::extent_t clock = 0;
      for (const pass& x : row[static_cast<std::size_t>(s)]) {
        hp::extent_t begin = clock;
        if (!x.backward && s > 0) begin = std::max(begin, end[at(s - 1, false, x.k)] + hop);
        if (x.backward && s + 1 < p) begin = std::max(begin, end[at(s + 1, true, x.k)] + hop);
        clock = begin + (x.backward ? stages[s].backward.time : stages[s].forward.time);
        hp::extent_t& known = end[at(s, x.backward, x.k)];
        changed = changed || clock != known;
        known = clock;
      }
    }
  }
  return *std::max_element(end.begin(), end.end());
}

TEST(StageReplay, OfEqualStagesIsTheClosedForm) {
  hp::stage_passes one{.forward = {7, 6, 2}, .backward = {15, 11, 4}, .update = {5, 5, 0}};
  for (int p = 1; p <= 9; ++p)
    for (int m = 1; m <= 40; m += m < 9 ? 1 : 7) {
      hp::growing_array<hp::stage_passes> stages;
      for (int s = 0; s < p; ++s) stages.push(one);
      const hp::stage_replay r = hp::replay_stages(stages, {stages.size, 1, m}, 0);
      ASSERT_TRUE(r.ok());
      EXPECT_EQ(r.makespan(), (m + p - 1) * (7 + 15) + 5);
      EXPECT_EQ(r.bubble, (p - 1) * (7 + 15));
      EXPECT_EQ(r.handed, 0);
      EXPECT_EQ(r.times.busy[static_cast<int>(hp::resource::aic)], m * (6 + 11) + 5);
      EXPECT_EQ(r.times.busy[static_cast<int>(hp::resource::link)], m * (2 + 4));
      EXPECT_EQ(r.times.exposed, m * (1 + 4));
      EXPECT_EQ(r.times.bound.most(), m * (6 + 11) + 5);
    }
}

// Held against passes that are moved until nothing changes, and against what no order of them can be faster than.
TEST(StageReplay, IsTheScheduleOfAllPasses) {
  std::mt19937 random(3);
  for (int p = 1; p <= 8; ++p)
    for (const int m : {1, 2, 3, 4, 7, 8, 40})
      for (const hp::extent_t hop : {0, 1, 30}) {
        const hp::growing_array<hp::stage_passes> stages = random_stages(random, p, 20);
        const hp::stage_replay r = hp::replay_stages(stages, {stages.size, 1, m}, hop);
        ASSERT_TRUE(r.ok());
        hp::extent_t update = 0, way = 2 * (p - 1) * hop;
        for (const hp::stage_passes& s : stages) {
          update = std::max(update, s.update.time);
          way += s.round();
        }
        EXPECT_EQ(r.makespan(), relaxed(stages, m, hop) + update);
        EXPECT_EQ(r.times.makespan, r.makespan());
        EXPECT_EQ(r.update, update);
        EXPECT_GE(r.makespan(), way + update);
        for (const hp::stage_passes& s : stages) EXPECT_GE(r.makespan(), m * s.round() + s.update.time);
        EXPECT_GE(r.bubble, 0);
        EXPECT_GE(r.handed, 0);
        EXPECT_GE(r.times.exposed, r.handed);
        EXPECT_LE(r.times.exposed, r.makespan());
        EXPECT_LE(r.times.bound.most(), r.makespan());
      }
}

TEST(StageReplay, RisesWithEachPassAndWithTheHandOver) {
  std::mt19937 random(5);
  for (int p = 2; p <= 6; ++p)
    for (const int m : {1, 2, 5, 12}) {
      hp::growing_array<hp::stage_passes> stages = random_stages(random, p, 9);
      hp::extent_t last = 0;
      for (const hp::extent_t hop : {0, 1, 2, 5, 50}) {
        const hp::extent_t now = hp::replay_stages(stages, {stages.size, 1, m}, hop).makespan();
        EXPECT_GE(now, last);
        if (hop == 50) {
          EXPECT_GT(now, last);
        }
        last = now;
      }
      for (int s = 0; s < p; ++s)
        for (hp::pass_time* longer : {&stages[s].forward, &stages[s].backward, &stages[s].update}) {
          longer->time += 3;
          const hp::extent_t now = hp::replay_stages(stages, {stages.size, 1, m}, 50).makespan();
          EXPECT_GE(now, last);
          last = now;
        }
    }
}

TEST(StageReplay, RefusesWhatIsTooLarge) {
  std::mt19937 random(1);
  const hp::growing_array<hp::stage_passes> stages = random_stages(random, 8, 9);
  const hp::stage_replay r = hp::replay_stages(stages, {8, 1, hp::detail::most_stage_micro_batches}, 0);
  EXPECT_FALSE(r.ok());
  EXPECT_EQ(r.times.code, hp::cost_code::overflow);
}

// Very many micro-batches take no longer to replay; each more adds the busiest stage's round.
TEST(StageReplay, OfVeryManyMicroBatches) {
  std::mt19937 random(9);
  const hp::growing_array<hp::stage_passes> stages = random_stages(random, 4, 9);
  hp::extent_t round = 0;
  for (const hp::stage_passes& s : stages) round = std::max(round, s.round());
  const auto makespan = [&](int m) { return hp::replay_stages(stages, {4, 1, m}, 0).makespan(); };
  EXPECT_EQ(makespan(1 << 20) - makespan((1 << 20) - 8), 8 * round);
}

/// Stages that are alike: 7 forward, 15 backward of which 6 are of weights, 5 to update.
hp::growing_array<hp::stage_passes> alike_stages(int count) {
  hp::growing_array<hp::stage_passes> stages;
  for (int s = 0; s < count; ++s)
    stages.push({.forward = {7, 7, 0}, .backward = {15, 15, 0}, .update = {5, 5, 0}, .weights = 6});
  return stages;
}

// The laws of the schedules' own pages, of alike stages: P - 1 forwards and backwards of a chunk wait; of ZB-H1 only what weights
// do not fill; of ZB-H2 nothing within a rank's span.
TEST(StageReplay, OfOtherSchedulesHasTheirBubbles) {
  for (const int p : {2, 4, 8})
    for (const int m : {16, 32}) {
      for (const int v : {2, 3}) {
        const hp::stage_replay r =
            hp::replay_stages(alike_stages(p * v), {p, v, m}, 0, hp::schedule_place<hp::interleaved_1f1b>);
        ASSERT_TRUE(r.ok());
        EXPECT_EQ(r.busy, m * v * 22);
        EXPECT_EQ(r.bubble, (p - 1) * 22);
        EXPECT_EQ(r.update, v * 5);
      }
      const hp::stage_replay h1 = hp::replay_stages(alike_stages(p), {p, 1, m}, 0,
                                                    hp::schedule_place<hp::zero_bubble_h1>),
                             h2 = hp::replay_stages(alike_stages(p), {p, 1, m}, 0,
                                                    hp::schedule_place<hp::zero_bubble_h2>);
      EXPECT_EQ(h1.bubble, (p - 1) * (7 + 9 - 6));
      EXPECT_EQ(h2.bubble - h2.skew, (p - 1) * (7 + 9 - 2 * 6));
      EXPECT_GT(h2.skew, 0);
    }
}

// Every schedule that holds each stage once: no shorter than a rank's own work, and longer by what handing over adds.
TEST(StageReplay, OfEverySchedule) {
  std::mt19937 random(7);
  int played = 0;
  for (int schedule = 0; schedule < hp::detail::published_schedule_count; ++schedule) {
    if (hp::copies_of_stages(hp::schedule_table.item[schedule].placement) > 1) continue;
    const int fixed = hp::schedule_table.item[schedule].fixed_chunks, chunks = fixed > 0 ? fixed : 2;
    for (const int p : {2, 4})
      for (const int m : {8, 16}) {
        hp::growing_array<hp::stage_passes> stages = random_stages(random, p * chunks, 20);
        for (hp::stage_passes& s : stages) s.weights = s.backward.time / 2;
        const hp::pipeline_shape n{p, chunks, m};
        const hp::stage_replay r = hp::replay_stages(stages, n, 0, schedule),
                               far = hp::replay_stages(stages, n, 9, schedule);
        ASSERT_TRUE(r.ok()) << hp::schedule_table.item[schedule].name;
        hp::extent_t work = 0;
        for (int rank = 0; rank < p; ++rank) {
          hp::extent_t own = 0;
          for (int s = 0; s < stages.size; ++s)
            if (hp::rank_of_stage(hp::schedule_table.item[schedule].placement, p, s) == rank)
              own += m * stages[s].round();
          work = std::max(work, own);
        }
        EXPECT_EQ(r.busy, work);
        EXPECT_GE(r.bubble, 0);
        EXPECT_GE(r.skew, 0);
        EXPECT_LE(r.skew, r.bubble);
        EXPECT_GE(far.handed, 0);
        EXPECT_EQ(far.makespan() - far.handed, r.makespan());
        ++played;
      }
  }
  EXPECT_EQ(played, 12 * 4);
}

static_assert([] {
  hp::growing_array<hp::stage_passes> stages;
  for (int s = 0; s < 3; ++s) stages.push({.forward = {1, 1, 0}, .backward = {2, 2, 0}, .update = {4, 4, 0}});
  return hp::replay_stages(stages, {3, 1, 5}, 0).makespan() == (5 + 2) * 3 + 4;
}());

}  // namespace
