// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/serving_amounts.hpp>

#include <gtest/gtest.h>

#include <layers/decoder_shapes.hpp>

#include "small_decoders.hpp"

namespace hp = hyperparallel;

namespace {

// Published sizes, by the compiler: 128 KiB of cache a token of Llama-3-8B, 70 272 bytes of DeepSeek-V3's latents.
constexpr hp::serving_amounts llama = hp::serving_amounts_of(hp::test::llama3_8b, {}, 0);
static_assert(llama.parameters() == 8'030'261'248);
static_assert(hp::serving_memory_of(llama, {}, 1).cache == 128 * 1024);
static_assert(hp::serving_memory_of(llama, {.cache_bits = 8}, 1).cache == 64 * 1024);
static_assert(hp::serving_memory_of(hp::serving_amounts_of(hp::test::llama3_8b, {.weight_bits = 4}, 0), {}, 1)
                  .weights == 8'030'261'248 / 2);
constexpr hp::serving_amounts deepseek = hp::serving_amounts_of(hp::test::deepseek_v3, {}, 0);
static_assert(deepseek.parameters() == hp::parameters_of(hp::test::deepseek_v3).total());
static_assert(hp::serving_memory_of(deepseek, {}, 1).cache == 70'272);
// Latents are whole on each device of tp, key heads are cut until each device has one.
static_assert(hp::serving_amounts_of(hp::test::deepseek_v3, {.tp = 8}, 0).cached == 576);
constexpr hp::serving_amounts hybrid = hp::serving_amounts_of(hp::test::qwen3_next, {}, 0);
static_assert(hybrid.parameters() == hp::parameters_of(hp::test::qwen3_next).total());
static_assert(hybrid.full_layers == 12 && hybrid.linear_layers == 36);
// States of f32, three tokens of the convolutions' inputs of 16 bits; tp cuts them.
static_assert(hybrid.state_bytes == 4 * 32 * 128 * 128 + 2 * 3 * (2 * 16 + 32) * 128);
static_assert(hp::serving_amounts_of(hp::test::qwen3_next, {.tp = 2}, 0).state_bytes == hybrid.state_bytes / 2);
// A sequence takes the states however long it is, and a cache in the other layers.
static_assert(hp::serving_memory_of(hybrid, {}, 1).cache == 36 * hybrid.state_bytes + 12 * 2 * 2 * 2 * 256);
static_assert(hp::serving_memory_of(hybrid, {.batch = 8}, 1000).cache ==
              8 * (36 * hybrid.state_bytes + 1000 * 12 * 2 * 2 * 2 * 256));
static_assert(hp::serving_amounts_of(hp::test::llama3_8b, {.tp = 8}, 0).cached == 2 * 128);
static_assert(hp::serving_amounts_of(hp::test::llama3_8b, {.tp = 16}, 0).cached == 2 * 128);

/// Plans of the small decoders on few devices.
template <class Visit>
void visit_plans(const Visit& visit) {
  for (const hp::decoder& d : small_decoders::all())
    for (const int devices : {1, 2, 3, 4, 6, 8, 12})
      hp::visit_serving_plans(d, {.batch = 5, .chunk = 4}, devices, [&](const hp::serving_plan& p) { visit(d, p); });
}

// What all devices hold is the model: each parameter at least once, and without tp and dp each once but for a tied
// head.
TEST(ServingAmounts, DevicesHoldTheModel) {
  visit_plans([](const hp::decoder& d, const hp::serving_plan& p) {
    hp::extent_t all = 0, experts = 0;
    for (int stage = 0; stage < p.pp; ++stage) {
      const hp::serving_amounts a = hp::serving_amounts_of(d, p, stage);
      all += a.parameters();
      experts += a.experts * a.expert_parameters;
    }
    const hp::decoder_parameters<> whole = hp::parameters_of(d);
    // Biases of what comes out are whole on each device of tp.
    const hp::extent_t again = d.experts.bias ? (p.tp - 1) * d.hidden * d.experts.experts * d.layers : 0;
    EXPECT_EQ(experts * p.ep * p.tp, whole.experts + again);
    EXPECT_GE(all * p.tp * p.ep, whole.total());
    if (p.tp == 1 && p.ep == 1) {
      EXPECT_EQ(all, whole.total() + (d.tied && p.pp > 1 ? d.vocabulary * d.hidden : 0));
    }
  });
}

// The cache, layer by layer and sequence by sequence; HBM does not rise with the layers that are offloaded.
TEST(ServingAmounts, TheCacheIsThatOfItsLayers) {
  visit_plans([](const hp::decoder& d, hp::serving_plan p) {
    for (int stage = 0; stage < p.pp; ++stage) {
      const hp::serving_amounts a = hp::serving_amounts_of(d, p, stage);
      const hp::stage_layers range = hp::detail::layers_of_stage(d, p, stage);
      hp::extent_t last = 0;
      for (hp::extent_t context = 1; context <= 9; ++context) {
        hp::extent_t cache = 0, states = 0;  // which stay in HBM
        for (hp::extent_t layer = range.first; layer < range.end; ++layer) {
          if (d.is_linear(layer)) states += a.state_bytes * p.sequences();
          if (d.is_linear(layer) || !d.has_attention(layer)) continue;
          for (hp::extent_t token = 0; token < context; ++token)
            if (!d.is_windowed(layer) || context - token <= d.attention.window) cache += 2 * a.cached * p.sequences();
        }
        cache += states;
        p.offloaded_layers = 0;
        const hp::serving_memory in_hbm = hp::serving_memory_of(a, p, context);
        EXPECT_EQ(in_hbm.cache, cache);
        EXPECT_EQ(in_hbm.offloaded + in_hbm.buffers, 0);
        EXPECT_GE(in_hbm.peak(), last);
        last = in_hbm.peak();
        for (hp::extent_t layers = 1, before = last; layers <= a.layers + 1; ++layers) {
          p.offloaded_layers = layers;
          const hp::serving_memory m = hp::serving_memory_of(a, p, context);
          EXPECT_EQ(m.cache + m.offloaded, cache);
          EXPECT_LE(m.peak(), before);
          before = m.peak();
          EXPECT_TRUE(layers < a.layers || m.cache == states);
        }
      }
    }
  });
}

}  // namespace
