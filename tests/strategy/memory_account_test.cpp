// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/memory_account.hpp>

#include <models/one_device_program.hpp>
#include <models/random_program.hpp>
#include <models/stacked_model.hpp>

#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

hp::extent_t sum_of(const hp::extent_t (&bytes)[hp::memory_class_count]) {
  hp::extent_t sum = 0;
  for (const hp::extent_t b : bytes) sum += b;
  return sum;
}

void expect_equal(const hp::memory_account& folded, const hp::memory_account& unrolled) {
  EXPECT_EQ(folded.peak, unrolled.peak);
  for (int c = 0; c < hp::memory_class_count; ++c) {
    const char* const name = hp::name_of(static_cast<hp::memory_class>(c));
    EXPECT_EQ(folded.at_peak[c], unrolled.at_peak[c]) << name;
    EXPECT_EQ(folded.most[c], unrolled.most[c]) << name;
    EXPECT_EQ(folded.resident[c], unrolled.resident[c]) << name;
  }
}

TEST(memory_account, peak_is_what_an_address_plan_needs_at_least) {
  std::mt19937 random(31);
  for (int round = 0; round < 200; ++round) {
    const hp::sharded_program p = programs::random_program(random);
    const hp::memory_account a = hp::detail::memory_account_of(p, hp::detail::storage_alignment);
    EXPECT_EQ(a.peak, hp::alive_maximum(p));
    EXPECT_EQ(sum_of(a.at_peak), a.peak);
    const hp::memory_account exact = hp::detail::memory_account_of(p);
    EXPECT_LE(exact.peak, a.peak);
    for (int c = 0; c < hp::memory_class_count; ++c) {
      EXPECT_LE(exact.resident[c], exact.at_peak[c]);
      EXPECT_LE(exact.at_peak[c], exact.most[c]);
    }
  }
}

TEST(memory_account, of_a_folded_program_is_that_of_the_program_written_out) {
  for (const bool trained : {false, true})
    for (int dense = 1; dense <= 9; ++dense)
      for (const int wide : {0, 1, 2, 7}) {
        programs::stacked_model model;
        model.dense_layers = dense;
        model.expert_layers = wide;
        model.trained = trained;
        const hp::graph folded = model.build();
        model.unrolled = true;
        const hp::graph unrolled = model.build();
        ASSERT_EQ(folded.status.code, hp::graph_code::ok);
        ASSERT_EQ(unrolled.status.code, hp::graph_code::ok);
        SCOPED_TRACE(std::to_string(dense) + " and " + std::to_string(wide) + (trained ? ", trained" : ""));
        expect_equal(hp::detail::memory_account_of(programs::one_device_program(folded)),
                     hp::detail::memory_account_of(programs::one_device_program(unrolled)));
        if (HasFailure()) return;
      }
}

/// Layers of random operators between tensors of random sizes: those of forward are read by those of backward, some of
/// backward by the update, and each direction hands one tensor on.
class random_layers {
 public:
  random_layers(unsigned seed, int repeats, bool folded) : folded_(folded), seed_(seed) {
    int x = add("x", 1, hp::graph_phase::forward, -1, {});
    if (folded) g_.segment.push({hp::add_text(g_, "layer"), repeats, x});
    const int written = folded ? 1 : repeats;
    std::vector<std::vector<int>> made(static_cast<std::size_t>(written));
    for (auto& layer : made) {
      layer.push_back(x);
      for (int k = 0; k < operators; ++k) layer.push_back(part(layer, 0, k, hp::graph_phase::forward));
      x = layer.back();
    }
    int dx = add("dx", 2, hp::graph_phase::backward, -1, {x});
    const int first_gradient = dx;
    for (int l = written - 1; l >= 0; --l) {
      auto& layer = made[static_cast<std::size_t>(l)];
      layer.push_back(dx);
      for (int k = 0; k < operators; ++k) layer.push_back(part(layer, 1, k, hp::graph_phase::backward));
      dx = layer.back();
    }
    if (folded) {
      g_.segment[0].carried_out = x;
      g_.segment[0].gradient_in = first_gradient;
      g_.segment[0].gradient_out = dx;
    }
    add("end", 3, hp::graph_phase::backward, -1, {dx});
    for (const auto& layer : made)
      for (int k = 0; k < 2; ++k)
        add("update", 4, hp::graph_phase::update, folded ? 0 : -1,
            {layer[layer.size() - 2 - static_cast<std::size_t>(drawn(2, k) % (operators - 2))]});
  }
  const hp::graph& graph() const { return g_; }

 private:
  static constexpr int operators = 6;

  /// The same for each layer.
  unsigned drawn(int kind, int number) const {
    unsigned n = seed_ * 0x9e3779b9u + static_cast<unsigned>(kind) * 0x85ebca6bu + static_cast<unsigned>(number);
    for (int round = 0; round < 3; ++round) {
      n ^= n >> 16;
      n *= 0x7feb352du;
    }
    return n >> 8;
  }
  int part(const std::vector<int>& layer, int kind, int k, hp::graph_phase phase) {
    const unsigned which = drawn(kind + 5, k), size = static_cast<unsigned>(layer.size());
    return add("t", k + 1 == operators ? 1 + kind : 100 * kind + k + 10, phase, folded_ ? 0 : -1,
               {layer[which % size], layer[which / 64 % size], layer[which / 4096 % size]});
  }
  int add(const char* name, int kind_of_size, hp::graph_phase phase, int segment, const std::vector<int>& read) {
    hp::graph_tensor t;
    t.name = hp::add_text(g_, name);
    t.kind = phase == hp::graph_phase::forward ? hp::graph_tensor_kind::activation : hp::graph_tensor_kind::gradient;
    t.shape = hp::shape{1 + drawn(9, kind_of_size) % 1000};
    t.producer = g_.op.size;
    t.segment = segment;
    hp::graph_operator o;
    o.phase = phase;
    o.segment = segment;
    for (const int r : read) o.operand[o.operand_count++] = r;
    o.result_count = 1;
    o.result[0] = g_.tensor.push(t);
    g_.op.push(o);
    return o.result[0];
  }

  bool folded_;
  unsigned seed_;
  hp::graph g_;
};

TEST(memory_account, of_random_layers_is_that_of_layers_written_out) {
  for (unsigned seed = 0; seed < 300; ++seed)
    for (const int repeats : {1, 2, 3, 4, 5, 6, 7, 11, 40}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", repeated " + std::to_string(repeats));
      expect_equal(
          hp::detail::memory_account_of(programs::one_device_program(random_layers(seed, repeats, true).graph())),
          hp::detail::memory_account_of(programs::one_device_program(random_layers(seed, repeats, false).graph())));
      if (HasFailure()) return;
    }
}

hp::extent_t repeated_moves(const hp::sharded_program& p) {
  hp::extent_t n = 0;
  for (const hp::program_step& s : p.step)
    if (s.is_move) n += hp::detail::repeats_of(p.graph, s.segment);
  return n;
}

TEST(memory_account, of_folded_shards_is_that_of_shards_written_out) {
  int compared = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i)
    for (const int micro_batches : {1, 3}) {
      const char* const name = hp::named_strategy_at(i).name;
      programs::stacked_model model;
      model.key_heads = 4;
      model.dense_layers = 6;
      model.expert_layers = 3;
      model.micro_batches = micro_batches;
      const hp::strategy_result strategy = hp::strategy_called(name, 4);
      ASSERT_EQ(strategy.status.code, hp::strategy_code::ok);
      const hp::sharded_program folded = hp::partition(model.build(), strategy.strategy);
      model.unrolled = true;
      const hp::sharded_program unrolled = hp::partition(model.build(), strategy.strategy);
      if (folded.status.code == hp::strategy_code::rule_matches_nothing) continue;  // the model has no experts
      ASSERT_EQ(folded.status.code, hp::strategy_code::ok) << name;
      ASSERT_EQ(unrolled.status.code, hp::strategy_code::ok) << name;
      SCOPED_TRACE(name + std::string(" in micro-batches: ") + std::to_string(micro_batches));
      // A repetition may bring what it carries to one layout where a program of all layers would leave it in two.
      if (repeated_moves(folded) != repeated_moves(unrolled)) continue;
      expect_equal(hp::detail::memory_account_of(folded), hp::detail::memory_account_of(unrolled));
      ++compared;
    }
  EXPECT_GE(compared, 24);
}

TEST(MemoryAccount, WhatIsRefusedMeetsNoLimit) {
  const hp::sharded_program p =
      hp::partition(programs::stacked_model{}.build(), hp::strategy_called("tp-sp", 16).strategy);
  ASSERT_NE(p.status.code, hp::strategy_code::ok);
  const hp::memory_account a = hp::detail::memory_account_of(p);
  EXPECT_EQ(a, hp::memory_account::of_nothing());
  EXPECT_FALSE(a.peak <= hp::not_counted - 1);
  EXPECT_FALSE(hp::fits(p, 1'000'000 * hp::TiB));
  EXPECT_EQ(hp::plan_addresses(p).high_water[0], hp::not_counted);
  EXPECT_EQ(hp::alive_maximum(p), hp::not_counted);
}

}  // namespace
