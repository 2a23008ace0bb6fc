// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/plan_formats.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/planner/estimate.hpp>
#include <hyperparallel/planner/plan_bounds.hpp>

#include <layers/decoder_shapes.hpp>

#include "small_decoders.hpp"

namespace {

namespace hp = hyperparallel;

TEST(PlanFormats, AreFoundByName) {
  EXPECT_EQ(hp::find_formats("f32")->formats, hp::plan_formats{});
  EXPECT_EQ(hp::find_formats("fp8")->formats.product_bits(), 8);
  EXPECT_EQ(hp::find_formats("nvfp4")->formats.product_bits(), 4);
  EXPECT_EQ(hp::find_formats("bf16")->formats.product_bits(), 0);
  EXPECT_EQ(hp::find_formats("fp6"), nullptr);
  EXPECT_STREQ(hp::name_of(hp::find_formats("mxfp8")->formats), "fp8");
  EXPECT_STREQ(hp::name_of({.product = hp::number_format::float8}), "mixed");
}

/// Bytes of a class of memory of a decoder on one device.
hp::extent_t held(const hp::decoder& d, const hp::decoder_plan& p, hp::memory_class c) {
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  return hp::estimate_plan(d, p, prices).held[static_cast<int>(c)];
}

// 2 bytes of a parameter, 4 of its master, 8 of two moments and 4 of the sum of its gradients: 18, where f32 has 16.
TEST(PlanFormats, NarrowParametersHaveMasters) {
  const hp::decoder d = small_decoders::dense();
  const hp::extent_t n = hp::parameters_of(d).total();
  hp::decoder_plan p{.micro_batches = 2, .batch = 4, .sequence = 8};
  EXPECT_EQ(held(d, p, hp::memory_class::parameters), 4 * n);
  EXPECT_EQ(held(d, p, hp::memory_class::states), 8 * n);
  const hp::extent_t sums = held(d, p, hp::memory_class::gradients);
  p.formats = hp::find_formats("bf16")->formats;
  EXPECT_EQ(held(d, p, hp::memory_class::parameters), 2 * n);
  EXPECT_EQ(held(d, p, hp::memory_class::states), 12 * n);
  EXPECT_LE(held(d, p, hp::memory_class::gradients), sums);
  EXPECT_GE(held(d, p, hp::memory_class::gradients), 4 * n);
}

// Moments of 16 and of 8 bits take 4 and 6 bytes a parameter less, and the pass of the update as much less to read and to write; nothing else changes.
TEST(PlanFormats, NarrowMomentsAreLessOfTheStates) {
  const hp::decoder d = small_decoders::dense();
  const hp::extent_t n = hp::parameters_of(d).total();
  hp::decoder_plan p{.micro_batches = 2, .formats = hp::find_formats("bf16")->formats, .batch = 4, .sequence = 8};
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  const hp::plan_estimate wide = hp::estimate_plan(d, p, prices);
  hp::extent_t time = wide.time();
  for (const char* name : {"bf16_states16", "bf16_states8"}) {
    p.formats = hp::find_formats(name)->formats;
    const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
    ASSERT_TRUE(e.ok());
    EXPECT_EQ(e.held[static_cast<int>(hp::memory_class::states)], hp::detail::state_bytes(p.formats, p.optimizer) * n);
    EXPECT_EQ(hp::detail::state_bytes(p.formats, p.optimizer), name[11] == '1' ? 8 : 6);
    EXPECT_EQ(e.held[static_cast<int>(hp::memory_class::parameters)], 2 * n);
    EXPECT_EQ(e.received[0], wide.received[0]);
    EXPECT_LT(e.time(), time);
    time = e.time();
  }
}

// SGD and Muon have one moment: 2 bytes of a parameter, 4 of its sum of gradients, 4 of its master and 4 of a momentum, as Megatron-LM holds
// them, where AdamW has 18. Muon leaves embedding, head and vectors to AdamW. An update that moves less takes less, unless it multiplies matrices.
TEST(PlanFormats, OptimizersWithOneMomentHaveLessOfTheStates) {
  const hp::decoder d = small_decoders::dense();
  const hp::extent_t n = hp::parameters_of(d).total();
  const hp::extent_t matrices = n - 2 * d.vocabulary * d.hidden - (2 * d.layers + 1) * d.hidden;
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  for (const hp::named_formats& f : hp::known_formats) {
    if (f.formats.product_bits() == 4) continue;  // of which the device has no rate
    hp::decoder_plan p{.micro_batches = 2, .formats = f.formats, .batch = 4, .sequence = 8};
    const hp::plan_estimate adamw = hp::estimate_plan(d, p, prices);
    p.optimizer = hp::optimizer_kind::sgd;
    const hp::plan_estimate sgd = hp::estimate_plan(d, p, prices);
    p.optimizer = hp::optimizer_kind::muon;
    const hp::plan_estimate muon = hp::estimate_plan(d, p, prices);
    ASSERT_TRUE(adamw.ok() && sgd.ok() && muon.ok()) << f.name;
    const auto states = [](const hp::plan_estimate& e) { return e.held[static_cast<int>(hp::memory_class::states)]; };
    const hp::extent_t moment = bytes_of(f.formats.moment), master = f.formats.weight == hp::data_type::f32 ? 0 : 4;
    EXPECT_EQ(states(adamw), (master + 2 * moment) * n) << f.name;
    EXPECT_EQ(states(sgd), (master + moment) * n) << f.name;
    EXPECT_EQ(states(muon), (master + 2 * moment) * n - moment * matrices) << f.name;
    for (const hp::memory_class c : {hp::memory_class::parameters, hp::memory_class::gradients})
      for (const hp::plan_estimate* e : {&sgd, &muon})
        EXPECT_EQ(e->held[static_cast<int>(c)], adamw.held[static_cast<int>(c)]) << f.name;
    EXPECT_LT(sgd.time(), adamw.time()) << f.name;
  }
}

// A data rank holds its part of SGD's momentum under ZeRO, and all of Muon's matrices, which it orthogonalises: five steps of 4 m² n + 2 m³.
TEST(PlanFormats, MuonUpdatesWholeMatricesOnEveryRank) {
  const hp::decoder& d = hp::test::llama3_8b;
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  hp::decoder_plan p{.dp = 8,
                     .zero = 1,
                     .recomputed = true,
                     .formats = hp::find_formats("bf16")->formats,
                     .batch = 8,
                     .sequence = 4096};
  const auto with = [&](hp::optimizer_kind kind) {
    p.optimizer = kind;
    return hp::estimate_plan(d, p, prices);
  };
  const hp::plan_estimate adamw = with(hp::optimizer_kind::adamw), sgd = with(hp::optimizer_kind::sgd),
                          muon = with(hp::optimizer_kind::muon);
  const hp::extent_t n = hp::parameters_of(d).total(), rest = 2 * d.vocabulary * d.hidden + 65 * d.hidden;
  const auto states = [](const hp::plan_estimate& e) { return e.held[static_cast<int>(hp::memory_class::states)]; };
  EXPECT_EQ(states(adamw), 12 * n / 8);
  EXPECT_EQ(states(sgd), n);
  EXPECT_EQ(states(muon), 8 * (n - rest) + 12 * rest / 8);
  const double m = 4096, keys = 1024, wide = 14336;
  const auto steps = [](double least, double most) {
    return 5 * (4 * least * least * most + 2 * least * least * least);
  };
  const double operations = 32 * (2 * steps(m, m) + 2 * steps(keys, m) + 3 * steps(m, wide));
  const double least = operations / static_cast<double>(matrix_peak(prices.device(), hp::number_format::bfloat16));
  EXPECT_GT(static_cast<double>(muon.time() - sgd.time()) / 1e12, least);
  EXPECT_LT(static_cast<double>(muon.time() - sgd.time()) / 1e12, 2 * least);
}

// Sums of 16 bits take 2 bytes a parameter less, and half of what is reduced once a step; states and parameters are as they were.
TEST(PlanFormats, NarrowSumsAreLessOfTheGradients) {
  const hp::decoder& d = hp::test::llama3_8b;
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  hp::decoder_plan p{.dp = 8,
                     .micro_batches = 2,
                     .recomputed = true,
                     .formats = hp::find_formats("bf16")->formats,
                     .batch = 16,
                     .sequence = 4096};
  const hp::plan_estimate wide = hp::estimate_plan(d, p, prices);
  p.formats = hp::find_formats("bf16_sums16")->formats;
  const hp::plan_estimate narrow = hp::estimate_plan(d, p, prices);
  ASSERT_TRUE(wide.ok() && narrow.ok());
  const auto of = [](const hp::plan_estimate& e, hp::memory_class c) { return e.held[static_cast<int>(c)]; };
  const hp::extent_t n = hp::parameters_of(d).total();
  EXPECT_EQ(of(wide, hp::memory_class::gradients) - of(narrow, hp::memory_class::gradients), 2 * n);
  EXPECT_EQ(of(wide, hp::memory_class::states), of(narrow, hp::memory_class::states));
  EXPECT_EQ(of(wide, hp::memory_class::parameters), of(narrow, hp::memory_class::parameters));
  EXPECT_NEAR(static_cast<double>(wide.received[0]) / static_cast<double>(narrow.received[0]), 2.0, 0.001);
  EXPECT_LT(narrow.time(), wide.time());
}

// Weights of 8 bits are a byte less of each weight of a layer, stored and gathered; gradients, states and other parameters are as they were.
TEST(PlanFormats, NarrowWeightsAreLessOfTheParameters) {
  const hp::decoder& d = hp::test::llama3_8b;
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  hp::decoder_plan p{
      .dp = 8, .recomputed = true, .formats = hp::find_formats("fp8")->formats, .batch = 8, .sequence = 4096};
  const hp::extent_t head = 2 * d.vocabulary * d.hidden, norms = (2 * d.layers + 1) * d.hidden;
  const hp::extent_t weights = hp::parameters_of(d).total() - head - norms;
  const auto of = [](const hp::plan_estimate& e, hp::memory_class c) { return e.held[static_cast<int>(c)]; };
  for (const int zero : {0, 1, 3}) {
    p.zero = zero;
    p.formats.narrow_weights = false;
    const hp::plan_estimate wide = hp::estimate_plan(d, p, prices);
    p.formats.narrow_weights = true;
    const hp::plan_estimate narrow = hp::estimate_plan(d, p, prices);
    ASSERT_TRUE(wide.ok() && narrow.ok());
    EXPECT_EQ(of(wide, hp::memory_class::parameters) - of(narrow, hp::memory_class::parameters),
              zero == 3 ? weights / 8 : weights);
    EXPECT_EQ(of(wide, hp::memory_class::states), of(narrow, hp::memory_class::states));
    // Gathered are 7/8 of the weights: not under ZeRO 0, once under ZeRO 1, for forward and for backward under ZeRO 3.
    EXPECT_EQ(wide.received[0] - narrow.received[0], (zero == 0 ? 0 : zero == 1 ? 1 : 2) * (weights / 8 * 7));
  }
}

// What is gathered and reduced of parameters halves; what a step computes takes less in fp8, and never less than half.
TEST(PlanFormats, TrafficAndTimeFollow) {
  const hp::decoder& d = hp::test::llama3_8b;
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  hp::decoder_plan p{.dp = 8, .zero = 3, .recomputed = true, .batch = 8, .sequence = 8192};
  const hp::plan_estimate wide = hp::estimate_plan(d, p, prices);
  p.formats = hp::find_formats("bf16")->formats;
  const hp::plan_estimate bf16 = hp::estimate_plan(d, p, prices);
  p.formats = hp::find_formats("fp8")->formats;
  const hp::plan_estimate fp8 = hp::estimate_plan(d, p, prices);
  ASSERT_TRUE(wide.ok() && bf16.ok() && fp8.ok());
  EXPECT_NEAR(static_cast<double>(wide.received[0]) / static_cast<double>(bf16.received[0]), 2.0, 0.01);
  EXPECT_EQ(fp8.received[0], bf16.received[0]);
  EXPECT_LT(fp8.computing(), bf16.computing());
  EXPECT_GT(2 * fp8.computing(), bf16.computing());
}

// Products of layers with their weights and both of their gradients are narrow; router, attention, embedding and head are not.
TEST(PlanFormats, NarrowProductsAreThoseOfLayersWithTheirWeights) {
  for (const hp::decoder& d : small_decoders::all()) {
    const hp::decoder_plan p{.formats = hp::find_formats("fp8")->formats, .batch = 4, .sequence = 8};
    const hp::graph g = hp::training_graph_of(d, p);
    int narrow = 0, others = 0;
    for (const hp::graph_operator& o : g.op) {
      if (o.kind != hp::id_of<hp::ops::contract>) continue;
      const hp::number_format f = hp::detail::product_format(g, o, hp::data_type::bf16);
      const std::string name = g.name_of_op(o.forward >= 0 ? o.forward : static_cast<int>(&o - g.op.begin()));
      const bool in_layer = name.find("layers") != std::string::npos && name.find("router") == std::string::npos &&
                            name.find(".state.") == std::string::npos;
      EXPECT_EQ(f == hp::number_format::float8, in_layer) << name;
      ++(in_layer ? narrow : others);
    }
    EXPECT_GT(narrow, 10);
    EXPECT_GT(others, 0);
  }
}

// A device without a rate of the format has no price of it.
TEST(PlanFormats, NeedARateOfTheDevice) {
  hp::plan_prices prices(hp::a100::device, hp::a100::topology);
  hp::decoder_plan p{.batch = 1, .sequence = 8};
  EXPECT_TRUE(hp::estimate_plan(small_decoders::dense(), p, prices).ok());
  hp::plan_prices none(hp::a100::device, hp::a100::topology);
  p.formats = hp::find_formats("fp8")->formats;
  EXPECT_EQ(hp::estimate_plan(small_decoders::dense(), p, none).evaluation.code, hp::cost_code::rate_is_not_positive);
}

// The bounds of a search hold in every format.
TEST(PlanFormats, BoundsHold) {
  hp::plan_prices prices(hp::b200::device, hp::b200::topology);
  int plans = 0;
  for (const hp::decoder& d : small_decoders::all())
    for (const hp::named_formats& f : hp::known_formats)
      for (const int zero : {0, 1, 2, 3})
        for (const int micro_batches : {1, 2})
          for (const bool recomputed : {false, true}) {
            hp::decoder_plan p{.dp = 2,
                               .zero = zero,
                               .micro_batches = micro_batches,
                               .recomputed = recomputed,
                               .formats = f.formats,
                               .batch = 8,
                               .sequence = 8};
            if (!hp::check_plan(d, p, 2).ok()) continue;
            const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
            ASSERT_TRUE(e.ok());
            EXPECT_LE(hp::memory_bound(d, p), e.evaluation.memory) << f.name << zero << micro_batches << recomputed;
            EXPECT_LE(hp::time_bound(d, p, prices), e.evaluation.time) << f.name << zero << micro_batches << recomputed;
            ++plans;
          }
  EXPECT_GT(plans, 300);
}

}  // namespace
