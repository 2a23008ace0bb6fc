// SPDX-License-Identifier: Apache-2.0
// Bytes that a device receives under each strategy, taken from the emitted programs, against the closed forms of the
// literature, exactly.
//
// Conventions: elements that a device already holds cost nothing; collectives are optimal in bandwidth, so an
// all-reduce of n elements over t devices receives 2(t-1)/t · n, a gather or a reduce-scatter (t-1)/t · n; norms and
// numbers are excluded (the models have no norm). Every device receives the same, which is checked for each move.
// b batch, s sequence, h hidden, e width of the feed-forward layer, g = key heads / query heads.
#include <hyperparallel/strategy/check_program.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <gtest/gtest.h>
#include <models/bare_model.hpp>
#include <models/program_volumes.hpp>

#include <array>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace hp = hyperparallel;
using hp::extent_t;
using hp::graph_phase;
using programs::bare_model;
using programs::bare_sizes;
using programs::matrix_pair;
using programs::traffic;

/// A quotient that has to be a whole number.
extent_t exact(extent_t numerator, extent_t denominator) {
  EXPECT_EQ(numerator % denominator, 0) << numerator << " / " << denominator << ": sizes do not suit the test";
  return numerator / denominator;
}

hp::sharded_program program_under(const hp::graph& g, const char* name, std::initializer_list<int> degrees,
                                  bool keep_moved = false) {
  int ranks = 1;
  for (const int d : degrees) ranks *= d;
  hp::strategy_result r = hp::strategy_called(name, ranks, degrees.begin(), static_cast<int>(degrees.size()));
  EXPECT_EQ(r.status, hp::strategy_status{}) << name;
  r.strategy.keep_moved = keep_moved;
  hp::sharded_program p = hp::partition(g, r.strategy);
  EXPECT_STREQ(hp::name_of(p.graph.status.code), "ok");
  EXPECT_STREQ(hp::name_of(p.status.code), "ok") << name;
  EXPECT_STREQ(hp::name_of(hp::check_program(p).code), "ok") << name;
  return p;
}

void expect_equal_shares(const hp::sharded_program& p) {
  const int devices = hp::position_count(p.mesh.shape);
  for (const hp::program_move& m : p.move) {
    const hp::program_value &from = p.value[m.source], &to = p.value[m.target];
    if (!(from.rotation == to.rotation) || from.layout.rank == 0) continue;
    const hp::move_plan plan = hp::plan_move(from.layout, to.layout, p.graph.tensor[to.tensor].shape);
    std::vector<extent_t> tally(3 * static_cast<std::size_t>(devices), 0);
    const hp::move_certificate c = hp::certify(plan, tally.data());
    EXPECT_EQ(c.received_total, devices * c.received_maximum) << p.graph.name_of_tensor(to.tensor);
    EXPECT_EQ(c.received_total, c.least_total) << p.graph.name_of_tensor(to.tensor);
  }
}

struct volumes {
  extent_t forward = 0, backward = 0;
};
volumes activations_of(const hp::sharded_program& p) {
  return {programs::received_bytes(p, graph_phase::forward, graph_phase::forward, traffic::activations),
          programs::received_bytes(p, graph_phase::backward, graph_phase::backward, traffic::activations)};
}
/// Parameters of the layer and their gradients.
extent_t weights_of(const hp::sharded_program& p, graph_phase first, graph_phase last) {
  return programs::received_bytes(p, first, last, traffic::weights, "*layer.*");
}

/// Attention and a pair of matrices, each with its residual sum.
hp::graph whole_layer(const bare_sizes& z, extent_t query_heads, extent_t key_heads, extent_t head_dim, extent_t ffn) {
  return bare_model(z, [&](hp::model_builder& m, int x) {
    const hp::attention_layer attention{.query_heads = query_heads, .key_heads = key_heads, .head_dim = head_dim};
    x = m.sum("attention_residual", x, attention(m, x));
    return m.sum("feed_forward_residual", x, matrix_pair(m, x, ffn));
  });
}
hp::graph attention_alone(const bare_sizes& z, extent_t query_heads, extent_t key_heads, extent_t head_dim) {
  return bare_model(z, [&](hp::model_builder& m, int x) {
    return hp::attention_layer{.query_heads = query_heads, .key_heads = key_heads, .head_dim = head_dim}(m, x);
  });
}
hp::graph pair_alone(const bare_sizes& z, extent_t ffn) {
  return bare_model(z, [&](hp::model_builder& m, int x) { return matrix_pair(m, x, ffn); });
}

constexpr hp::data_type types[] = {hp::data_type::f32, hp::data_type::bf16};

// One all-reduce of bsh after each of the two blocks; backward, the terms of queries, keys and values are added before
// they are reduced, so the gradient at each block's input is one all-reduce again.
TEST(strategy_volumes, tensor_parallel) {
  for (const hp::data_type type : types)
    for (const int t : {2, 4, 8})
      for (const extent_t key_heads : {8, 16}) {
        const bare_sizes z{2, 8, 32, type};
        const hp::sharded_program p = program_under(whole_layer(z, 16, key_heads, 2, 128), "tp", {t});
        expect_equal_shares(p);
        const extent_t bsh = z.batch * z.sequence * z.hidden * hp::bytes_of(type);
        EXPECT_EQ(activations_of(p).forward, exact(4 * (t - 1) * bsh, t)) << t;
        EXPECT_EQ(activations_of(p).backward, exact(4 * (t - 1) * bsh, t)) << t;
        EXPECT_EQ(weights_of(p, graph_phase::forward, graph_phase::update), 0);
      }
}

// Each all-reduce is a reduce-scatter where a block ends and a gather where the next begins: 2 of each forward.
// Backward the same again, and one more gather a block of its input, which the weights' gradients want whole; not where
// moved activations are kept.
TEST(strategy_volumes, tensor_parallel_with_sequence_parallel) {
  for (const int t : {2, 4, 8})
    for (const bool keep : {false, true}) {
      const bare_sizes z{2, 8, 32};
      const hp::sharded_program p = program_under(whole_layer(z, 16, 8, 2, 128), "tp-sp", {t}, keep);
      expect_equal_shares(p);
      const extent_t bsh = z.batch * z.sequence * z.hidden * 4;
      EXPECT_EQ(activations_of(p).forward, exact(4 * (t - 1) * bsh, t));
      EXPECT_EQ(activations_of(p).backward, exact((keep ? 4 : 6) * (t - 1) * bsh, t));
      EXPECT_EQ(weights_of(p, graph_phase::forward, graph_phase::update), 0);
    }
}

// Hidden lies on x and y, widths on y and x. Matrix 1 gathers its input over y, bsh(y-1)/(xy), and scatters terms over
// x, bse(x-1)/(xy); matrix 2 gathers over x and scatters over y: the same again. Backward both products gather one
// gradient and scatter another, and the weights' gradients want both gathered inputs once more unless they are kept:
// 3 or 2 times bs[e(x-1) + h(y-1)]/(xy).
TEST(strategy_volumes, two_dimensional_tensor_parallel) {
  for (const auto& [x, y] : {std::pair{2, 2}, {2, 4}, {4, 2}, {1, 4}, {4, 1}, {4, 4}})
    for (const bool keep : {false, true}) {
      const bare_sizes z{2, 4, 32};
      const extent_t e = 80, bs = z.batch * z.sequence * 4;
      const hp::sharded_program p = program_under(pair_alone(z, e), "2d", {x, y}, keep);
      expect_equal_shares(p);
      const extent_t once = exact(bs * (e * (x - 1) + z.hidden * (y - 1)), x * y);
      EXPECT_EQ(activations_of(p).forward, 2 * once) << x << " " << y;
      EXPECT_EQ(activations_of(p).backward, (keep ? 2 : 3) * once) << x << " " << y;
      EXPECT_EQ(weights_of(p, graph_phase::forward, graph_phase::update), 0);
    }
}

// The same on a batch that z shards, and matrices that z shards: each is gathered over z, he(z-1)/(xyz), forward and
// backward, and its gradient is scattered.
TEST(strategy_volumes, three_dimensional_tensor_parallel) {
  for (const auto& [x, y, z] : {std::array{2, 2, 2}, {1, 2, 4}, {4, 2, 2}, {2, 1, 2}, {1, 1, 8}, {2, 2, 1}})
    for (const bool keep : {false, true}) {
      const bare_sizes sizes{8, 4, 32};
      const extent_t e = 96, h = sizes.hidden, bs = sizes.batch * sizes.sequence, devices = x * y * z;
      const hp::sharded_program p = program_under(pair_alone(sizes, e), "3d", {x, y, z}, keep);
      expect_equal_shares(p);
      const extent_t moved = exact(4 * bs * (e * (x - 1) + h * (y - 1)), devices);
      const extent_t gathered = exact(4 * 2 * h * e * (z - 1), devices);
      EXPECT_EQ(activations_of(p).forward, 2 * moved);
      EXPECT_EQ(weights_of(p, graph_phase::forward, graph_phase::forward), gathered);
      EXPECT_EQ(activations_of(p).backward, (keep ? 2 : 3) * moved);
      EXPECT_EQ(weights_of(p, graph_phase::backward, graph_phase::backward), 2 * gathered);
      EXPECT_EQ(weights_of(p, graph_phase::norm, graph_phase::update), 0);
    }
}

// A product gathers its block row of activations over the columns, bsK(q-1)/q² for K summed, and its block column of
// weights over the rows, KN(q-1)/q². Multi-head attention and a feed-forward layer of 4h: K is h for queries, keys and
// values together, h, h and 4h, so 7h; matrices are 4h² + 8h². Backward: weights again and their gradients scattered,
// 24h²; gradients at the inputs scattered, 7h, and inputs gathered again, 7h, unless they are kept.
TEST(strategy_volumes, summa) {
  for (const int q : {2, 4})
    for (const bool keep : {false, true}) {
      const bare_sizes z{4, 8, 32};
      const extent_t h = z.hidden, bsh = z.batch * z.sequence * h;
      const hp::sharded_program p = program_under(whole_layer(z, 16, 16, 2, 4 * h), "summa", {q, q}, keep);
      expect_equal_shares(p);
      EXPECT_EQ(activations_of(p).forward, exact(4 * 7 * bsh * (q - 1), q * q));
      EXPECT_EQ(weights_of(p, graph_phase::forward, graph_phase::forward), exact(4 * 12 * h * h * (q - 1), q * q));
      EXPECT_EQ(activations_of(p).backward, exact(4 * (keep ? 7 : 14) * bsh * (q - 1), q * q));
      EXPECT_EQ(weights_of(p, graph_phase::backward, graph_phase::backward), exact(4 * 24 * h * h * (q - 1), q * q));
      EXPECT_EQ(weights_of(p, graph_phase::norm, graph_phase::update), 0);
    }
}

// Each of d layers of q x q devices has a part of the batch and all weights. Gradients are scattered over the rows and
// all-reduced over the depth, 2(d-1)/d of the share h²/q²: one reduction does both and receives just that.
TEST(strategy_volumes, two_and_a_half_dimensional_tensor_parallel) {
  for (const auto& [d, q] : {std::pair{2, 2}, {4, 2}, {2, 4}}) {
    const bare_sizes z{8, 4, 32};
    const extent_t h = z.hidden, bsh = z.batch * z.sequence * h, matrices = 12 * h * h;
    const hp::sharded_program p = program_under(whole_layer(z, 16, 16, 2, 4 * h), "2.5d", {d, q, q});
    expect_equal_shares(p);
    EXPECT_EQ(activations_of(p).forward + weights_of(p, graph_phase::forward, graph_phase::forward),
              exact(4 * (q - 1) * 7 * bsh, q * q * d) + exact(4 * (q - 1) * matrices, q * q));
    EXPECT_EQ(weights_of(p, graph_phase::backward, graph_phase::backward),
              exact(4 * 2 * matrices * (q - 1), q * q) + exact(4 * 2 * (d - 1) * matrices, d * q * q));
  }
}

// From sequence to heads: queries, keys, values and, back, what they mix to; of each block a device keeps 1/c:
// (1 + 2g + 1)(c-1)/c². Backward the transpose, and where moved activations are not kept queries, keys, values and the
// mixed values once more.
TEST(strategy_volumes, ulysses) {
  for (const int c : {2, 4, 8})
    for (const extent_t key_heads : {8, 16})
      for (const bool keep : {false, true}) {
        const bare_sizes z{2, 16, 32};
        const extent_t query_heads = 16, bsh = z.batch * z.sequence * z.hidden * 4;
        const hp::sharded_program p =
            program_under(attention_alone(z, query_heads, key_heads, 2), "ulysses", {c}, keep);
        expect_equal_shares(p);
        const extent_t once = exact((2 * query_heads + 2 * key_heads) * (c - 1) * bsh, query_heads * c * c);
        EXPECT_EQ(activations_of(p).forward, once) << c << " " << key_heads;
        EXPECT_EQ(activations_of(p).backward, (keep ? 1 : 2) * once) << c << " " << key_heads;
      }
}

// More devices than key heads: on one axis of c devices every device takes all key heads of its queries' groups. Two
// axes, key heads on the first, give each device one key head, and g becomes g · c / (key heads).
TEST(strategy_volumes, ulysses_beyond_the_key_heads) {
  const bare_sizes z{2, 16, 32};
  const extent_t query_heads = 16, key_heads = 2, bsh = z.batch * z.sequence * z.hidden * 4;
  const hp::graph g = attention_alone(z, query_heads, key_heads, 2);
  for (const int outside : {1, 2}) {
    const int c = 4, inside = c / outside;
    const char* const axes[] = {"key", "group"};
    const int degrees[] = {outside, inside};
    hp::strategy_value s;
    s.mesh = hp::make_mesh(axes, 2, degrees, 2).mesh;
    hp::detail::add_ulysses(s, "key");
    hp::detail::add_ulysses(s, "group");
    const hp::sharded_program p = hp::partition(g, s);
    ASSERT_STREQ(hp::name_of(hp::check_program(p).code), "ok");
    // 2 (c-1)/c² for queries and mixed values, 2g · copies · (c-1)/c² for keys and values.
    const extent_t copies = c / outside;
    EXPECT_EQ(activations_of(p).forward,
              exact((2 * query_heads + 2 * key_heads * copies) * (c - 1) * bsh, query_heads * c * c));
  }
}

// Blocks of keys and values, 2g bsh/c, make c-1 hops. Backward they make as many, beginning one place away, and their
// gradients too, which arrive at home with the last term.
TEST(strategy_volumes, ring_attention) {
  for (const int c : {2, 4, 8})
    for (const extent_t key_heads : {2, 8, 16}) {
      const bare_sizes z{2, 16, 32};
      const extent_t query_heads = 16, bsh = z.batch * z.sequence * z.hidden * 4;
      const hp::sharded_program p = program_under(attention_alone(z, query_heads, key_heads, 2), "ring", {c});
      expect_equal_shares(p);
      EXPECT_EQ(activations_of(p).forward, exact(2 * key_heads * (c - 1) * bsh, query_heads * c));
      EXPECT_EQ(activations_of(p).backward, exact(4 * key_heads * (c - 1) * bsh, query_heads * c));
    }
}

// Forward the all-to-alls receive less than the ring's hops iff c > (1 + g)/g.
TEST(strategy_volumes, ulysses_beats_the_ring_beyond_one_plus_one_over_g) {
  for (const int c : {2, 4, 8})
    for (const extent_t key_heads : {8, 16}) {
      const bare_sizes z{2, 16, 32};
      const hp::graph g = attention_alone(z, 16, key_heads, 2);
      const extent_t all_to_all = activations_of(program_under(g, "ulysses", {c})).forward;
      const extent_t ring = activations_of(program_under(g, "ring", {c})).forward;
      EXPECT_EQ(all_to_all < ring, c * key_heads > 16 + key_heads) << c << " " << key_heads;
    }
}

// Slots of a source rank: its groups times experts times capacity. Of their rows 1/E_p stays; one all-to-all to the
// experts, one back, and their transposes. Where moved activations are not kept, backward moves slots once more each
// way: the experts' weights want what went in, the weights of the choice what came out.
TEST(strategy_volumes, expert_parallel) {
  for (const int ranks : {2, 4, 8})
    for (const double factor : {1.0, 2.0})
      for (const bool keep : {false, true}) {
        const bare_sizes z{8, 16, 32};
        const extent_t experts = 8, top_k = 2;
        const hp::graph g = bare_model(z, [&](hp::model_builder& m, int x) {
          return hp::mixture_of_experts{.experts = experts, .top_k = top_k, .width = 16, .capacity_factor = factor}(m,
                                                                                                                    x);
        });
        const hp::sharded_program p = program_under(g, "ep", {ranks}, keep);
        expect_equal_shares(p);
        const extent_t groups = exact(z.batch, ranks);
        const extent_t slots = groups * experts * hp::detail::expert_capacity(z.sequence, experts, top_k, factor);
        EXPECT_EQ(slots, static_cast<extent_t>(factor * static_cast<double>(top_k * groups * z.sequence)));
        const extent_t once = exact(2 * (ranks - 1) * slots * z.hidden * 4, ranks);
        EXPECT_EQ(activations_of(p).forward, once);
        EXPECT_EQ(activations_of(p).backward, (keep ? 1 : 2) * once);
        // Experts are where their gradients are made; the router is replicated.
        EXPECT_EQ(weights_of(p, graph_phase::forward, graph_phase::update),
                  exact(2 * (ranks - 1) * z.hidden * experts * 4, ranks));
      }
}

// Data parallel all-reduces gradients. ZeRO 1 and 2 scatter them, at the update or in backward, and gather the updated
// parameters: the two halves of the same. ZeRO 3 gathers parameters forward and again backward and scatters gradients.
TEST(strategy_volumes, data_parallel_and_zero) {
  for (const hp::data_type type : types)
    for (const int n : {2, 4, 8}) {
      bare_sizes z{8, 4, 32, type};
      z.trained = true;
      const extent_t h = z.hidden, ffn = 4 * h, parameters = (4 * h * h + 2 * h * ffn) * hp::bytes_of(type);
      const hp::graph g = whole_layer(z, 16, 16, 2, ffn);
      const extent_t once = exact((n - 1) * parameters, n);
      const auto expect = [&](const char* name, extent_t forward, extent_t backward, extent_t norm, extent_t update) {
        const hp::sharded_program p = program_under(g, name, {n});
        expect_equal_shares(p);
        EXPECT_EQ(weights_of(p, graph_phase::forward, graph_phase::forward), forward) << name << n;
        EXPECT_EQ(weights_of(p, graph_phase::backward, graph_phase::backward), backward) << name << n;
        EXPECT_EQ(weights_of(p, graph_phase::norm, graph_phase::norm), norm) << name << n;
        EXPECT_EQ(weights_of(p, graph_phase::update, graph_phase::update), update) << name << n;
        EXPECT_EQ(activations_of(p).forward + activations_of(p).backward, 0) << name << n;
      };
      expect("dp", 0, 2 * once, 0, 0);
      expect("zero1", 0, 0, once, once);
      expect("zero2", 0, once, 0, once);
      expect("zero3", once, 2 * once, 0, 0);
    }
}

// Hybrid sharded over r replicas of n devices: parameters are gathered over n forward, again backward on level 3 only.
// Gradients are reduced over all devices into what one keeps: into whole ones on level 1 (an all-reduce over rn), into
// shards on the others: scattered over n, then all-reduced over r on a share of 1/n.
TEST(strategy_volumes, hybrid_sharded) {
  for (const auto& [r, n] : {std::pair{2, 2}, {2, 4}, {4, 2}}) {
    bare_sizes z{8, 4, 32};
    z.trained = true;
    const extent_t h = z.hidden, ffn = 4 * h, parameters = 4 * (4 * h * h + 2 * h * ffn);
    const hp::graph g = whole_layer(z, 16, 16, 2, ffn);
    const extent_t gathered = exact((n - 1) * parameters, n);
    const extent_t whole = exact(2 * (r * n - 1) * parameters, r * n);
    const extent_t share = gathered + exact(2 * (r - 1) * parameters, r * n);
    const auto expect = [&](const char* name, extent_t forward, extent_t backward) {
      const hp::sharded_program p = program_under(g, name, {r, n});
      expect_equal_shares(p);
      EXPECT_EQ(weights_of(p, graph_phase::forward, graph_phase::forward), forward) << name;
      EXPECT_EQ(weights_of(p, graph_phase::backward, graph_phase::backward), backward) << name;
      EXPECT_EQ(weights_of(p, graph_phase::norm, graph_phase::update), 0) << name;
    };
    expect("hsdp1", gathered, whole);
    expect("hsdp2", gathered, share);
    expect("hsdp3", gathered, gathered + share);
  }
}

// Micro-batches: what happens once a step does not grow with them, what happens in forward and backward does.
TEST(strategy_volumes, micro_batches) {
  bare_sizes z{8, 4, 32};
  z.trained = true;
  const hp::graph one = whole_layer(z, 16, 16, 2, 128);
  z.micro_batches = 3;
  const hp::graph three = whole_layer(z, 16, 16, 2, 128);
  for (const char* name : {"dp", "zero1", "zero2", "zero3", "tp"}) {
    const hp::sharded_program a = program_under(one, name, {4}), b = program_under(three, name, {4});
    EXPECT_EQ(weights_of(b, graph_phase::forward, graph_phase::accumulate),
              3 * weights_of(a, graph_phase::forward, graph_phase::accumulate));
    EXPECT_EQ(activations_of(b).forward, 3 * activations_of(a).forward);
    EXPECT_EQ(activations_of(b).backward, 3 * activations_of(a).backward);
    EXPECT_EQ(weights_of(b, graph_phase::norm, graph_phase::norm),  // accumulated in 32 bits, as the gradients are here
              weights_of(a, graph_phase::norm, graph_phase::norm));
    EXPECT_EQ(weights_of(b, graph_phase::update, graph_phase::update),
              weights_of(a, graph_phase::update, graph_phase::update));
  }
}

// ---- when 2D tensor parallelism saves ----

/// A pair of products between two places where hidden lies on both axes. `widths` are the elements a token that are
/// scattered after the first and gathered before the second: 2rh, r the effective width ratio.
struct block {
  hp::graph graph;
  extent_t widths = 0;
};

constexpr bare_sizes table_sizes{1, 2, 1024};
constexpr extent_t h = table_sizes.hidden;

block attention_block(extent_t key_heads) {
  return {attention_alone(table_sizes, 512, key_heads, 2), h + 2 * h * key_heads / 512 + h};
}
block feed_forward_block(extent_t ffn) { return {pair_alone(table_sizes, ffn), 2 * ffn}; }
block gated_block(extent_t ffn) {
  return {bare_model(table_sizes, [&](hp::model_builder& m, int x) { return hp::swiglu_layer{.width = ffn}(m, x); }),
          3 * ffn};
}

struct choice {
  extent_t one_dimensional = 0;  ///< bytes received
  extent_t best = 0;
  std::string best_axes;  ///< all that receive as little
};

choice best_axes(const block& b, int devices) {
  choice c;
  const extent_t whole = 4 * table_sizes.batch * table_sizes.sequence;
  for (int x = 1; x <= devices; x *= 2) {
    const int y = devices / x;
    const hp::strategy_value s = [&] {
      const int degrees[] = {x, y};
      return hp::strategy_called("2d", devices, degrees, 2).strategy;
    }();
    const hp::sharded_program p = hp::partition(b.graph, s);
    EXPECT_EQ(p.status, hp::strategy_status{});
    const extent_t received = activations_of(p).forward;
    // 2(P-1)/P bsh of 1D less (x-1)(y-r)/(P-1) of it, for every x: not only for the best.
    EXPECT_EQ(received, exact(whole * (2 * h * (devices - 1) - (x - 1) * (2 * h * y - b.widths)), devices));
    if (x == 1) c.one_dimensional = c.best = received;
    const std::string axes = std::to_string(x) + "," + std::to_string(y) + " ";
    if (received < c.best) {
      c.best = received;
      c.best_axes.clear();
    }
    if (received == c.best) c.best_axes += axes;
  }
  return c;
}

/// Whether `printed` per cent is (whole - part) / whole rounded, halves either way.
bool rounds_to(extent_t whole, extent_t part, extent_t printed) {
  const extent_t away = 200 * (whole - part) - 2 * printed * whole;
  return away <= whole && -away <= whole;
}

constexpr int device_counts[] = {4, 8, 16, 32, 64};

// Every cell of the published table, recomputed from what the programs move.
TEST(strategy_volumes, savings_of_two_dimensional_tensor_parallel) {
  struct row {
    const char* name;
    block b;
    extent_t ratio_in_1024;
    extent_t printed[5];
    const char* at_8;
    const char* at_16;
  };
  const row rows[] = {
      {"square", feed_forward_block(h), 1024, {33, 43, 60, 68, 78}, "2,4 ", "4,4 "},
      {"grouped-query attention", attention_block(64), 1152, {29, 41, 57, 67, 76}, "2,4 ", "4,4 "},
      {"multi-head attention", attention_block(512), 2048, {0, 29, 40, 58, 67}, "2,4 ", "2,8 "},
      {"11008 / 4096", feed_forward_block(2752), 2752, {0, 19, 35, 51, 63}, "2,4 ", "2,8 "},
      {"4h", feed_forward_block(4 * h), 4096, {0, 0, 27, 39, 57}, "1,8 ", "2,8 "},
      {"gated 3.5h", gated_block(7 * h / 2), 5376, {0, 0, 18, 35, 51}, "1,8 ", "2,8 "},
  };
  for (const row& r : rows) {
    EXPECT_EQ(r.b.widths, 2 * r.ratio_in_1024) << r.name;  // h is 1024
    for (int i = 0; i < 5; ++i) {
      const choice c = best_axes(r.b, device_counts[i]);
      EXPECT_TRUE(rounds_to(c.one_dimensional, c.best, r.printed[i]))
          << r.name << " at " << device_counts[i] << ": " << c.best << " of " << c.one_dimensional;
      if (device_counts[i] == 8) {
        EXPECT_NE(c.best_axes.find(r.at_8), std::string::npos) << r.name << ": " << c.best_axes;
      }
      if (device_counts[i] == 16) {
        EXPECT_NE(c.best_axes.find(r.at_16), std::string::npos) << r.name << ": " << c.best_axes;
      }
    }
  }
}

// A gated layer of 8/3 h has the width ratio of a plain one of 4h: both rows are one. h is 1024, so 8/3 of 3072 here.
TEST(strategy_volumes, a_gated_layer_of_eight_thirds_saves_as_a_plain_one_of_four) {
  const bare_sizes sizes{1, 2, 3072};
  for (const int devices : device_counts)
    for (int x = 1; x <= devices; x *= 2) {
      const int degrees[] = {x, devices / x};
      const hp::strategy_value s = hp::strategy_called("2d", devices, degrees, 2).strategy;
      const hp::graph gated =
          bare_model(sizes, [&](hp::model_builder& m, int i) { return hp::swiglu_layer{.width = 8192}(m, i); });
      EXPECT_EQ(activations_of(hp::partition(gated, s)).forward,
                activations_of(hp::partition(pair_alone(sizes, 4 * 3072), s)).forward);
    }
}

// A layer is the mean of its two blocks, each with its own axes. One published cell is rounded down: 23/112 = 20.5 %
// is printed as 20 %.
TEST(strategy_volumes, savings_of_whole_layers) {
  struct row {
    const char* name;
    block attention, feed_forward;
    extent_t printed[5];
  };
  const row rows[] = {
      {"multi-head attention and 4h", attention_block(512), feed_forward_block(4 * h), {0, 14, 33, 48, 62}},
      {"grouped queries and gated 3.5h", attention_block(64), gated_block(7 * h / 2), {15, 20, 38, 51, 64}},
  };
  for (const row& r : rows)
    for (int i = 0; i < 5; ++i) {
      const choice a = best_axes(r.attention, device_counts[i]), f = best_axes(r.feed_forward, device_counts[i]);
      const extent_t whole = a.one_dimensional + f.one_dimensional, part = a.best + f.best;
      if (&r == &rows[1] && device_counts[i] == 8) {
        EXPECT_EQ(112 * (whole - part), 23 * whole);
        EXPECT_FALSE(rounds_to(whole, part, 20));
        EXPECT_TRUE(rounds_to(whole, part, 21));
        continue;
      }
      EXPECT_TRUE(rounds_to(whole, part, r.printed[i])) << r.name << " at " << device_counts[i];
    }
}

// SUMMA receives (7 + 12h/(bs)) / (4(q+1)) of what 1D receives: a gain iff 4(q+1) > 7 + 12h/(bs).
TEST(strategy_volumes, summa_against_one_dimension) {
  for (const int q : {2, 4, 8})
    for (const extent_t tokens : {64, 640}) {  // h/(bs) = 1 and 1/10
      const bare_sizes z{8, tokens / 8, 64};
      const hp::graph g = whole_layer(z, 64, 64, 1, 256);
      const hp::sharded_program p = program_under(g, "summa", {q, q});
      const extent_t summa = activations_of(p).forward + weights_of(p, graph_phase::forward, graph_phase::forward);
      const extent_t tensor = activations_of(program_under(g, "tp", {q * q})).forward;
      EXPECT_EQ(summa * 4 * (q + 1) * tokens, tensor * (7 * tokens + 12 * z.hidden)) << q << " " << tokens;
      EXPECT_EQ(summa < tensor, 4 * (q + 1) * tokens > 7 * tokens + 12 * z.hidden);
    }
}

// 3D of 8 devices for a pair of width 4h: 0.25 of 1D where h/(bs) is 1/16, 0.57 at 1/4, nothing saved at 1.
TEST(strategy_volumes, three_dimensions_against_one) {
  struct sample {
    extent_t tokens;
    extent_t best_in_28, one_in_28;  ///< best / 1D
  };
  for (const sample& s : {sample{1024, 7, 28}, sample{256, 16, 28}, sample{64, 28, 28}}) {
    const bare_sizes z{8, s.tokens / 8, 64};
    const hp::graph g = pair_alone(z, 4 * z.hidden);
    extent_t one = 0, best = 0;
    for (int x = 1; x <= 8; x *= 2)
      for (int y = 1; x * y <= 8; y *= 2) {
        const hp::sharded_program p = program_under(g, "3d", {x, y, 8 / (x * y)});
        const extent_t received = activations_of(p).forward + weights_of(p, graph_phase::forward, graph_phase::forward);
        if (x == 1 && y == 8) one = received;
        best = best == 0 || received < best ? received : best;
      }
    EXPECT_EQ(best * s.one_in_28, one * s.best_in_28) << s.tokens;
  }
}

}  // namespace
