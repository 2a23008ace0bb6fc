// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/plan_memory.hpp>

#include <hyperparallel/hardware/gpu_presets.hpp>

#include <gtest/gtest.h>

#include <support/tries.hpp>

#include <vector>

#include "small_decoders.hpp"

namespace {

namespace hp = hyperparallel;

/// Bytes of the parts of memory_class `c`.
hp::extent_t of_class(const hp::memory_by_part& m, hp::memory_class c) {
  constexpr int first[] = {0,
                           4,
                           8,
                           12,
                           static_cast<int>(hp::memory_part::buffers),
                           static_cast<int>(hp::memory_part::inputs),
                           static_cast<int>(hp::memory_part::passing)};
  hp::extent_t sum = 0;
  for (int p = first[static_cast<int>(c)]; p < first[static_cast<int>(c) + 1]; ++p) sum += m.bytes[p];
  return sum;
}

/// Calls `visit(decoder, plan)` with every legal plan of small decoders on up to 8 devices.
template <class Visit>
void visit_small_plans(const Visit& visit) {
  for (const hp::decoder& d : small_decoders::all())
    for (const int devices : {1, 2, 4, 8})
      for (const int zero : {0, 1, 2, 3})
        for (const int options : {0, 1, 2, 3}) {
          hp::decoder_plan p{.zero = zero,
                             .micro_batches = options % 2 == 1 ? 2 : 1,
                             .recomputed = options >= 2,
                             .sequence_parallel = zero % 2 == 0,
                             .optimizer = static_cast<hp::optimizer_kind>((zero + options) % 3),
                             .batch = 16,
                             .sequence = 8};
          if (p.optimizer != hp::optimizer_kind::muon) p.host_states = 333 * (zero % 2 + options % 3);
          for (p.tp = 1; p.tp <= devices; p.tp *= 2)
            for (p.pp = 1; p.tp * p.pp <= devices; p.pp *= 2)
              for (p.cp = 1; p.tp * p.pp * p.cp <= devices; p.cp *= 2) {
                p.dp = devices / (p.tp * p.pp * p.cp);
                if (hp::check_plan(d, p, devices).ok()) visit(d, p);
              }
        }
}

// Parts of each class are what the account holds of it, to the byte, and nothing is left over.
TEST(PlanMemory, PartsAreTheAccount) {
  hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  int plans = 0;
  visit_small_plans([&](const hp::decoder& d, const hp::decoder_plan& p) {
    const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
    ASSERT_TRUE(e.ok());
    const hp::memory_by_part m = hp::plan_memory(d, p, prices);
    for (const hp::extent_t bytes : m.bytes) ASSERT_GE(bytes, 0);
    ASSERT_EQ(m.total(), e.evaluation.memory);
    ASSERT_EQ(m.of(hp::memory_part::passing), e.passing);
    for (int c = 0; c < hp::memory_class_count; ++c)
      ASSERT_EQ(of_class(m, static_cast<hp::memory_class>(c)), e.held[c]) << name_of(static_cast<hp::memory_class>(c));
    ++plans;
  });
  EXPECT_GT(plans, 500);
}

// Of one device, by hand: 64 tokens, hidden 16, 4 query and 2 key heads of 4, width 24, 2 layers.
TEST(PlanMemory, ActivationsGoToTheirParts) {
  const hp::decoder d = small_decoders::dense();
  hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  const hp::memory_by_part m = hp::plan_memory(d, {.batch = 8, .sequence = 8}, prices);
  const hp::extent_t all = 2 * 64 * 2;  // bytes of bf16 of one number a token in both layers
  EXPECT_EQ(m.of(hp::memory_part::attention_input), all * 16);
  EXPECT_EQ(m.of(hp::memory_part::feed_forward_input), all * 16);
  EXPECT_EQ(m.of(hp::memory_part::queries_and_keys), all * (4 + 2) * 4);
  EXPECT_EQ(m.of(hp::memory_part::values), all * 2 * 4);
  EXPECT_EQ(m.of(hp::memory_part::projection_input), all * 16);
  EXPECT_EQ(m.of(hp::memory_part::attention_scores), all * 2 * 4);  // a sum of exponentials in f32 for each query head
  EXPECT_EQ(m.of(hp::memory_part::feed_forward_inner), all * 3 * 24);
  EXPECT_EQ(m.of(hp::memory_part::dropout_masks), 0);
  EXPECT_EQ(m.of(hp::memory_part::inputs), 2 * 64 * 4);
  EXPECT_EQ(m.of(hp::memory_part::passing), 0);
}

/// What a device holds of the model's numbers between two steps, four bytes each, from the sizes of the decoder: whole or
/// cut by tp, in the share of a stage, and over the data ranks where that is sharded.
hp::extent_t numbers_of(const hp::decoder& d, const hp::decoder_plan& p, bool sharded) {
  const hp::attention_layer& a = d.attention;
  const hp::extent_t stage = (d.layers + p.pp - 1) / p.pp, data = sharded ? hp::extent_t{p.dp} * p.cp : 1;
  const hp::extent_t key_heads = a.key_heads % p.tp == 0 ? a.key_heads / p.tp : a.key_heads;
  const hp::extent_t matrices =
      d.hidden * (2 * a.query_heads / p.tp + 2 * key_heads) * a.head_dim + 3 * d.hidden * d.feed_forward.width / p.tp;
  const hp::extent_t tables = 2 * d.vocabulary * d.hidden / p.tp;
  return 4 * (stage * (matrices + 2 * d.hidden) + (tables + d.hidden) / p.pp) / data;
}

// ZeRO, 1910.02054, section 3: stage 1 shards the states, 2 the gradients as well, 3 the parameters too.
TEST(PlanMemory, StatesOfEveryZeroStageAreExact) {
  hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  hp::decoder wide = small_decoders::dense();
  wide.vocabulary = 64;
  wide.hidden = 32;
  wide.layers = 4;
  wide.attention = {.query_heads = 8, .key_heads = 4, .head_dim = 8, .rope_base = 10000.0};
  wide.feed_forward.width = 48;
  int plans = 0;
  for (const int zero : {0, 1, 2, 3})
    for (const int tp : {1, 2, 4})
      for (const int pp : {1, 2, 4})
        for (const int dp : {1, 2, 4})
          for (const int cp : {1, 2}) {
            const hp::decoder_plan p{
                .tp = tp, .pp = pp, .dp = dp, .cp = cp, .zero = zero, .micro_batches = 2, .batch = 8, .sequence = 16};
            ASSERT_TRUE(hp::check_plan(wide, p, hp::device_count_of(p)).ok());
            const hp::sharded_program program = partition(hp::training_graph_of(wide, p), hp::strategy_of(p));
            const hp::storage_uses uses(program);
            hp::extent_t held[hp::memory_class_count] = {};
            hp::visit_kept_memory(program, hp::pipeline_form(program.graph, pp),
                                  [&](int storage, int, hp::extent_t bytes) {
                                    if (program.storage[storage].home)
                                      held[static_cast<int>(uses.class_of(storage))] += bytes;
                                  });
            const auto of = [&](hp::memory_class c) { return held[static_cast<int>(c)]; };
            ASSERT_EQ(of(hp::memory_class::parameters), numbers_of(wide, p, zero >= 3)) << zero << tp << pp << dp << cp;
            ASSERT_EQ(of(hp::memory_class::gradients), numbers_of(wide, p, zero >= 2)) << zero << tp << pp << dp << cp;
            ASSERT_EQ(of(hp::memory_class::states), 2 * numbers_of(wide, p, zero >= 1)) << zero << tp << pp << dp << cp;
            ++plans;
          }
  EXPECT_EQ(plans, 4 * 3 * 3 * 3 * 2);
}

// ZeRO over one device more holds no more parameters and states, with the same sequences a device and whatever divides the
// dims; of a model that is not small the peak, with what moves stage between their steps, is within a twentieth.
TEST(PlanMemory, OneDeviceMoreOfZeroNeedsNoMore) {
  hp::plan_prices dies(hp::matrix384::device, hp::matrix384::topology), cards(hp::h100::device, hp::h100::topology);
  hp::decoder wide = small_decoders::dense();
  wide.layers = 2;
  wide.hidden = 4096;
  wide.feed_forward.width = 14336;
  wide.vocabulary = 128256;
  wide.attention.query_heads = 32;
  wide.attention.key_heads = 8;
  wide.attention.head_dim = 128;
  std::vector<hp::decoder> all = small_decoders::all();
  all.push_back(wide);
  for (const hp::decoder& d : all) {
    const bool is_wide = d.hidden == wide.hidden;
    for (hp::plan_prices* prices : {&dies, &cards})
      for (int zero = 1; zero <= 3; ++zero) {
        hp::extent_t peak = 0, kept = 0;
        for (int dp = 2; dp <= (is_wide ? tested::tries(26, 400) : 40); ++dp) {
          const hp::decoder_plan p{.dp = dp, .zero = zero, .recomputed = true, .batch = dp, .sequence = 64};
          const hp::plan_estimate e = hp::estimate_plan(d, p, *prices);
          ASSERT_TRUE(e.ok());
          const hp::extent_t states = e.held[static_cast<int>(hp::memory_class::states)],
                             held = states + e.held[static_cast<int>(hp::memory_class::parameters)];
          if (dp > 2) {
            EXPECT_LE(held, kept) << "dp=" << dp << ", zero=" << zero;
          }
          kept = held;
          if (!is_wide) continue;
          const hp::extent_t even = 8 * hp::parameters_of(d).total() / dp;
          EXPECT_LE(states, even + even / 10) << dp;
          if (dp > 2) {
            EXPECT_LE(e.evaluation.memory, peak + peak / 20) << "dp=" << dp << ", zero=" << zero;
          }
          peak = e.evaluation.memory;
        }
      }
  }
}

}  // namespace
