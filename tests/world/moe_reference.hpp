// SPDX-License-Identifier: Apache-2.0
#pragma once
// A MoE layer on one device in double precision, forward and backward, written from the formula of
// mpmd/moe_layer.hpp and nothing else: what the taskflow, on any number of devices, is held against.
//
//   score = sigmoid(x · router)      weight = score / Σ scores of the choice
//   y[t] = Σ over chosen experts e of weight[t, e] · swiglu(x[t] · w1[e]) · w2[e]
//
// The choice is an argument: a caller that compares with a run in float takes the choice of the run, for near ties may
// fall on the other side. The tokens may be fewer than layer.tokens.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <hyperparallel/mpmd/moe_layer.hpp>

namespace moe_reference {

using numbers = std::vector<double>;
using hyperparallel::moe_layer;
using std::size_t;

/// Row-major operands: x tokens × H, router H × E, w1[e] H × 2I (gate | up), w2[e] I × H.
struct problem {
  moe_layer layer{};
  numbers x, router;
  std::vector<numbers> w1, w2;

  size_t hidden() const { return static_cast<size_t>(layer.hidden); }
  size_t width() const { return static_cast<size_t>(layer.intermediate); }
  size_t experts() const { return static_cast<size_t>(layer.experts); }
  size_t chosen() const { return static_cast<size_t>(layer.top_k); }
  size_t tokens() const { return x.size() / hidden(); }
};

inline double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }

/// Every token's scores: tokens × E.
inline numbers scores(const problem& p) {
  numbers s(p.tokens() * p.experts());
  for (size_t t = 0; t < p.tokens(); ++t)
    for (size_t e = 0; e < p.experts(); ++e) {
      double logit = 0;
      for (size_t i = 0; i < p.hidden(); ++i) logit += p.x[t * p.hidden() + i] * p.router[i * p.experts() + e];
      s[t * p.experts() + e] = sigmoid(logit);
    }
  return s;
}

/// Every token's experts, best first, ties to the lowest: tokens × top_k.
inline std::vector<int> choose(const problem& p) {
  const numbers s = scores(p);
  std::vector<int> choice;
  for (size_t t = 0; t < p.tokens(); ++t) {
    std::vector<int> order;
    for (int e = 0; e < p.layer.experts; ++e) order.push_back(e);
    const double* const own = s.data() + t * p.experts();
    std::sort(order.begin(), order.end(), [&](int a, int b) { return own[a] > own[b] || (own[a] == own[b] && a < b); });
    choice.insert(choice.end(), order.begin(), order.begin() + p.layer.top_k);
  }
  return choice;
}

/// The weights of a choice, in its order.
inline numbers weigh(const problem& p, const std::vector<int>& choice) {
  const numbers s = scores(p);
  numbers weight(choice.size());
  for (size_t t = 0; t < p.tokens(); ++t) {
    double sum = 0;
    const auto score = [&](size_t k) { return s[t * p.experts() + static_cast<size_t>(choice[t * p.chosen() + k])]; };
    for (size_t k = 0; k < p.chosen(); ++k) sum += score(k);
    for (size_t k = 0; k < p.chosen(); ++k) weight[t * p.chosen() + k] = score(k) / sum;
  }
  return weight;
}

/// What one expert makes of one token.
struct expert_row {
  numbers gate_up, act, y;
};

inline expert_row apply_expert(const problem& p, size_t t, int expert) {
  const numbers &w1 = p.w1[static_cast<size_t>(expert)], &w2 = p.w2[static_cast<size_t>(expert)];
  expert_row r{numbers(2 * p.width()), numbers(p.width()), numbers(p.hidden())};
  for (size_t i = 0; i < p.hidden(); ++i)
    for (size_t c = 0; c < 2 * p.width(); ++c) r.gate_up[c] += p.x[t * p.hidden() + i] * w1[i * 2 * p.width() + c];
  for (size_t c = 0; c < p.width(); ++c) {
    r.act[c] = r.gate_up[c] * sigmoid(r.gate_up[c]) * r.gate_up[p.width() + c];
    for (size_t i = 0; i < p.hidden(); ++i) r.y[i] += r.act[c] * w2[c * p.hidden() + i];
  }
  return r;
}

/// The layer's output for given choices and weights: tokens × H.
inline numbers output(const problem& p, const std::vector<int>& choice, const numbers& weight) {
  numbers y(p.x.size());
  for (size_t at = 0; at < choice.size(); ++at) {
    const size_t t = at / p.chosen();
    const numbers row = apply_expert(p, t, choice[at]).y;
    for (size_t i = 0; i < p.hidden(); ++i) y[t * p.hidden() + i] += weight[at] * row[i];
  }
  return y;
}

/// Gradients of Σ dy · output. That of the tokens is x + x_by_router, that of the layer with its weights held x alone.
struct gradients {
  numbers weight;       ///< tokens × top_k, in the order of the choice: ⟨dy, what the expert made⟩
  numbers x;            ///< tokens × H, through the experts
  numbers x_by_router;  ///< tokens × H, through the weights
  numbers router;       ///< H × E
  std::vector<numbers> w1, w2;
};

/// With the choice fixed. The weights are those of `weigh`.
inline gradients backward(const problem& p, const std::vector<int>& choice, const numbers& dy) {
  const size_t h = p.hidden(), width = p.width(), experts = p.experts(), chosen = p.chosen();
  const numbers s = scores(p), weight = weigh(p, choice);
  gradients g{numbers(choice.size()), numbers(p.x.size()), numbers(p.x.size()), numbers(p.router.size()), p.w1, p.w2};
  for (numbers& w : g.w1) std::fill(w.begin(), w.end(), 0.0);
  for (numbers& w : g.w2) std::fill(w.begin(), w.end(), 0.0);
  for (size_t at = 0; at < choice.size(); ++at) {
    const size_t t = at / chosen, e = static_cast<size_t>(choice[at]);
    const expert_row row = apply_expert(p, t, choice[at]);
    const double *const x = p.x.data() + t * h, *const from = dy.data() + t * h;
    for (size_t i = 0; i < h; ++i) g.weight[at] += from[i] * row.y[i];
    numbers to_gate_up(2 * width);
    for (size_t c = 0; c < width; ++c) {
      double to_act = 0;
      for (size_t i = 0; i < h; ++i) {
        to_act += weight[at] * from[i] * p.w2[e][c * h + i];
        g.w2[e][c * h + i] += row.act[c] * weight[at] * from[i];
      }
      const double gate = row.gate_up[c], up = row.gate_up[width + c], slope = sigmoid(gate);
      to_gate_up[c] = to_act * up * (slope + gate * slope * (1 - slope));
      to_gate_up[width + c] = to_act * gate * slope;
    }
    for (size_t i = 0; i < h; ++i)
      for (size_t c = 0; c < 2 * width; ++c) {
        g.x[t * h + i] += to_gate_up[c] * p.w1[e][i * 2 * width + c];
        g.w1[e][i * 2 * width + c] += x[i] * to_gate_up[c];
      }
  }
  for (size_t t = 0; t < p.tokens(); ++t) {
    double sum = 0, mean = 0;
    const auto expert = [&](size_t k) { return static_cast<size_t>(choice[t * chosen + k]); };
    for (size_t k = 0; k < chosen; ++k) {
      sum += s[t * experts + expert(k)];
      mean += g.weight[t * chosen + k] * weight[t * chosen + k];
    }
    for (size_t k = 0; k < chosen; ++k) {
      const double score = s[t * experts + expert(k)];
      const double to_logit = (g.weight[t * chosen + k] - mean) / sum * score * (1 - score);
      for (size_t i = 0; i < h; ++i) {
        g.router[i * experts + expert(k)] += p.x[t * h + i] * to_logit;
        g.x_by_router[t * h + i] += to_logit * p.router[i * experts + expert(k)];
      }
    }
  }
  return g;
}

}  // namespace moe_reference
