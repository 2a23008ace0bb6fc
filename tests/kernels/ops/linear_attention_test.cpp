// SPDX-License-Identifier: Apache-2.0
// Linear attention against its closed forms: without the delta rule masked attention with decayed scores, with it the solution of a
// triangular system (2412.06464, equation 8).
#include <hyperparallel/kernels/ops/linear_attention.hpp>

#include <gtest/gtest.h>

#include "operator_cases.hpp"

namespace {

using namespace kernel_test;
using hp::id_of;
namespace ops = hp::ops;

constexpr const char* text = "bSmD,bSmD,bSmgE,bSmg,bSmg->bSmgE";
constexpr const char* gradient_text = "bSmgE,bSmD,bSmD,bSmgE,bSmg,bSmg->bSmD,bSmD,bSmgE,bSmg,bSmg";

letter_extents sizes(extent_t tokens, std::mt19937& random) {
  letter_extents e("bSmgDE", random, 4);
  e.of[static_cast<int>('S')] = tokens;
  return e;
}

using rows = std::vector<std::vector<double>>;

/// Of one head: each token's row of values, with scores between tokens once, not states.
rows by_scores(const rows& q, const rows& k, const rows& v, const std::vector<double>& decay,
               const std::vector<double>& strength, bool is_delta, double scale) {
  const auto dot = [](const std::vector<double>& x, const std::vector<double>& y) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
    return sum;
  };
  rows added, out;
  for (std::size_t t = 0; t < q.size(); ++t) {
    std::vector<double> u = v[t], o(v[t].size(), 0.0);
    const auto kept = [&](std::size_t s) {
      double all = 0;
      for (std::size_t i = s + 1; i <= t; ++i) all += decay[i];
      return std::exp(-all);
    };
    for (std::size_t s = 0; is_delta && s < t; ++s)
      for (std::size_t e = 0; e < u.size(); ++e) u[e] -= kept(s) * dot(k[s], k[t]) * added[s][e];
    for (double& x : u) x *= strength[t];
    added.push_back(u);
    for (std::size_t s = 0; s <= t; ++s)
      for (std::size_t e = 0; e < u.size(); ++e) o[e] += scale * kept(s) * dot(q[t], k[s]) * added[s][e];
    out.push_back(o);
  }
  return out;
}

class closed_form {
 public:
  explicit closed_form(const run_case<double>& c, const letter_extents& e) : c_(c), e_(e) {}
  extent_t of(char letter) const { return e_.of[static_cast<int>(letter)]; }
  std::vector<double> result() const {
    std::vector<double> all(c_.result[0].values.size());
    for (extent_t b = 0; b < of('b'); ++b)
      for (extent_t m = 0; m < of('m'); ++m)
        for (extent_t g = 0; g < of('g'); ++g) {
          rows q, k, v;
          std::vector<double> decay, strength;
          for (extent_t t = 0; t < of('S'); ++t) {
            const extent_t shared = (b * of('S') + t) * of('m') + m, own = shared * of('g') + g;
            q.push_back(row(0, shared, of('D'), c_.op.real[1]));
            k.push_back(row(1, shared, of('D'), c_.op.real[1]));
            v.push_back(row(2, own, of('E'), 0));
            decay.push_back(c_.operand[3].values[at(own)]);
            strength.push_back(c_.operand[4].values[at(own)]);
          }
          const rows o = by_scores(q, k, v, decay, strength, c_.op.integer[0] != 0, c_.op.real[0]);
          for (extent_t t = 0; t < of('S'); ++t)
            for (extent_t x = 0; x < of('E'); ++x)
              all[at((((b * of('S') + t) * of('m') + m) * of('g') + g) * of('E') + x)] = o[at(t)][at(x)];
        }
    return all;
  }

 private:
  std::vector<double> row(std::size_t operand, extent_t number, extent_t width, double epsilon) const {
    const auto from = c_.operand[operand].values.begin() + number * width;
    std::vector<double> r(from, from + width);
    if (epsilon <= 0) return r;
    double sum = epsilon;
    for (const double x : r) sum += x * x;
    for (double& x : r) x /= std::sqrt(sum);
    return r;
  }
  const run_case<double>& c_;
  const letter_extents& e_;
};

TEST(LinearAttention, IsItsClosedForm) {
  std::mt19937 random(5);
  for (const extent_t tokens : {1, 2, 7, 40})
    for (const extent_t delta : {0, 1})
      for (const double epsilon : {0.0, 1e-6}) {
        const letter_extents e = sizes(tokens, random);
        // Keys of length 1 keep the delta rule's states small.
        if (delta == 1 && epsilon == 0.0) continue;
        run_case<double> c(id_of<ops::linear_attention>, text, "nnnpp", {{delta}, {0.3, epsilon}}, e, random);
        for (double& x : c.operand[4].values) x = 1 / (1 + x);
        c.run_whole();
        EXPECT_LE(largest_difference(c.result[0].values, closed_form(c, e).result()), 1e-12) << tokens << " " << delta;
      }
}

// With no decay and strengths of 1 a key of length 1 that comes again has its value replaced, not added to.
TEST(LinearAttention, TheDeltaRuleReplacesValues) {
  std::mt19937 random(6);
  letter_extents e = sizes(2, random);
  e.of[static_cast<int>('b')] = e.of[static_cast<int>('m')] = e.of[static_cast<int>('g')] = 1;
  run_case<double> c(id_of<ops::linear_attention>, text, "nnnpp", {{1}, {1.0, 1e-30}}, e, random);
  const auto width = static_cast<std::ptrdiff_t>(e.of[static_cast<int>('D')]);
  for (std::size_t i = 0; i < 2; ++i) {
    auto& x = c.operand[i].values;
    x.assign(c.operand[1].values.begin(), c.operand[1].values.begin() + width);
    x.insert(x.end(), x.begin(), x.begin() + width);
  }
  c.operand[3].values = {0, 0};
  c.operand[4].values = {1, 1};
  c.run_whole();
  EXPECT_LE(largest_difference(c.result[0].values, c.operand[2].values), 1e-14);
}

// The law: heads and batches do not know of each other, so their cuts keep every bit, but for sums over the heads that share a key.
TEST(LinearAttention, CutsOfHeadsAndBatchesKeepTheBits) {
  std::mt19937 random(7);
  letter_extents e = sizes(11, random);
  for (const char letter : {'b', 'm', 'g'}) e.of[static_cast<int>(letter)] = 4;
  const case_options how{{1}, {0.3, 1e-6}};
  run_case<double> c(id_of<ops::linear_attention>, text, "nnnpp", how, e, random),
      d(id_of<ops::linear_attention_gradient>, gradient_text, "nnnnpp", how, e, random);
  for (run_case<double>* run : {&c, &d}) {
    for (double& x : run->operand.back().values) x = 1 / (1 + x);
    run->run_whole();
    std::vector<std::vector<extent_t>> cuts(at(run->op.loop_count));
    for (int l = 0; l < run->op.loop_count; ++l) {
      const extent_t n = run->op.loop[l].extent;
      const char letter = run->letter_of(l);
      cuts[at(l)] = letter == 'b' || letter == 'm' ? std::vector<extent_t>{1, n} : std::vector<extent_t>{n};
    }
    const auto joined = run->run_cut(cuts);
    for (std::size_t r = 0; r < joined.size(); ++r) EXPECT_EQ(joined[r].values, run->result[r].values) << r;
  }
}

}  // namespace
