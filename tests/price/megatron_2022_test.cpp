// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/megatron_2022.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;

constexpr auto selective = hp::megatron_recomputation::selective, full = hp::megatron_recomputation::full;

// Published figures (Korthikanti et al., figure 1): each is a multiple of 1/512 GiB and holds to the last digit.
constexpr hp::extent_t in_512ths(double gibibytes) { return static_cast<hp::extent_t>(gibibytes * 512); }
constexpr bool is_gibibytes(hp::extent_t bytes, double published) {
  return bytes % (hp::extent_t{1} << 21) == 0 && bytes >> 21 == in_512ths(published) &&
         static_cast<double>(in_512ths(published)) == published * 512;
}

constexpr hp::megatron_model gpt_22b{.layers = 48, .hidden = 6144, .heads = 64};
constexpr hp::megatron_model gpt_175b{.layers = 96, .hidden = 12288, .heads = 96};
constexpr hp::megatron_model gpt_530b{.layers = 105, .hidden = 20480, .heads = 128};
constexpr hp::megatron_model gpt_1t{.layers = 128, .hidden = 25600, .heads = 160};
constexpr hp::megatron_plan on_22b{.micro_batch = 4, .sequence = 2048, .tp = 8};
constexpr hp::megatron_plan on_175b{.sequence = 2048, .tp = 8, .pp = 8, .chunks = 3};
constexpr hp::megatron_plan on_530b{.sequence = 2048, .tp = 8, .pp = 35, .chunks = 3};
constexpr hp::megatron_plan on_1t{.sequence = 2048, .tp = 8, .pp = 64};

constexpr hp::megatron_plan with(hp::megatron_plan p, bool sequence_parallel, hp::megatron_recomputation r) {
  p.sequence_parallel = sequence_parallel;
  p.recomputation = r;
  return p;
}

static_assert(is_gibibytes(megatron_2022(gpt_22b, on_22b).activations(), 59.25));
static_assert(is_gibibytes(megatron_2022(gpt_22b, with(on_22b, true, selective)).activations(), 9.5625));
static_assert(is_gibibytes(megatron_2022(gpt_22b, on_22b).states(), 45.5625));
static_assert(is_gibibytes(megatron_2022(gpt_175b, on_175b).activations(), 66.84375));
static_assert(is_gibibytes(megatron_2022(gpt_175b, with(on_175b, true, selective)).activations(), 12.3515625));
static_assert(is_gibibytes(megatron_2022(gpt_175b, on_175b).states(), 45.5625));
static_assert(is_gibibytes(megatron_2022(gpt_530b, on_530b).activations(), 114.0234375));
static_assert(is_gibibytes(megatron_2022(gpt_530b, with(on_530b, true, selective)).activations(), 23.076171875));
static_assert(is_gibibytes(megatron_2022(gpt_530b, on_530b).states(), 31.640625));
static_assert(is_gibibytes(megatron_2022(gpt_1t, on_1t).activations(), 131.25));
static_assert(is_gibibytes(megatron_2022(gpt_1t, with(on_1t, true, selective)).activations(), 26.5625));
static_assert(is_gibibytes(megatron_2022(gpt_1t, on_1t).states(), 32.958984375));
static_assert(!is_gibibytes(megatron_2022(gpt_1t, on_1t).states(), 32.9609375));

/// The table of section 4 and 5: activation bytes over s b h layers, with one device of a pipeline.
double per_element(const hp::megatron_model& m, const hp::megatron_plan& p) {
  const double h = static_cast<double>(m.hidden), t = static_cast<double>(p.tp);
  if (p.recomputation == full) return 2;
  const double scores = p.recomputation == selective ? 0 : 5 * static_cast<double>(m.heads * p.sequence) / (h * t);
  return (p.sequence_parallel ? 34 / t : 10 + 24 / t) + scores;
}

TEST(Megatron2022, PartsAreTheFormulasOfThePaper) {
  for (const hp::megatron_model& m : {gpt_22b, gpt_175b, gpt_530b, gpt_1t, {.layers = 3, .hidden = 48, .heads = 6}})
    for (const hp::extent_t tp : {1, 2, 3, 8})
      for (const hp::extent_t pp : {1, 3, 8})
        for (const hp::extent_t chunks : {1, 3})
          for (const bool sequence_parallel : {false, true})
            for (const auto r : {hp::megatron_recomputation::off, selective, full}) {
              const hp::megatron_plan p{2, 512, tp, pp, chunks, sequence_parallel, r};
              const double inflation =
                  pp > 1 && chunks > 1 ? 1 + static_cast<double>(pp - 1) / static_cast<double>(pp * chunks) : 1;
              const double sbhl = static_cast<double>(p.sequence * p.micro_batch * m.hidden * m.layers);
              const hp::memory_by_part of = megatron_2022(m, p);
              // Each part is rounded up by less than a byte.
              const double expected = sbhl * per_element(m, p) * inflation;
              EXPECT_GE(static_cast<double>(of.activations()), expected * (1 - 1e-12));
              EXPECT_LE(static_cast<double>(of.activations()), expected * (1 + 1e-12) + 9);
              const double states =
                  18.0 * 12 * static_cast<double>(m.layers * m.hidden * m.hidden) / static_cast<double>(tp * pp);
              EXPECT_GE(static_cast<double>(of.states()), states * (1 - 1e-12));
              EXPECT_LE(static_cast<double>(of.states()), states * (1 + 1e-12) + 6);
            }
}

TEST(Megatron2022, WhatLeaves64BitsIsNotCounted) {
  const hp::extent_t huge = hp::extent_t{1} << 24;
  const hp::memory_by_part of =
      hp::megatron_2022({.layers = huge, .hidden = huge, .heads = huge}, {.micro_batch = huge, .sequence = huge});
  for (const hp::memory_part p : {hp::memory_part::attention_parameters, hp::memory_part::norm_inputs,
                                  hp::memory_part::attention_scores, hp::memory_part::feed_forward_inner})
    EXPECT_EQ(of.of(p), hp::not_counted);
  EXPECT_EQ(of.states(), hp::not_counted);
  EXPECT_EQ(of.total(), hp::not_counted);
}

}  // namespace
