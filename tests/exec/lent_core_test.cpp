// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/lent_core.hpp>

#include <gtest/gtest.h>

#include <unistd.h>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
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
      id_ = gettid();
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

  /// Computes nothing until the test goes on. A wait may look for some time before it sleeps, and what is preempted
  /// meanwhile computes nothing, either: that it sleeps is what the system says.
  void stand_still() { go_on_.wait(false); }
  void await_standstill() const {
    const std::string state = "/proc/self/task/" + std::to_string(id_) + "/stat";
    for (std::string text; text.find(") S ") == std::string::npos;) {
      std::this_thread::sleep_for(milliseconds(1));
      std::getline(std::ifstream(state), text);
    }
  }
  std::int64_t computed() { return hp::detail::thread_nanoseconds(other_.native_handle()); }

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
  pid_t id_ = 0;
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
  for (int i = 0; i < 12; ++i) {
    lent_core::sight seen{1};
    lent_.open();
    lent_.look(0, seen);
    while (computed() == seen.computed)
      std::this_thread::sleep_for(milliseconds(1));  // a busy machine takes its core away
    EXPECT_FALSE(lent_.look(0, seen));
    lent_.close();
  }
  release();
  EXPECT_EQ(ended_on_, std::vector<int>{cores_[1]});
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
