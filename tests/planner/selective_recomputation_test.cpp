// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/selective_recomputation.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <hyperparallel/planner/estimate.hpp>
#include <hyperparallel/planner/known_hardware.hpp>
#include <hyperparallel/planner/plan_bounds.hpp>

#include "small_decoders.hpp"

namespace {

namespace hp = hyperparallel;

std::vector<std::string> names_of(const hp::spared_patterns& list) {
  std::vector<std::string> out;
  for (const hp::short_text& each : list) out.push_back(each.text);
  return out;
}

TEST(SelectiveRecomputation, KeepsEveryOtherProductAndAttention) {
  using names = std::vector<std::string>;
  EXPECT_EQ(names_of(hp::selectively_kept(small_decoders::dense(), false)),
            (names{"*.attention.attend", "*.attention.query", "*.attention.value", "*.feed_forward.gate",
                   "*.feed_forward.down"}));
  EXPECT_EQ(names_of(hp::selectively_kept(small_decoders::dense(), true)),
            (names{"*.attention.attend", "*.attention.query", "*.attention.value", "*.attention.output",
                   "*.feed_forward.gate", "*.feed_forward.down"}));
  // No product without a bias is left.
  EXPECT_EQ(names_of(hp::selectively_kept(small_decoders::biased(), false)), (names{"*.attention.attend"}));
  hp::decoder qwen2 = small_decoders::dense();
  qwen2.attention.query_key_value_bias = true;
  EXPECT_EQ(names_of(hp::selectively_kept(qwen2, false)),
            (names{"*.attention.attend", "*.attention.output", "*.feed_forward.up"}));
  EXPECT_EQ(names_of(hp::selectively_kept(small_decoders::latent(), false)),
            (names{"*.attention.attend", "*.attention.query_down", "*.attention.key_value_down", "*.attention.key_rope",
                   "*.attention.output", "*.feed_forward.up", "*.moe.shared.gate", "*.moe.shared.down"}));
}

static_assert(hp::selectively_kept(hp::decoder{}, true).size == 6);

// Every pattern is of an operator of the graph, each once.
TEST(SelectiveRecomputation, NamesWhatTheGraphHas) {
  for (const hp::decoder& d : small_decoders::all())
    for (const bool unrolled : {false, true}) {
      hp::decoder_plan p{.batch = 4, .sequence = 8};
      const hp::graph none = hp::training_graph_of(d, p, unrolled);
      p.recomputed = true;
      const hp::graph full = hp::training_graph_of(d, p, unrolled);
      p.selective = true;
      const hp::graph g = hp::training_graph_of(d, p, unrolled);
      ASSERT_EQ(g.status.code, hp::graph_code::ok);
      const auto again = [](const hp::graph& of) {
        int n = 0;
        for (const hp::graph_operator& o : of.op) n += o.recomputed ? 1 : 0;
        return n;
      };
      EXPECT_EQ(again(none), 0);
      EXPECT_GT(again(g), 0);
      EXPECT_LT(again(g), again(full));
      const hp::spared_patterns list = hp::selectively_kept(d, false);
      for (int i = 0; i < list.size; ++i)
        for (int j = 0; j < i; ++j) EXPECT_STRNE(list[i].text, list[j].text);
      for (const hp::graph_operator& o : g.op)
        for (const hp::short_text& each : list)
          EXPECT_FALSE(o.recomputed && hp::detail::name_matches(each.text, g.name_of_op(o.forward))) << each.text;
    }
}

constexpr hp::decoder_plan plans[] = {
    {.batch = 8, .sequence = 64},
    {.tp = 2, .dp = 2, .zero = 1, .batch = 8, .sequence = 64},
    {.tp = 2, .dp = 2, .zero = 1, .sequence_parallel = false, .batch = 8, .sequence = 64},
    {.dp = 4, .zero = 3, .micro_batches = 2, .batch = 8, .sequence = 64},
    {.pp = 2, .dp = 2, .cp = 2, .zero = 2, .micro_batches = 4, .batch = 8, .sequence = 64},
};

/// What a device holds when the last forward has ended.
hp::extent_t kept_by(const hp::decoder& d, const hp::decoder_plan& p) {
  const hp::sharded_program program = hp::partition(hp::training_graph_of(d, p), hp::strategy_of(p));
  hp::extent_t bytes = 0;
  hp::visit_kept_memory(program, hp::pipeline_form(program.graph, p.pp), [&](int, int, hp::extent_t b) { bytes += b; });
  return bytes;
}

// In what is kept and in computing selective plans are between those that keep all and those that keep nothing; so are peaks, but where experts
// of one layer are more than what all layers keep, and times, where products, not latencies, take them. Bounds hold.
TEST(SelectiveRecomputation, IsBetweenNoneAndFull) {
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  int above = 0;
  std::vector<hp::decoder> models = small_decoders::all();
  const int small = static_cast<int>(models.size());
  for (const hp::decoder& d : {small_decoders::dense(), small_decoders::with_experts(), small_decoders::latent()})
    models.push_back(small_decoders::real(d));
  int number = 0;
  for (hp::decoder d : models) {
    const bool is_real = number++ >= small;
    for (hp::decoder_plan p : plans) {
      d.layers = 6;
      if (is_real) p.sequence = 4096;
      if (!hp::check_plan(d, p, hp::device_count_of(p)).ok()) continue;
      const auto told = [&](bool recomputed, bool selective) {
        p.recomputed = recomputed;
        p.selective = selective;
        const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
        EXPECT_TRUE(e.ok());
        EXPECT_LE(hp::memory_bound(d, p), e.evaluation.memory);
        EXPECT_LE(hp::time_bound(d, p, prices), e.evaluation.time);
        return e;
      };
      const hp::plan_estimate none = told(false, false), selective = told(true, true), full = told(true, false);
      hp::extent_t kept[3] = {};
      for (int i = 0; i < 3; ++i) {
        p.recomputed = i > 0;
        p.selective = i == 1;
        kept[i] = kept_by(d, p);
      }
      EXPECT_GT(kept[0], kept[1]);
      EXPECT_GT(kept[1], kept[2]);
      EXPECT_GE(none.evaluation.memory, selective.evaluation.memory);
      if (!d.has_experts && !d.has_linear) {  // what is kept may be what backward of a layer has alive at its peak
        EXPECT_GE(selective.evaluation.memory, full.evaluation.memory);
      }
      EXPECT_LT(none.evaluation.times.compute_busy, selective.evaluation.times.compute_busy);
      EXPECT_LT(selective.evaluation.times.compute_busy, full.evaluation.times.compute_busy);
      ++above;
      if (!is_real) continue;
      EXPECT_LE(none.evaluation.time, selective.evaluation.time);
      EXPECT_LE(selective.evaluation.time, full.evaluation.time);
    }
  }
  EXPECT_GT(above, 20);
}

}  // namespace
