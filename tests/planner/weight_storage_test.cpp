// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/weight_storage.hpp>

#include <hyperparallel/layers/decoder_parameters.hpp>
#include <hyperparallel/planner/serving_amounts.hpp>

#include <gtest/gtest.h>

#include <random>

#include "small_decoders.hpp"

namespace hp = hyperparallel;

namespace {

// DeepSeek-V3's blocks of 128 x 128, NVFP4's 16 inputs, by the compiler.
constexpr hp::weight_format fp8{.bits = 8, .block_outputs = 128, .block_inputs = 128, .block_bits = 32};
static_assert(fp8.bits_of(576, 7168) == 8 * 576 * 7168 + 32 * 5 * 56);
static_assert(hp::weight_format{.bits = 4, .block_inputs = 16, .block_bits = 8, .map_bits = 64}.bits_of(10, 40) ==
              4 * 400 + 8 * 30 + 64);
static_assert(fp8.bits_of(0, 7168) == 0);

/// Bits by going over every element, and by every block that has one.
hp::extent_t counted_bits(const hp::weight_format& f, hp::extent_t outputs, hp::extent_t inputs) {
  hp::extent_t bits = f.map_bits + inputs * f.input_bits;
  for (hp::extent_t o = 0; o < outputs; ++o)
    for (hp::extent_t i = 0; i < inputs; ++i) {
      const bool first_output = f.block_outputs > 0 ? o % f.block_outputs == 0 : o == 0;
      const bool first_input = f.block_inputs > 0 ? i % f.block_inputs == 0 : i == 0;
      bits += f.bits + (first_output && first_input ? f.block_bits : 0);
    }
  return bits;
}

}  // namespace

TEST(WeightStorage, BitsAreThoseOfElementsAndBlocks) {
  std::mt19937 random(5);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int i = 0; i < 1000; ++i) {
    const hp::weight_format f{1 + below(16), below(6), below(6), below(40), below(33), below(65)};
    const hp::extent_t outputs = 1 + below(20), inputs = 1 + below(20);
    EXPECT_EQ(f.bits_of(outputs, inputs), counted_bits(f, outputs, inputs));
  }
}

// The maps of all layers are the model but norms, biases, routers, sinks, tables, taps and decays; of routed experts one stands for all.
TEST(WeightStorage, MapsAreTheLayers) {
  for (hp::decoder d : small_decoders::all()) {
    d.attention.query_key_value_bias = d.attention.output_bias = d.attention.sinks = false;
    d.feed_forward.bias = d.experts.bias = d.experts.shared_gate = false;
    const hp::decoder_parameters<> whole = hp::parameters_of(d);
    hp::extent_t routed = 0, others = 0;
    for (hp::extent_t layer = 0; layer < d.layers; ++layer)
      hp::visit_maps(d, layer, [&](hp::weight_map m, hp::extent_t outputs, hp::extent_t inputs) {
        const bool expert = m >= hp::weight_map::expert_gate && m <= hp::weight_map::expert_down;
        (expert ? routed : others) += outputs * inputs;
      });
    EXPECT_EQ(routed * (d.has_experts ? d.experts.experts : 0), whole.experts);
    hp::extent_t unmapped = 0;
    const hp::linear_attention_layer& a = d.linear;
    for (hp::extent_t layer = 0; layer < d.layers; ++layer)
      if (d.is_linear(layer))
        unmapped +=
            (2 * a.keys() + a.values()) * (a.taps + (a.is_delta() ? 0 : 1)) + (a.is_delta() ? 2 : 3) * a.value_heads;
    EXPECT_EQ(others + unmapped, whole.attention + whole.feed_forward + whole.shared_experts);
  }
}

// Random formats of random maps: a device holds, bit by bit, what the definition says; a format of so many bits without scales is
// `weight_bits`; and times and longest contexts read the same bits.
TEST(WeightStorage, DevicesHoldWhatIsStored) {
  std::mt19937 random(50);
  int cases = 0;
  for (const hp::decoder& d : small_decoders::all())
    for (const int devices : {1, 2, 4, 6})
      hp::visit_serving_plans(d, {.batch = 3, .chunk = 8}, devices, [&](hp::serving_plan p) {
        hp::serving_plan plain = p;
        plain.weight_bits = 1 + static_cast<int>(random() % 16);
        p.weights.kept_bits = plain.weight_bits;
        p.weights.format.push({.bits = plain.weight_bits});
        p.weights.format.push(
            {.bits = 4, .block_inputs = 1 + static_cast<hp::extent_t>(random() % 5), .block_bits = 8, .map_bits = 32});
        p.weights.number.resize(static_cast<int>(d.layers) * hp::detail::layer_map_count + 2);
        for (unsigned char& n : p.weights.number) n = random() % 2;
        for (int stage = 0; stage < p.pp; ++stage) {
          const hp::serving_amounts a = hp::serving_amounts_of(d, p, stage),
                                    b = hp::serving_amounts_of(d, plain, stage);
          EXPECT_EQ(a.weight_bits(), b.weight_bits());
          EXPECT_EQ(b.weight_bits(), b.parameters() * plain.weight_bits);
        }
        for (unsigned char& n : p.weights.number) n = static_cast<unsigned char>(random() % 3);
        for (int stage = 0; stage < p.pp; ++stage) {
          const hp::serving_amounts a = hp::serving_amounts_of(d, p, stage);
          const hp::decoder share = hp::share_of(d, p);
          const hp::stage_layers range = hp::detail::layers_of_stage(d, p, stage);
          hp::extent_t bits = a.parameters() * plain.weight_bits;
          const auto replace = [&](hp::weight_map m, hp::extent_t layer, hp::extent_t outputs, hp::extent_t inputs,
                                   hp::extent_t times) {
            const hp::weight_format* f = p.weights.format_of(m, layer, d.layers);
            if (f != nullptr)
              bits += times * (counted_bits(*f, outputs, inputs) - outputs * inputs * plain.weight_bits);
          };
          for (hp::extent_t layer = range.first; layer < range.end; ++layer)
            hp::visit_maps(share, layer, [&](hp::weight_map m, hp::extent_t outputs, hp::extent_t inputs) {
              const bool expert = m >= hp::weight_map::expert_gate && m <= hp::weight_map::expert_down;
              replace(m, layer, outputs, inputs, expert ? d.experts.experts / p.ep : 1);
            });
          const bool first = stage == 0, last = stage + 1 == p.pp;
          if (first || (last && d.tied)) replace(hp::weight_map::embedding, 0, share.vocabulary, d.hidden, 1);
          if (last && !d.tied) replace(hp::weight_map::head, 0, share.vocabulary, d.hidden, 1);
          EXPECT_EQ(a.weight_bits(), bits);
          EXPECT_EQ(hp::serving_memory_of(a, p, 1).weights, hp::ceil_divide(bits, 8));
          ++cases;
        }
      });
  EXPECT_GT(cases, 100);
}
