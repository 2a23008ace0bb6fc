// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include <hyperparallel/offload/prefetch_window.hpp>

namespace hp = hyperparallel;

namespace {

int most_in_use(const std::vector<hp::use_range>& uses) {
  int most = 0;
  for (const hp::use_range& a : uses) {
    int here = 0;
    for (const hp::use_range& b : uses) here += b.first <= a.first && a.first <= b.last;
    most = std::max(most, here);
  }
  return most;
}

void expect_lawful(const std::vector<hp::use_range>& uses, int buffers) {
  std::vector<hp::window_place> place(uses.size());
  const hp::window_status status = hp::plan_window(uses.data(), static_cast<int>(uses.size()), buffers, place.data());
  // It finds a plan exactly when one exists: no more tensors in use at once than buffers.
  ASSERT_EQ(status.code == hp::window_code::ok, most_in_use(uses) <= buffers);
  if (status.code != hp::window_code::ok) return;
  for (std::size_t a = 0; a < uses.size(); ++a) {
    ASSERT_GE(place[a].buffer, 0);
    ASSERT_LT(place[a].buffer, buffers);
    for (std::size_t b = 0; b < a; ++b)
      if (place[a].buffer == place[b].buffer) {
        ASSERT_LT(uses[b].last, uses[a].first);
      }
    if (place[a].previous < 0) continue;
    // `previous` is the last tenant before this one.
    const std::size_t before = static_cast<std::size_t>(place[a].previous);
    ASSERT_EQ(place[before].buffer, place[a].buffer);
    for (std::size_t b = before + 1; b < a; ++b) ASSERT_NE(place[b].buffer, place[a].buffer);
  }
}

TEST(prefetch_window, places_every_small_set_of_chains) {
  // All lists of up to four ranges within five positions, sorted by first use.
  std::vector<hp::use_range> ranges;
  for (int first = 0; first < 5; ++first)
    for (int last = first; last < 5; ++last) ranges.push_back({first, last});
  const int n = static_cast<int>(ranges.size());
  for (int code = 0; code < n * n * n * n; ++code) {
    std::vector<hp::use_range> uses;
    for (int i = 0, rest = code; i < 4; ++i, rest /= n) uses.push_back(ranges[static_cast<std::size_t>(rest % n)]);
    if (!std::is_sorted(uses.begin(), uses.end(), [](auto& a, auto& b) { return a.first < b.first; })) continue;
    for (int buffers = 1; buffers <= 4; ++buffers) expect_lawful(uses, buffers);
  }
}

TEST(prefetch_window, places_random_chains) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<hp::use_range> uses;
    for (int i = 0; i < 20; ++i) {
      const int first = static_cast<int>(random() % 60);
      uses.push_back({first, first + static_cast<int>(random() % 12)});
    }
    std::sort(uses.begin(), uses.end(), [](auto& a, auto& b) { return a.first < b.first; });
    expect_lawful(uses, 1 + static_cast<int>(random() % 10));
  }
}

TEST(prefetch_window, refuses_bad_input_by_name) {
  hp::window_place place[2];
  const hp::use_range backwards[] = {{5, 6}, {1, 2}};
  EXPECT_EQ(hp::plan_window(backwards, 2, 2, place).code, hp::window_code::uses_are_not_in_order);
  EXPECT_EQ(hp::plan_window(backwards, 2, 2, place).tensor, 1);
  const hp::use_range ends_early[] = {{5, 4}};
  EXPECT_EQ(hp::plan_window(ends_early, 1, 2, place).code, hp::window_code::uses_are_not_in_order);
  EXPECT_EQ(hp::plan_window(backwards, 2, 0, place).code, hp::window_code::no_buffer);
  EXPECT_EQ(hp::plan_window(backwards, 2, hp::max_window_buffers + 1, place).code, hp::window_code::no_buffer);
  EXPECT_EQ(hp::plan_window(nullptr, 0, 1, nullptr).code, hp::window_code::ok);
}

constexpr bool takes_turns() {
  const hp::use_range uses[] = {{0, 9}, {10, 19}, {20, 29}};
  hp::window_place place[3];
  return hp::plan_window(uses, 3, 2, place).code == hp::window_code::ok && place[2].buffer == place[0].buffer &&
         place[2].previous == 0 && place[1].previous == -1;
}
static_assert(takes_turns());

}  // namespace
