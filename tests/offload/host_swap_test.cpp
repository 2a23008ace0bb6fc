// SPDX-License-Identifier: Apache-2.0
#include <tables/host_swap.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

namespace hp = hyperparallel;

namespace {

hp::extent_t plus(hp::extent_t a) { return std::max<hp::extent_t>(0, a); }

hp::growing_array<tables::swap_layer> layers_of(const hp::growing_array<hp::extent_t>& bytes) {
  hp::growing_array<tables::swap_layer> layer;
  for (const hp::extent_t b : bytes) layer.push({b, 1000, 3000, 6000});
  return layer;
}

tables::host_swap_options options_of(hp::extent_t budget, hp::extent_t mean) {
  tables::host_swap_options o;
  o.budget = budget;
  o.mean = mean;
  o.head = 500;
  o.out = o.in = {1'000'000'000'000, 0};  // a byte takes a picosecond
  return o;
}

TEST(host_swap, moves_what_the_budget_says_for_equal_layers) {
  const hp::extent_t mean = 900;  // fits under an attention
  for (int layers = 1; layers <= 12; ++layers) {
    hp::growing_array<hp::extent_t> bytes;
    for (int l = 0; l < layers; ++l) bytes.push(mean);
    hp::extent_t last_peak = 0, last_moved = INT64_MAX;
    for (hp::extent_t budget = 0; budget <= (layers + 2) * mean; budget += 90) {
      const tables::host_swap r = tables::swap_to_host(layers_of(bytes), options_of(budget, mean));
      ASSERT_EQ(r.code, tables::host_swap_code::ok);
      EXPECT_GE(r.moved, plus(layers * mean - budget));
      EXPECT_LE(r.moved, plus(layers * mean - budget + mean));
      EXPECT_LE(r.held, budget);
      EXPECT_GE(r.peak, last_peak);
      EXPECT_LE(r.moved, last_moved);
      EXPECT_EQ(r.wait > 0, budget < mean) << layers << " layers, budget " << budget;
      EXPECT_EQ(r.time - layers * 10'000 - 500 > 0, budget < mean);
      last_peak = r.peak;
      last_moved = r.moved;
    }
  }
}

TEST(host_swap, keeps_its_laws_for_any_routing) {
  std::mt19937 bits(5);
  const auto below = [&bits](hp::extent_t n) { return static_cast<hp::extent_t>(bits() % static_cast<unsigned>(n)); };
  for (int i = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 100'000 : 2000; i > 0; --i) {
    const int layers = 1 + static_cast<int>(below(14));
    const hp::extent_t mean = 200 + below(2000);
    hp::growing_array<hp::extent_t> bytes;
    hp::extent_t sum = 0, projected = 0, largest = 0;
    for (int l = 0; l < layers; ++l) {
      bytes.push(below(2 * mean + 1));
      sum += bytes.last();
      projected = std::max(projected, sum + (layers - 1 - l) * mean);
      largest = std::max(largest, bytes.last());
    }
    hp::extent_t last_peak = 0, last_moved = INT64_MAX;
    for (hp::extent_t budget = 0; budget <= projected + mean; budget += mean / 5) {
      const tables::host_swap r = tables::swap_to_host(layers_of(bytes), options_of(budget, mean));
      ASSERT_EQ(r.code, tables::host_swap_code::ok);
      EXPECT_GE(r.moved, plus(sum - budget));
      EXPECT_LE(r.moved, budget < projected ? projected - budget + largest : 0);
      EXPECT_LE(r.held, budget);
      EXPECT_EQ(r.held + r.moved, sum);
      EXPECT_GE(r.peak, std::max(largest, last_peak));
      EXPECT_LE(r.peak, sum);
      EXPECT_LE(r.moved, last_moved);
      EXPECT_GE(r.time, layers * 10'000 + 500);
      EXPECT_GE(r.time, r.wait);
      hp::extent_t left = 0;
      for (int l = 0; l < layers; ++l) {
        if (r.evicted_after[l] < 0) continue;
        left += bytes[l];
        EXPECT_GE(r.evicted_after[l], l);
        EXPECT_GE(r.evicted_after[l], l > 0 ? r.evicted_after[l - 1] : 0) << "the earliest leave first";
        EXPECT_GE(l > 0 ? r.evicted_after[l - 1] : 0, 0);
      }
      EXPECT_EQ(left, r.moved);
      last_peak = r.peak;
      last_moved = r.moved;
    }
  }
}

TEST(host_swap, names_what_is_wrong) {
  hp::growing_array<hp::extent_t> bytes;
  bytes.push(10);
  bytes.push(-1);
  EXPECT_EQ(tables::swap_to_host(layers_of(bytes), options_of(5, 10)).layer, 1);
  bytes[1] = 1;
  EXPECT_EQ(tables::swap_to_host(layers_of(bytes), options_of(-5, 10)).code,
            tables::host_swap_code::budget_is_negative);
  EXPECT_EQ(tables::swap_to_host(layers_of(bytes), options_of(5, -10)).code, tables::host_swap_code::mean_is_negative);
  tables::host_swap_options o = options_of(5, 10);
  o.in.bytes_per_second = 0;
  EXPECT_EQ(tables::swap_to_host(layers_of(bytes), o).code, tables::host_swap_code::bad_link);
  o = options_of(5, 10);
  o.head = -1;
  EXPECT_EQ(tables::swap_to_host(layers_of(bytes), o).code, tables::host_swap_code::head_is_negative);
  EXPECT_STREQ(tables::to_text(tables::host_swap_code::head_is_negative), "the time between the passes is negative");
}

}  // namespace
