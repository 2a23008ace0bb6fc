// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/stage_passes.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/planner/decoder_plan.hpp>
#include <hyperparallel/price/lookahead.hpp>

#include "planner/small_decoders.hpp"

namespace {

namespace hp = hyperparallel;

const hp::decoder_plan plans[] = {
    {.batch = 8, .sequence = 8},
    {.dp = 4, .micro_batches = 2, .batch = 8, .sequence = 8},
    {.tp = 2, .dp = 2, .zero = 1, .micro_batches = 4, .batch = 8, .sequence = 8},
    {.tp = 2, .dp = 2, .zero = 3, .recomputed = true, .batch = 8, .sequence = 8},
    {.dp = 4, .zero = 2, .micro_batches = 2, .recomputed = true, .batch = 8, .sequence = 8},
};

hp::lowered_program lowered(const hp::decoder& d, const hp::decoder_plan& p) {
  hp::graph g = hp::training_graph_of(d, p, true);
  hp::detail::accumulate_by_part(g);
  return hp::lower_fastest(hp::partition(g, hp::strategy_of(p)),
                           {.topology = hp::interconnect_of(hp::matrix384::topology)}, hp::matrix384::device, hp::GiB)
      .lowered;
}

constexpr hp::decoder_part parts[] = {hp::decoder_part::embedding, hp::decoder_part::layers, hp::decoder_part::head};

// Nothing of the clock is lost or counted twice.
TEST(StagePasses, AddUpToTheClock) {
  for (const hp::decoder& d : small_decoders::all())
    for (const hp::decoder_plan& p : plans) {
      const hp::lowered_program l = lowered(d, p);
      ASSERT_TRUE(l.status.ok());
      const hp::passes_of_parts passes(l, hp::matrix384::device);
      ASSERT_TRUE(passes.ok());
      const hp::stage_passes all = passes.all();
      const hp::extent_t m = p.micro_batches;
      EXPECT_EQ(m * all.round() + all.update.time, l.times.makespan);
      EXPECT_EQ(m * (all.forward.computed + all.backward.computed) + all.update.computed,
                l.times.busy[static_cast<int>(hp::resource::aic)]);
      EXPECT_EQ(m * (all.forward.moved + all.backward.moved) + all.update.moved,
                l.times.busy[static_cast<int>(hp::resource::link)]);
      for (const hp::decoder_part part : parts) {
        const hp::stage_passes& one = passes.of(part);
        EXPECT_GT(one.forward.time, 0);
        EXPECT_GT(one.backward.time, 0);
        EXPECT_GT(one.update.computed, 0);
      }
    }
}

// With twice the layers the layers compute twice as much, and what stands around them as much as before.
TEST(StagePasses, LayersTakeWhatTheyTakeAndNoMore) {
  for (const hp::decoder_plan& p : plans) {
    for (hp::decoder d : {small_decoders::dense(), small_decoders::biased(), small_decoders::side_by_side()}) {
      const hp::passes_of_parts few(lowered(d, p), hp::matrix384::device);
      d.layers *= 2;
      const hp::passes_of_parts many(lowered(d, p), hp::matrix384::device);
      for (const hp::decoder_part part : parts) {
        const int times = part == hp::decoder_part::layers ? 2 : 1;
        EXPECT_EQ(many.of(part).forward.computed, times * few.of(part).forward.computed);
        EXPECT_EQ(many.of(part).backward.computed, times * few.of(part).backward.computed);
        EXPECT_EQ(many.of(part).forward.moved, times * few.of(part).forward.moved);
      }
    }
  }
}

// Gradients of parameters are a part of backward, which the layers before do not wait for; what a layer's own gradient rests on is not.
TEST(StagePasses, GradientsOfParametersAreToldApart) {
  for (const hp::decoder& d : small_decoders::all())
    for (const hp::decoder_plan& p : plans) {
      const hp::passes_of_parts passes(lowered(d, p), hp::matrix384::device);
      for (const hp::decoder_part part : parts) {
        const hp::stage_passes& one = passes.of(part);
        EXPECT_GE(one.weights, 0);
        EXPECT_LE(one.weights, one.backward.time);
      }
      EXPECT_GT(passes.of(hp::decoder_part::layers).weights, 0);
      EXPECT_LT(passes.of(hp::decoder_part::layers).weights, passes.of(hp::decoder_part::layers).backward.time);
    }
}

// A head that is tied works as one with a table of its own: of several micro-batches it accumulates its gradient itself.
TEST(StagePasses, ATiedHeadAccumulatesItsGradient) {
  for (const int micro_batches : {2, 4}) {
    hp::decoder d = small_decoders::dense();
    const hp::decoder_plan p{.micro_batches = micro_batches, .batch = 8, .sequence = 8};
    const hp::passes_of_parts own(lowered(d, p), hp::matrix384::device);
    d.tied = true;
    const hp::passes_of_parts tied(lowered(d, p), hp::matrix384::device);
    EXPECT_EQ(tied.of(hp::decoder_part::head).forward, own.of(hp::decoder_part::head).forward);
    EXPECT_EQ(tied.of(hp::decoder_part::head).backward, own.of(hp::decoder_part::head).backward);
    EXPECT_EQ(tied.of(hp::decoder_part::head).weights, own.of(hp::decoder_part::head).weights);
    EXPECT_LT(tied.of(hp::decoder_part::head).update.time, own.of(hp::decoder_part::head).update.time);
    EXPECT_EQ(tied.of(hp::decoder_part::embedding).backward, own.of(hp::decoder_part::embedding).backward);
  }
}

// Where data alone is dealt out, nothing moves but gradients: in the update of one micro-batch, beside the backward of several.
TEST(StagePasses, ReductionsOfGradientsBelongToTheUpdateOfOneMicroBatch) {
  const hp::decoder d = small_decoders::dense();
  const hp::passes_of_parts one(lowered(d, {.dp = 4, .batch = 8, .sequence = 8}), hp::matrix384::device);
  EXPECT_EQ(one.all().forward.moved, 0);
  EXPECT_EQ(one.all().backward.moved, 0);
  EXPECT_GT(one.all().update.moved, 0);
  EXPECT_GT(one.all().update.time, one.all().update.computed);
  const hp::passes_of_parts sharded(lowered(d, {.dp = 4, .zero = 2, .micro_batches = 2, .batch = 8, .sequence = 8}),
                                    hp::matrix384::device);
  EXPECT_EQ(sharded.all().forward.moved, 0);
  EXPECT_GT(sharded.all().backward.moved, 0);
}

TEST(StagePasses, KnowThePartByName) {
  const hp::decoder_plan p{.batch = 8, .sequence = 8};
  for (const hp::decoder& d : small_decoders::all()) {
    const hp::sharded_program program = hp::partition(hp::training_graph_of(d, p, true), hp::strategy_of(p));
    hp::extent_t elements[hp::decoder_part_count] = {};
    for (int s = 0; s < program.storage.size; ++s) {
      const hp::graph_tensor& t = program.graph.tensor[program.storage[s].tensor];
      if (program.storage[s].home && t.kind == hp::graph_tensor_kind::parameter)
        elements[static_cast<int>(hp::detail::part_called(program.graph.name_of_tensor(program.storage[s].tensor),
                                                          hp::graph_phase::forward))] += hp::elements_of(t);
    }
    const auto all = hp::parameters_of(d);
    EXPECT_EQ(elements[0], all.embedding + all.positions);
    EXPECT_EQ(elements[0] + elements[1] + elements[2], all.total());
    EXPECT_EQ(elements[2],
              (d.tied ? 0 : d.vocabulary * d.hidden) + (d.norm == hp::norm_form::layer ? 2 : 1) * d.hidden);
  }
}

TEST(StagePasses, SayWhyThereAreNone) {
  EXPECT_EQ(hp::passes_of_parts(hp::lowered_program{}, hp::matrix384::device).code, hp::cost_code::program_is_refused);
}

}  // namespace
