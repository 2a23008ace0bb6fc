// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/lent_core.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include <hyperparallel/exec/core_loss.hpp>
#include <hyperparallel/exec/cores.hpp>

namespace {

namespace hp = hyperparallel;
using hp::detail::lent_core;
using std::chrono::milliseconds;

/// Worker 0 is the test's thread on the first core, worker 1 a thread on the second one that runs `task`, and says
/// then where it may run.
class LentCore : public testing::Test {
 protected:
  void SetUp() override {
    if (cores_.size() < 2 || hp::detail::thread_nanoseconds() < 0) GTEST_SKIP() << "needs two cores";
  }

  void begin(const std::function<void()>& task) {
    lent_.enter(0);
    other_ = std::thread([this, task] {
      const hp::scoped_pin pin(cores_[1]);
      lent_.enter(1);
      begun_ = true;
      task();
      ended_on_ = hp::allowed_cores();
    });
    while (!begun_) std::this_thread::yield();
  }

  /// Looks until the other one has moved, or the time has passed.
  bool moves_within(milliseconds time) { return moves_within(time, lent_); }
  static bool moves_within(milliseconds time, lent_core& lent) {
    lent_core::sight seen{1};
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
      if (lent.look(0, seen)) return true;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return false;
  }

  /// Computes nothing until the test goes on: a wait may look for some time before it does.
  void stand_still() { go_on_.wait(false); }
  void await_standstill() {
    const auto computed = [&] { return hp::detail::thread_nanoseconds(other_.native_handle()); };
    for (std::int64_t before = -1, now = computed(); now != before; now = computed()) {
      before = now;
      std::this_thread::sleep_for(milliseconds(5));
    }
  }

  void release() {
    go_on_ = true;
    go_on_.notify_all();
    other_.join();
  }

  const std::vector<int> cores_ = hp::allowed_cores();
  const hp::scoped_pin pin_{cores_.empty() ? -1 : cores_[0]};
  lent_core lent_{cores_, 2};
  std::thread other_;
  std::atomic<bool> begun_{false}, go_on_{false};
  std::vector<int> ended_on_;
};

TEST_F(LentCore, AThreadThatStandsStillMovesOnceAndTheTwoExchangeTheirCores) {
  begin([this] { stand_still(); });
  await_standstill();
  lent_.open();
  EXPECT_TRUE(moves_within(milliseconds(5000)));
  EXPECT_EQ(lent_.core_of(0), cores_[1]);
  EXPECT_EQ(lent_.core_of(1), cores_[0]);
  lent_.bind(0);
  EXPECT_EQ(hp::allowed_cores(), std::vector<int>{cores_[1]});
  EXPECT_FALSE(moves_within(milliseconds(20))) << "once is enough";
  lent_.close();
  release();
  EXPECT_EQ(ended_on_, std::vector<int>{cores_[0]});
}

TEST_F(LentCore, WhoRunsOnASpareCoreLendsThatAndKeepsItsOwn) {
  constexpr int elsewhere = 1 << 20;
  lent_core lent({elsewhere, cores_[1], cores_[0]}, 2);
  begin([&] {
    lent.enter(1);
    stand_still();
  });
  await_standstill();
  lent.open();
  EXPECT_TRUE(moves_within(milliseconds(5000), lent));
  EXPECT_EQ(lent.core_of(0), elsewhere);
  EXPECT_EQ(lent.core_of(1), cores_[0]);
  lent.close();
  release();
  EXPECT_EQ(ended_on_, std::vector<int>{cores_[0]});
}

TEST_F(LentCore, AThreadThatComputesStays) {
  begin([this] {
    while (!go_on_) {
    }
  });
  // A machine that is busy may take the core away, but not at each of many looks.
  int moved = 0;
  for (int i = 0; i < 12; ++i) {
    lent_core::sight seen{1};
    lent_.open();
    lent_.look(0, seen);
    std::this_thread::sleep_for(milliseconds(60));
    moved += lent_.look(0, seen) ? 1 : 0;
    lent_.close();
  }
  release();
  EXPECT_LT(moved, 6);
}

TEST_F(LentCore, NothingMovesUnlessItIsOpenAndTheThreadHasEnteredOnCoresOfItsOwn) {
  begin([this] { stand_still(); });
  EXPECT_FALSE(moves_within(milliseconds(10))) << "not yet open";
  lent_core not_entered(cores_, 2), unbound({}, 2);
  unbound.enter(1);
  for (lent_core* const lent : {&not_entered, &unbound}) {
    lent->open();
    lent_core::sight seen{1};
    for (int i = 0; i < 10; ++i) EXPECT_FALSE(lent->look(0, seen));
    lent->close();
  }
  EXPECT_EQ(unbound.core_of(0), -1);
  lent_.open();
  lent_.close();
  EXPECT_FALSE(moves_within(milliseconds(10))) << "closed";
  release();
  EXPECT_EQ(ended_on_, std::vector<int>{cores_[1]});
}

}  // namespace
