// SPDX-License-Identifier: Apache-2.0
// The dense reference of the MoE tests against central finite differences, and the kernels of the backward pass, put
// together as devices put them together, against the reference.

#include "moe_reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/kernels/choice.hpp>
#include <hyperparallel/kernels/elementwise_functions.hpp>
#include <hyperparallel/kernels/keyed_random.hpp>
#include <hyperparallel/kernels/row_products.hpp>
#include <hyperparallel/kernels/swiglu.hpp>
#include <hyperparallel/kernels/swiglu_gradient.hpp>
#include <hyperparallel/kernels/transposed_gemm.hpp>

namespace {

namespace hp = hyperparallel;
using moe_reference::numbers;
using moe_reference::problem;
using std::int64_t;
using std::size_t;

/// Uniform numbers in [−scale, scale), exact in float.
numbers uniform(std::uint64_t stream, int64_t n, float scale) {
  numbers v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<double>(hp::keyed_uniform(11, stream, i) * scale);
  return v;
}

problem make(const hp::moe_layer& layer) {
  problem p{layer,
            uniform(1, int64_t{layer.tokens} * layer.hidden, 1.0F),
            uniform(2, int64_t{layer.hidden} * layer.experts, 1.0F),
            {},
            {}};
  for (int e = 0; e < layer.experts; ++e) {
    p.w1.push_back(uniform(100 + static_cast<std::uint64_t>(e), hp::gate_up_elements(layer), 1.0F));
    p.w2.push_back(uniform(500 + static_cast<std::uint64_t>(e), hp::down_elements(layer), 1.0F));
  }
  return p;
}

double dot(const numbers& a, const numbers& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// In double with step h = 1e-4 the truncation h² |f'''| / 6 and the rounding 1e-16 |f| / h of a central difference are
// both below 1e-6 for these sizes; the gradients are of size 0.01 to 1.
constexpr double step = 1e-4, tolerance = 1e-6;

TEST(moe_reference, its_gradients_are_the_slopes_of_its_output) {
  // Experts chosen by all, some and none of the tokens; one expert a token; a single token.
  for (const hp::moe_layer layer : {hp::moe_layer{5, 3, 4, 2, 6}, hp::moe_layer{4, 2, 5, 5, 3},
                                    hp::moe_layer{3, 4, 6, 1, 5}, hp::moe_layer{2, 1, 8, 3, 1}}) {
    const problem p = make(layer);
    const std::vector<int> choice = moe_reference::choose(p);
    const numbers dy = uniform(3, static_cast<int64_t>(p.x.size()), 1.0F);
    const moe_reference::gradients g = moe_reference::backward(p, choice, dy);
    const auto loss = [&](const problem& at) {
      return dot(moe_reference::output(at, choice, moe_reference::weigh(at, choice)), dy);
    };
    int slopes = 0;
    problem moved = p;
    const auto check = [&](numbers& operand, const numbers& gradient, const std::string& name) {
      ASSERT_EQ(operand.size(), gradient.size());
      for (size_t i = 0; i < operand.size(); ++i, ++slopes) {
        const double kept = operand[i];
        operand[i] = kept + step;
        const double rise = loss(moved);
        operand[i] = kept - step;
        const double fall = loss(moved);
        operand[i] = kept;
        ASSERT_NEAR(gradient[i], (rise - fall) / (2 * step), tolerance) << name << " " << i;
      }
    };
    numbers whole_x = g.x;
    for (size_t i = 0; i < whole_x.size(); ++i) whole_x[i] += g.x_by_router[i];
    check(moved.x, whole_x, "x");
    check(moved.router, g.router, "router");
    for (size_t e = 0; e < p.experts(); ++e) {
      check(moved.w1[e], g.w1[e], "w1 of expert " + std::to_string(e));
      check(moved.w2[e], g.w2[e], "w2 of expert " + std::to_string(e));
    }
    EXPECT_EQ(slopes, layer.tokens * layer.hidden + layer.hidden * layer.experts +
                          layer.experts * 3 * layer.hidden * layer.intermediate);

    // With the weights held: their own gradient, and that of x through the experts alone.
    const numbers weight = moe_reference::weigh(p, choice);
    for (size_t i = 0; i < weight.size(); ++i) {
      numbers up = weight, down = weight;
      up[i] += step;
      down[i] -= step;
      const double rise = dot(moe_reference::output(p, choice, up), dy);
      const double fall = dot(moe_reference::output(p, choice, down), dy);
      ASSERT_NEAR(g.weight[i], (rise - fall) / (2 * step), tolerance) << "weight " << i;
    }
    for (size_t i = 0; i < p.x.size(); ++i) {
      problem up = p, down = p;
      up.x[i] += step;
      down.x[i] -= step;
      const double rise = dot(moe_reference::output(up, choice, weight), dy);
      const double fall = dot(moe_reference::output(down, choice, weight), dy);
      ASSERT_NEAR(g.x[i], (rise - fall) / (2 * step), tolerance) << "x with weights held " << i;
    }
  }
}

TEST(moe_reference, an_expert_that_no_token_chose_has_no_gradient) {
  const problem p = make({2, 1, 8, 3, 1});
  const std::vector<int> choice = moe_reference::choose(p);
  const moe_reference::gradients g = moe_reference::backward(p, choice, {1.0, -2.0});
  int idle = 0;
  for (int e = 0; e < 8; ++e) {
    if (std::find(choice.begin(), choice.end(), e) != choice.end()) continue;
    for (const double x : g.w1[static_cast<size_t>(e)]) EXPECT_EQ(x, 0.0);
    for (const double x : g.w2[static_cast<size_t>(e)]) EXPECT_EQ(x, 0.0);
    ++idle;
  }
  EXPECT_EQ(idle, 5);
}

using floats = std::vector<float>;

/// Results of the float kernels, in the order of the reference's gradients.
struct float_gradients {
  floats weight, x, x_by_router, router;
  std::vector<floats> w1, w2;
  friend bool operator==(const float_gradients&, const float_gradients&) = default;
};

struct cutting {
  int devices, row_block, gate_up_columns, act_columns, hidden_columns;
};

floats rounded(const numbers& v) { return floats(v.begin(), v.end()); }

/// Calls f(first, count) for consecutive pieces of [0, n).
template <class F>
void pieces(int n, int piece, const F& f) {
  for (int first = 0; first < n; first += piece) f(first, std::min(piece, n - first));
}

/// The rows that one source device sends to one expert, and what the expert's device computes for them.
struct block {
  std::vector<hp::routed_row> row;
  floats x, gate_up, act, y, scaled, to_act, to_x, to_weight;
};

/// Forward and backward with every operation cut into tiles, as devices would: blocks of rows by source device arrive
/// in an order that differs from device to device, and only the order of the weights' sums is fixed.
float_gradients run(const problem& p, const std::vector<int>& choice, const numbers& dy_exact, const cutting& cut) {
  const int h = p.layer.hidden, width = p.layer.intermediate, experts = p.layer.experts, chosen = p.layer.top_k;
  const int tokens = static_cast<int>(p.tokens()), share = tokens / cut.devices;
  const floats x = rounded(p.x), router = rounded(p.router), dy = rounded(dy_exact);
  floats scores(static_cast<size_t>(tokens * experts)), weight(choice.size());
  hp::gemm(tokens, experts, h, x.data(), h, router.data(), experts, scores.data(), experts);
  for (int t = 0; t < tokens; ++t) {
    float* const score = scores.data() + t * experts;
    for (int e = 0; e < experts; ++e) score[e] = hp::kernels::functions::sigmoid::of(score[e]);
    hp::kernels::weigh_choice(chosen, score, choice.data() + t * chosen, true, 1.0F, weight.data() + t * chosen);
  }

  float_gradients g{floats(choice.size()), floats(x.size()), floats(x.size()), floats(router.size()), {}, {}};
  for (int e = 0; e < experts; ++e) {
    const floats w1 = rounded(p.w1[static_cast<size_t>(e)]), w2 = rounded(p.w2[static_cast<size_t>(e)]);
    const int owner = e % cut.devices;
    std::vector<std::vector<block>> from(static_cast<size_t>(cut.devices));
    for (int rotation = 1; rotation <= cut.devices; ++rotation) {
      const int source = (owner - rotation + cut.devices) % cut.devices;
      std::vector<hp::routed_row> rows;
      for (int t = source * share; t < (source + 1) * share; ++t)
        for (int k = 0; k < chosen; ++k)
          if (choice[static_cast<size_t>(t * chosen + k)] == e)
            rows.push_back({t, weight[static_cast<size_t>(t * chosen + k)]});
      pieces(static_cast<int>(rows.size()), cut.row_block, [&](int first, int n) {
        block b;
        b.row.assign(rows.begin() + first, rows.begin() + first + n);
        const size_t count = static_cast<size_t>(n);
        for (const hp::routed_row& r : b.row)
          b.x.insert(b.x.end(), x.begin() + r.token * h, x.begin() + r.token * h + h);
        b.gate_up.resize(count * 2 * p.width());
        b.act.resize(count * p.width());
        b.to_act.resize(count * p.width());
        b.y.resize(count * p.hidden());
        b.scaled.resize(count * p.hidden());
        b.to_x.resize(count * p.hidden());
        b.to_weight.resize(count);
        pieces(2 * width, cut.gate_up_columns, [&](int c, int m) {
          hp::gemm(n, m, h, b.x.data(), h, w1.data() + c, 2 * width, b.gate_up.data() + c, 2 * width);
        });
        hp::swiglu(n, width, b.gate_up.data(), 2 * width, b.act.data(), width);
        pieces(h, cut.hidden_columns,
               [&](int c, int m) { hp::gemm(n, m, width, b.act.data(), width, w2.data() + c, h, b.y.data() + c, h); });
        hp::scale_rows(n, h, dy.data(), h, b.row.data(), b.scaled.data(), h);
        hp::dot_rows(n, h, dy.data(), h, b.row.data(), b.y.data(), h, b.to_weight.data());
        pieces(width, cut.act_columns, [&](int c, int m) {
          hp::gemm_nt(n, m, h, b.scaled.data(), h, w2.data() + c * h, h, b.to_act.data() + c, width);
        });
        hp::swiglu_gradient(n, width, b.gate_up.data(), 2 * width, b.to_act.data(), width, b.gate_up.data(), 2 * width);
        pieces(h, cut.hidden_columns, [&](int c, int m) {
          hp::gemm_nt(n, m, 2 * width, b.gate_up.data(), 2 * width, w1.data() + c * 2 * width, 2 * width,
                      b.to_x.data() + c, h);
        });
        from[static_cast<size_t>(source)].push_back(b);
      });
    }
    floats to_w1(w1.size(), NAN), to_w2(w2.size(), NAN);
    const auto segments = [&](const floats block::* a, int at_a, const floats block::* b, int at_b) {
      std::vector<hp::row_segment> list;
      for (const auto& source : from)
        for (const block& one : source)
          list.push_back({(one.*a).data() + at_a, (one.*b).data() + at_b, static_cast<int64_t>(one.row.size())});
      return list;
    };
    pieces(width, cut.act_columns, [&](int i, int m) {
      pieces(h, cut.hidden_columns, [&](int j, int n) {
        const auto list = segments(&block::act, i, &block::scaled, j);
        hp::gemm_tn(m, n, list.data(), static_cast<int64_t>(list.size()), width, h, to_w2.data() + i * h + j, h);
      });
    });
    pieces(h, cut.hidden_columns, [&](int i, int m) {
      pieces(2 * width, cut.gate_up_columns, [&](int j, int n) {
        const auto list = segments(&block::x, i, &block::gate_up, j);
        hp::gemm_tn(m, n, list.data(), static_cast<int64_t>(list.size()), h, 2 * width,
                    to_w1.data() + i * 2 * width + j, 2 * width);
      });
    });
    g.w1.push_back(to_w1);
    g.w2.push_back(to_w2);
    for (const auto& source : from)
      for (const block& b : source) {
        hp::add_rows(static_cast<int64_t>(b.row.size()), h, b.to_x.data(), h, b.row.data(), g.x.data(), h);
        for (size_t i = 0; i < b.row.size(); ++i)
          for (int k = 0; k < chosen; ++k)
            if (choice[static_cast<size_t>(b.row[i].token * chosen + k)] == e)
              g.weight[static_cast<size_t>(b.row[i].token * chosen + k)] = b.to_weight[i];
      }
  }

  floats to_logits(scores.size());
  for (int t = 0; t < tokens; ++t) {
    const float* const score = scores.data() + t * experts;
    float* const to = to_logits.data() + t * experts;
    hp::kernels::choice_gradient(experts, chosen, g.weight.data() + t * chosen, score, choice.data() + t * chosen, true,
                                 1.0F, to);
    for (int e = 0; e < experts; ++e) to[e] = hp::kernels::functions::sigmoid_gradient::of(to[e], score[e]);
  }
  hp::gemm_nt(tokens, h, experts, to_logits.data(), experts, router.data(), experts, g.x_by_router.data(), h);
  const hp::row_segment all{x.data(), to_logits.data(), tokens};
  hp::gemm_tn(h, experts, &all, 1, h, experts, g.router.data(), experts);
  return g;
}

/// Error relative to the largest element: sums of up to `terms` float products of like size.
void compare(const floats& got, const numbers& wanted, const std::string& name) {
  ASSERT_EQ(got.size(), wanted.size());
  double largest = 0;
  for (const double w : wanted) largest = std::max(largest, std::abs(w));
  // Chains of at most 24 + 24 + 12 roundings of 6e-8, whose signs differ, through four products: a few 1e-7. An error
  // of order or formula is of size 1e-2 and more.
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(static_cast<double>(got[i]), wanted[i], 3e-6 * largest) << name << " " << i;
}

constexpr hp::moe_layer layer{24, 12, 16, 3, 64};

TEST(moe_reference, the_kernels_put_together_compute_its_gradients) {
  const problem p = make(layer);
  const std::vector<int> choice = moe_reference::choose(p);
  const numbers dy = uniform(3, static_cast<int64_t>(p.x.size()), 1.0F);
  const moe_reference::gradients wanted = moe_reference::backward(p, choice, dy);
  const float_gradients got = run(p, choice, dy, {4, 8, 8, 5, 16});
  compare(got.weight, wanted.weight, "weight");
  compare(got.x, wanted.x, "x");
  compare(got.x_by_router, wanted.x_by_router, "x by router");
  compare(got.router, wanted.router, "router");
  for (size_t e = 0; e < p.experts(); ++e) {
    compare(got.w1[e], wanted.w1[e], "w1 of expert " + std::to_string(e));
    compare(got.w2[e], wanted.w2[e], "w2 of expert " + std::to_string(e));
  }
}

TEST(moe_reference, neither_devices_nor_tiles_change_a_bit_of_the_kernels_gradients) {
  const problem p = make(layer);
  const std::vector<int> choice = moe_reference::choose(p);
  const numbers dy = uniform(3, static_cast<int64_t>(p.x.size()), 1.0F);
  const float_gradients one = run(p, choice, dy, {1, 64, 24, 12, 24});
  for (const int devices : {1, 2, 4, 8, 16})
    for (const cutting cut : {cutting{devices, 64, 24, 12, 24}, cutting{devices, 1, 7, 5, 3},
                              cutting{devices, 3, 8, 4, 16}, cutting{devices, 5, 1, 1, 24}})
      EXPECT_TRUE(run(p, choice, dy, cut) == one) << devices << " devices, blocks of " << cut.row_block;
}

}  // namespace
