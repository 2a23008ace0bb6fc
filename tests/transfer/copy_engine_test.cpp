// SPDX-License-Identifier: Apache-2.0
// Both kinds of engine: every law holds with a thread of its own and with callers who drive.

#include <hyperparallel/transfer/copy_engine.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/error_of.hpp"
#include "support/tries.hpp"

namespace {

namespace hp = hyperparallel;
using bytes_of = std::vector<std::byte>;

bytes_of random_bytes(std::size_t n, std::uint32_t seed) {
  bytes_of r(n);
  for (std::byte& b : r) b = static_cast<std::byte>((seed = seed * 1664525U + 1013904223U) >> 24);
  return r;
}

std::int64_t size_of(const bytes_of& b) { return static_cast<std::int64_t>(b.size()); }

class CopyEngine : public ::testing::TestWithParam<hp::copy_driver> {
 protected:
  static hp::copy_engine_options options() {
    hp::copy_engine_options o;
    o.driver = GetParam();
    return o;
  }
};

INSTANTIATE_TEST_SUITE_P(Drivers, CopyEngine, ::testing::Values(hp::copy_driver::thread, hp::copy_driver::caller),
                         [](const auto& p) { return p.param == hp::copy_driver::thread ? "Thread" : "Caller"; });

TEST_P(CopyEngine, ManyCopiesLeaveTheirBytesAndEndInOrderAndNeverEarly) {
  hp::copy_engine_options o = options();
  o.chunk = 1000;
  o.spin = 10 * hp::microsecond;
  const int count = tested::tries(2000, 100'000);
  const hp::offload_link rates[] = {{}, {20 * hp::gigabyte, 2 * hp::microsecond}, {hp::gigabyte, 0}};
  for (const hp::offload_link& rate : rates) {
    hp::copy_engine engine(rate, o);
    EXPECT_EQ(engine.has_thread(), GetParam() == hp::copy_driver::thread);
    const bytes_of source = random_bytes(static_cast<std::size_t>(count) * 32, 7);
    bytes_of target(source.size());
    std::vector<hp::copy_ticket> tickets;
    std::int64_t total = 0, at = 0;
    std::uint32_t seed = 11;
    for (int i = 0; i < count && at < size_of(source); ++i) {
      const std::int64_t n = std::min<std::int64_t>((seed = seed * 1664525U + 1013904223U) >> 26, size_of(source) - at);
      tickets.push_back(engine.submit("t" + std::to_string(i), target.data() + at, source.data() + at, n));
      total += n;
      at += n;
      if (i % 97 == 0) engine.wait(tickets[static_cast<std::size_t>(i / 2)]);
    }
    engine.wait(tickets.back());
    EXPECT_TRUE(std::equal(source.begin(), source.begin() + at, target.begin()));

    hp::copy_times before;
    std::int64_t busy = 0;
    for (const hp::copy_ticket& t : tickets) {
      ASSERT_EQ(engine.state(t), hp::copy_state::complete);
      const hp::copy_times x = engine.times(t);
      ASSERT_EQ(x.started, std::max(x.submitted, before.due));
      ASSERT_GE(x.due, x.started);
      ASSERT_GE(x.ended, x.due);
      ASSERT_GE(x.ended, before.ended);
      busy += x.due - x.started;
      before = x;
    }
    const hp::copy_statistics s = engine.statistics();
    EXPECT_EQ(s.copies, static_cast<std::int64_t>(tickets.size()));
    EXPECT_EQ(s.bytes, total);
    EXPECT_EQ(s.failed + s.cancelled, 0);
    EXPECT_GE(s.busy, busy);
  }
}

TEST_P(CopyEngine, DurationIsThatOfTheLink) {
  const hp::offload_link rate{hp::gigabyte, 100 * hp::microsecond};
  hp::copy_engine engine(rate, options());
  const bytes_of source = random_bytes(1'000'000, 3);
  bytes_of target(source.size());
  const std::int64_t begin = engine.now();
  hp::copy_ticket last;
  for (int i = 0; i < 5; ++i) last = engine.submit("x", target.data(), source.data(), size_of(source));
  engine.wait(last);
  EXPECT_GE(engine.now() - begin, 5 * 1100 * hp::microsecond);
  EXPECT_GE(engine.statistics().busy, 5 * 1100 * hp::microsecond);
  EXPECT_GE(engine.statistics().most_late, 0);
  EXPECT_LE(engine.statistics().waited, engine.now() - begin);
  if (!engine.has_thread()) {
    EXPECT_GT(engine.statistics().waited, 0);  // it copies while it waits
  }
  EXPECT_EQ(source, target);
}

TEST_P(CopyEngine, WhatTheCallerDoesMeanwhileHidesTheCopy) {
  hp::copy_engine engine({hp::unlimited_bandwidth, 5 * hp::millisecond}, options());
  const bytes_of source = random_bytes(1000, 3);
  bytes_of target(source.size());
  const hp::copy_ticket t = engine.submit("x", target.data(), source.data(), 1000);
  while (!hp::detail::is_over(engine.state(t))) std::this_thread::yield();  // neither kind needs `wait` to get on
  EXPECT_EQ(source, target);
  engine.wait(t);
  EXPECT_GE(engine.now(), 5 * hp::millisecond);
  EXPECT_EQ(engine.statistics().waited, 0);
}

TEST_P(CopyEngine, ACancelledCopyEndsAtOnceAndHoldsUpNobody) {
  const std::int64_t long_time = 1000 * hp::second;
  hp::copy_engine engine({hp::unlimited_bandwidth, long_time}, options());
  const bytes_of source = random_bytes(100, 5);
  bytes_of target(source.size());
  const auto submit = [&] { return engine.submit("x", target.data(), source.data(), 100); };
  const hp::copy_ticket first = submit(), second = submit(), third = submit();
  EXPECT_TRUE(engine.cancel(second));
  EXPECT_FALSE(engine.cancel(second));
  EXPECT_EQ(engine.state(second), hp::copy_state::cancelled);
  if (engine.has_thread())
    while (engine.state(first) == hp::copy_state::waiting) std::this_thread::yield();
  EXPECT_TRUE(engine.cancel(first));
  EXPECT_TRUE(engine.cancel(third));
  const hp::copy_ticket none = engine.submit("nothing", target.data(), source.data(), 0);
  engine.wait(none);  // it would have to wait for the others
  EXPECT_FALSE(engine.cancel(none));
  EXPECT_EQ(tested::error_of<hp::copy_error>([&] { engine.wait(third); }), "copy of x (100 bytes): it was cancelled");
  EXPECT_EQ(engine.statistics().cancelled, 3);
  EXPECT_LT(engine.statistics().busy, long_time);
}

TEST(CopyEngineThread, ACancelledCopyTouchesNothingOnceCancelHasReturned) {
  std::atomic<bool> inside{false}, go_on{false}, outside{false};
  hp::copy_engine_options o;
  o.driver = hp::copy_driver::thread;
  o.chunk = 10;
  o.move = [&](std::byte*, const std::byte*, std::int64_t) {
    inside = true;
    while (!go_on) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the whole copy would take minutes
    outside = true;
  };
  hp::copy_engine engine({}, o);
  const bytes_of source(1'000'000);
  bytes_of target(source.size());
  const hp::copy_ticket t = engine.submit("x", target.data(), source.data(), 1'000'000);
  while (!inside) std::this_thread::yield();
  std::thread canceller([&] {
    EXPECT_TRUE(engine.cancel(t));
    EXPECT_TRUE(outside);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  go_on = true;
  canceller.join();
}

TEST_P(CopyEngine, DestructionEndsWhatIsUnderWay) {
  const bytes_of source = random_bytes(100, 5);
  bytes_of target(source.size());
  hp::copy_ticket t;
  {
    hp::copy_engine engine({hp::unlimited_bandwidth, 1000 * hp::second}, options());
    for (int i = 0; i < 3; ++i) t = engine.submit("x", target.data(), source.data(), 100);
  }
  EXPECT_TRUE(t);
}

TEST_P(CopyEngine, AFailureNamesItsTensorAndHoldsUpNobody) {
  hp::copy_engine_options o = options();
  o.chunk = 10;
  const bytes_of source = random_bytes(100, 5);
  o.move = [&](std::byte* to, const std::byte* from, std::int64_t n) {
    if (from == source.data() + 60) throw std::runtime_error("block 6 is unreadable\nsecond line");
    std::memcpy(to, from, static_cast<std::size_t>(n));
  };
  hp::copy_engine engine({}, o);
  bytes_of target(source.size());
  const hp::copy_ticket bad = engine.submit("layer3.w1", target.data(), source.data(), 65);
  const hp::copy_ticket good = engine.submit("layer4.w1", target.data(), source.data(), 60);
  engine.wait(good);
  EXPECT_TRUE(std::equal(target.begin(), target.begin() + 60, source.begin()));
  EXPECT_EQ(engine.settle(bad), hp::copy_state::failed);
  EXPECT_EQ(tested::error_of<hp::copy_error>([&] { engine.wait(bad); }),
            "copy of layer3.w1 (65 bytes): it failed: block 6 is unreadable");
  EXPECT_EQ(engine.statistics().failed, 1);
  EXPECT_EQ(engine.statistics().copies, 1);
}

TEST_P(CopyEngine, AnyNumberOfThreadsSubmitAndWait) {
  hp::copy_engine engine({10 * hp::gigabyte, hp::microsecond}, options());
  const int threads = 4, count = tested::tries(200, 5000);
  const bytes_of source = random_bytes(512, 9);
  std::vector<bytes_of> target(threads, bytes_of(source.size()));
  std::optional<hp::copy_ticket> shared = engine.submit("shared", nullptr, nullptr, 0);
  std::atomic<int> wrong{0};
  std::vector<std::thread> users;
  for (int t = 0; t < threads; ++t)
    users.emplace_back([&, t] {
      bytes_of& to = target[static_cast<std::size_t>(t)];
      for (int i = 0; i < count; ++i) {
        const std::size_t n = static_cast<std::size_t>(i * 37 % 512);
        std::memset(to.data(), 0, to.size());
        const hp::copy_ticket ticket = engine.submit("x", to.data(), source.data(), static_cast<std::int64_t>(n));
        if (i % 5 == 0 && engine.cancel(ticket)) continue;
        engine.wait(ticket);
        engine.wait(*shared);
        if (!std::equal(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(n), source.begin())) ++wrong;
      }
    });
  for (std::thread& u : users) u.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(engine.statistics().copies + engine.statistics().cancelled, threads * count + 1);
}

TEST_P(CopyEngine, RefusesWhatIsNoCopy) {
  hp::copy_engine engine({1, 0}, options());
  std::byte a[8] = {};
  const auto refusal = [&](std::byte* to, const std::byte* from, std::int64_t n) {
    return tested::error_of<hp::copy_error>([&] { engine.submit("w", to, from, n); });
  };
  EXPECT_EQ(refusal(a, a + 4, -1), "copy of w (-1 bytes): the size is negative");
  EXPECT_EQ(refusal(nullptr, a, 1), "copy of w (1 bytes): an address is null");
  EXPECT_EQ(refusal(a, nullptr, 1), "copy of w (1 bytes): an address is null");
  EXPECT_EQ(refusal(a, a + 3, 4), "copy of w (4 bytes): source and target overlap");
  EXPECT_EQ(refusal(a + 3, a, 4), "copy of w (4 bytes): source and target overlap");
  const std::int64_t big = 10'000'000;
  bytes_of two(static_cast<std::size_t>(2 * big));
  EXPECT_EQ(refusal(two.data(), two.data() + big, big),
            "copy of w (10000000 bytes): it takes longer than 64 bits of picoseconds");
  const auto no_engine = [](hp::offload_link rate, std::int64_t chunk) {
    hp::copy_engine_options o;
    o.chunk = chunk;
    return tested::error_of<hp::copy_error>([&] { hp::copy_engine(rate, o); });
  };
  EXPECT_EQ(no_engine({0, 0}, 1), "copy engine: the bandwidth is not positive");
  EXPECT_EQ(no_engine({1, -1}, 1), "copy engine: the latency is negative");
  EXPECT_EQ(no_engine({1, 0}, 0), "copy engine: the chunk is not positive");
  EXPECT_EQ(engine.settle({}), hp::copy_state::complete);
}

}  // namespace
