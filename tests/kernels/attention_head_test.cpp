// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/attention_head.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace {

namespace hk = hyperparallel::kernels;
using hyperparallel::extent_t;
using hyperparallel::interval;

/// One head of contiguous rows, keys and values.
hk::detail::attention_geometry head(extent_t rows, extent_t keys, extent_t depth, extent_t width) {
  hk::detail::attention_geometry g;
  g.rows = rows;
  g.keys = keys;
  g.depth[0] = g.key_step[0] = depth;
  g.width = g.value_step = width;
  g.scale = 0.3;
  for (extent_t r = 0; r < rows; ++r) {
    g.query_row[0].push_back(r * depth);
    g.out_row.push_back(r * width);
    g.statistic_row.push_back(r);
  }
  return g;
}
bool sees(const hk::detail::attention_geometry& g, extent_t r, extent_t key) {
  const extent_t at = g.first_position + r / g.per_position, where = g.first_key + key;
  return (!g.causal || where <= at) && (g.window == 0 || std::abs(where - at) < g.window);
}
std::vector<double> noise(extent_t n, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::vector<double> v(static_cast<std::size_t>(n));
  for (double& x : v) x = normal(random);
  return v;
}

// Every mask, every place of the queries before, in and after the keys: the interval is the definition's.
TEST(AttentionHead, RowsSeeAnIntervalOfKeys) {
  for (const bool causal : {false, true})
    for (const extent_t window : {0, 1, 3, 50})
      for (const extent_t position : {0, 3, 20})
        for (const extent_t key : {0, 5, 30}) {
          hk::detail::attention_geometry g = head(8, 9, 1, 1);
          g.causal = causal;
          g.window = window;
          g.first_position = position;
          g.first_key = key;
          g.per_position = 2;
          for (extent_t r = 0; r < g.rows; ++r) {
            const interval seen = g.seen(r), of_tile = g.seen(r, 4, 3);
            for (extent_t k = 0; k < g.keys; ++k) EXPECT_EQ(k >= seen.begin && k < seen.end, sees(g, r, k));
            for (extent_t k = 0; k < 3; ++k) EXPECT_EQ(k >= of_tile.begin && k < of_tile.end, sees(g, r, 4 + k));
            EXPECT_EQ(g.first_tile(r), 0);
          }
        }
  hk::detail::attention_geometry g = head(300, 300, 1, 1);
  g.window = 10;
  EXPECT_EQ(g.first_tile(200), 128);
}

/// Softmax of the seen scores times the values, element by element.
std::vector<double> by_definition(const hk::detail::attention_geometry& g, const std::vector<double>& q,
                                  const std::vector<double>& k, const std::vector<double>& v) {
  const auto at = [](extent_t i) { return static_cast<std::size_t>(i); };
  std::vector<double> out(at(g.rows * g.width));
  for (extent_t r = 0; r < g.rows; ++r) {
    double total = 0;
    for (extent_t key = 0; key < g.keys; ++key) {
      if (!sees(g, r, key)) continue;
      double score = 0;
      for (extent_t d = 0; d < g.depth[0]; ++d) score += q[at(r * g.depth[0] + d)] * k[at(key * g.depth[0] + d)];
      score *= g.scale;
      const double power = std::exp(g.cap > 0 ? g.cap * std::tanh(score / g.cap) : score);
      total += power;
      for (extent_t e = 0; e < g.width; ++e) out[at(r * g.width + e)] += power * v[at(key * g.width + e)];
    }
    for (extent_t e = 0; e < g.width && total > 0; ++e) out[at(r * g.width + e)] /= total;
  }
  return out;
}

TEST(AttentionHead, IsTheSoftmaxOfTheSeenKeysAndItsGradient) {
  std::mt19937 random(4);
  for (const extent_t window : {0, 7, 100})
    for (int options = 0; options < 4; ++options) {
      const bool causal = options % 2 == 1;
      hk::detail::attention_geometry g = head(70, 150, 5, 3);
      g.cap = options < 2 ? 0 : 1.5;
      g.causal = causal;
      g.window = window;
      g.first_position = 40;
      std::vector<double> q = noise(70 * 5, random), k = noise(150 * 5, random), v = noise(150 * 3, random);
      std::vector<double> out(70 * 3), log_sum(70);
      const auto run = [&] {
        const double *query = q.data(), *key = k.data();
        hk::detail::attend_head<double>(g, &query, &key, v.data(), out.data(), log_sum.data());
      };
      run();
      const std::vector<double> expected = by_definition(g, q, k, v);
      for (std::size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], expected[i], 1e-12) << i;

      const std::vector<double> d_out = noise(70 * 3, random);
      std::vector<double> dq(q.size()), dk(k.size()), dv(v.size());
      hk::detail::attention_gradient_head<double> h{};
      h.query[0] = q.data();
      h.key[0] = k.data();
      h.value = v.data();
      h.d_out = d_out.data();
      h.out = out.data();
      h.log_sum = log_sum.data();
      h.d_query[0] = dq.data();
      h.d_key[0] = dk.data();
      h.d_value = dv.data();
      hk::detail::attend_head_gradient(g, h);
      const auto slope = [&](double& x) {
        const double kept = x, step = 1e-5;
        double change = 0;
        for (const double side : {1.0, -1.0}) {
          x = kept + side * step;
          const std::vector<double> moved = by_definition(g, q, k, v);
          for (std::size_t i = 0; i < moved.size(); ++i) change += side * moved[i] * d_out[i];
        }
        x = kept;
        return change / (2 * step);
      };
      for (int sample = 0; sample < 6; ++sample) {
        const std::size_t a = random() % q.size(), b = random() % k.size(), c = random() % v.size();
        EXPECT_NEAR(dq[a], slope(q[a]), 1e-7);
        EXPECT_NEAR(dk[b], slope(k[b]), 1e-7);
        EXPECT_NEAR(dv[c], slope(v[c]), 1e-7);
      }
    }
}

// Blocks that a row does not see change nothing; the order of two blocks does not matter, bit for bit.
TEST(AttentionHead, BlocksJoinInAnyOrder) {
  constexpr double unseen = -std::numeric_limits<double>::infinity();
  const std::vector<double> a{1, 2, 3, 4, 0, 0}, lse_a{0.5, unseen, unseen}, b{5, 6, 7, 8, 0, 0}, lse_b{1.5, 2, unseen};
  std::vector<double> ab(6), ba(6), lse_ab(3), lse_ba(3);
  hk::detail::merge_rows<double>(3, 2, a.data(), lse_a.data(), b.data(), lse_b.data(), ab.data(), lse_ab.data());
  hk::detail::merge_rows<double>(3, 2, b.data(), lse_b.data(), a.data(), lse_a.data(), ba.data(), lse_ba.data());
  EXPECT_EQ(ab, ba);
  EXPECT_EQ(lse_ab, lse_ba);
  const double of_a = std::exp(0.5) / (std::exp(0.5) + std::exp(1.5));
  EXPECT_NEAR(ab[0], of_a * 1 + (1 - of_a) * 5, 1e-15);
  EXPECT_EQ((std::vector<double>{ab[2], ab[3], ab[4], ab[5]}), (std::vector<double>{7, 8, 0, 0}));
  EXPECT_EQ(lse_ab[2], unseen);
}

}  // namespace
