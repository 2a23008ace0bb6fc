// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/transfer/parallel_copy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

namespace hp = hyperparallel;

/// A block of 32-bit numbers whose rows are dealt to four targets.
struct dealt_rows {
  static constexpr std::int64_t targets = 4, run = 1024;  ///< numbers
  std::vector<std::uint32_t> source;
  std::vector<std::vector<std::uint32_t>> target;
  std::vector<hp::copy_record> records;

  explicit dealt_rows(std::int64_t rows) : source(static_cast<std::size_t>(rows * targets * run)) {
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint32_t>(i + 1);
    target.assign(targets, std::vector<std::uint32_t>(static_cast<std::size_t>(rows * run)));
    for (std::int64_t t = 0; t < targets; ++t)
      records.push_back({hp::flatten({2, 4, {rows, run}, {rows, targets * run}, {0, t * run}, {rows, run}, {0, 0}}),
                         reinterpret_cast<const std::byte*>(source.data()),
                         reinterpret_cast<std::byte*>(target[static_cast<std::size_t>(t)].data())});
  }
  bool arrived() const {
    for (std::size_t i = 0; i < source.size(); ++i) {
      const std::size_t row = i / (targets * run), t = i / run % targets;
      if (target[t][row * run + i % run] != source[i]) return false;
    }
    return true;
  }
  void clear() {
    for (std::vector<std::uint32_t>& t : target) std::fill(t.begin(), t.end(), 0U);
  }
};

TEST(ParallelCopy, MovesEverythingOnAnyNumberOfThreads) {
  dealt_rows m(256);
  for (const int threads : {1, 2, 3, 8})
    for (const std::int64_t streaming_from : {std::int64_t{0}, INT64_MAX}) {
      hp::parallel_copy copy(hp::copy_schedule(m.records), {.threads = threads, .streaming_from = streaming_from});
      EXPECT_EQ(copy.threads(), threads);
      for (int round = 0; round < 3; ++round) {
        m.clear();
        ASSERT_EQ(copy.run(), hp::run_result::complete);
        ASSERT_TRUE(m.arrived());
        ASSERT_EQ(copy.finished(), copy.schedule().bytes());
      }
    }
}

TEST(ParallelCopy, ChoosesStoresAndThreadsByBytes) {
  dealt_rows m(16);  // 256 KiB
  const std::int64_t bytes = hp::copy_schedule(m.records).bytes();
  EXPECT_EQ(hp::parallel_copy(hp::copy_schedule(m.records)).threads(), 1);
  const hp::store_kind streaming = hp::stores_for(1, 0);
  EXPECT_EQ(hp::parallel_copy(hp::copy_schedule(m.records), {.streaming_from = bytes}).way().stores, streaming);
  EXPECT_EQ(hp::parallel_copy(hp::copy_schedule(m.records), {.streaming_from = bytes + 1}).way().stores,
            hp::store_kind::cached);
}

/// Calls itself a run's watcher and cancels it after so many reports.
struct canceller {
  hp::parallel_copy* copy;
  int reports = 0;
  std::int64_t last = 0;
  static void report(void* self, std::int64_t finished, std::int64_t total) {
    canceller& c = *static_cast<canceller*>(self);
    EXPECT_GE(finished, c.last);
    EXPECT_LE(finished, total);
    c.last = finished;
    ++c.reports;
    if (finished < total) c.copy->cancel();
  }
};

TEST(ParallelCopy, ACancelledMoveEndsEarlyAndCanRunAgain) {
  dealt_rows m(8192);  // 128 MiB: no machine moves it within the first millisecond
  for (const int threads : {1, 2}) {
    hp::parallel_copy copy(hp::copy_schedule(m.records), {.threads = threads});
    m.clear();
    canceller watcher{&copy};
    ASSERT_EQ(copy.run({&canceller::report, &watcher, 1}), hp::run_result::cancelled);
    EXPECT_EQ(watcher.reports, 1);
    EXPECT_GT(copy.finished(), 0);
    EXPECT_LT(copy.finished(), copy.schedule().bytes());
    EXPECT_FALSE(m.arrived());
    copy.cancel();  // nothing runs: no effect
    ASSERT_EQ(copy.run(), hp::run_result::complete);
    EXPECT_TRUE(m.arrived());
  }
}

TEST(ParallelCopy, AnotherThreadMayCancel) {
  dealt_rows m(8192);
  hp::parallel_copy copy(hp::copy_schedule(m.records), {.threads = 2});
  std::thread other([&] {
    while (copy.finished() == 0) std::this_thread::yield();
    copy.cancel();
  });
  const hp::run_result result = copy.run();
  other.join();
  EXPECT_EQ(result == hp::run_result::complete, copy.finished() == copy.schedule().bytes());
}

TEST(ParallelCopy, ReportsOnceAtTheEndOfAShortMove) {
  dealt_rows m(16);
  hp::parallel_copy copy(hp::copy_schedule(m.records), {.threads = 2});
  canceller watcher{&copy};
  EXPECT_EQ(copy.run({&canceller::report, &watcher, 60'000}), hp::run_result::complete);
  EXPECT_EQ(watcher.reports, 1);
  EXPECT_EQ(watcher.last, copy.schedule().bytes());
}

TEST(ParallelCopy, AReportThatThrowsEndsTheRun) {
  dealt_rows m(8192);
  hp::parallel_copy copy(hp::copy_schedule(m.records), {.threads = 2});
  const auto fail = [](void*, std::int64_t, std::int64_t) { throw std::runtime_error("enough"); };
  EXPECT_THROW(copy.run({fail, nullptr, 1}), std::runtime_error);
  EXPECT_LT(copy.finished(), copy.schedule().bytes());
  EXPECT_EQ(copy.run(), hp::run_result::complete);
  EXPECT_TRUE(m.arrived());
}

TEST(ParallelCopy, RunsOnceAtATime) {
  dealt_rows m(16);
  hp::parallel_copy copy(hp::copy_schedule(m.records), {.threads = 1});
  const auto again = [](void* self, std::int64_t, std::int64_t) { static_cast<hp::parallel_copy*>(self)->run(); };
  EXPECT_THROW(copy.run({again, &copy, 60'000}), std::logic_error);
}

TEST(ParallelCopy, NothingToMoveIsComplete) {
  hp::parallel_copy copy(hp::copy_schedule{}, {.threads = 2});
  EXPECT_EQ(copy.run(), hp::run_result::complete);
  EXPECT_EQ(copy.finished(), 0);
}

TEST(ParallelCopy, EveryWayOfTheFirstRunsMovesTheSame) {
  dealt_rows m(512);  // 8 MiB
  hp::parallel_copy copy(hp::copy_schedule(m.records), {.threads = 2});
  std::vector<hp::copy_way> ways;
  for (int run = 0; run < 2 + 3 * hp::way_choice::runs_of_a_way; ++run) {
    ways.push_back(copy.way());
    m.clear();
    ASSERT_EQ(copy.run(), hp::run_result::complete);
    ASSERT_TRUE(m.arrived()) << run;
  }
  for (const hp::copy_way& w : {hp::cached_copy, hp::streaming_copy, hp::detail::streaming_ahead})
    EXPECT_EQ(std::count(ways.begin(), ways.end(), w) >= hp::way_choice::runs_of_a_way,
              hp::detail::has_streaming_stores || w == hp::cached_copy);
  EXPECT_EQ(copy.way(), ways.back());
}

}  // namespace
