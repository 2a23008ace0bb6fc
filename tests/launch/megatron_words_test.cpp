// SPDX-License-Identifier: Apache-2.0
#include "launch/megatron_words.hpp"

#include "launch/launch_options.hpp"
#include "launch/megatron_launch.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "launch/written_plans.hpp"

namespace hp = hyperparallel;
namespace launch = hp_tool::launch;

namespace {

/// Every legal plan that can be said is read back as it was.
TEST(megatron_words, what_is_said_is_read_back) {
  int said = 0, unsaid = 0, folded = 0, in_chunks = 0, on_host = 0, by_modules = 0, by_optimizer[3] = {};
  launch_test::visit_plans({8, 16, 32}, 4, [&](const hp::decoder& d, int devices, const hp::decoder_plan& legal) {
    const auto hold_one = [&](hp::decoder_plan p) {
      p.formats = hp::known_formats[static_cast<std::size_t>(said) % std::size(hp::known_formats)].formats;
      const launch::launch_text w = launch::words_of_megatron(p, d);
      if (!w.unsaid.empty()) {
        ++unsaid;
        return;
      }
      ++said;
      const launch::launch_plan back =
          launch::plan_of_megatron(launch::launch_options_of(launch_test::text_of(w)), "words", d, devices);
      if (p.tp == 1) p.sequence_parallel = back.plan.sequence_parallel;  // of one rank
      ASSERT_EQ(back.plan, p) << launch_test::text_of(w);
      ASSERT_TRUE(back.unheeded.empty()) << back.unheeded[0];
      ASSERT_TRUE(back.notes.empty());
      folded += p.experts_along_tp || p.experts_along_cp ? 1 : 0;
      in_chunks += p.chunks > 1 ? 1 : 0;
      ++by_optimizer[static_cast<int>(p.optimizer)];
      on_host += p.host_states > 0 ? 1 : 0;
      by_modules += p.modules != 0 ? 1 : 0;
    };
    const auto hold = [&](hp::decoder_plan p) {
      for (const auto kind : {hp::optimizer_kind::adamw, hp::optimizer_kind::sgd, hp::optimizer_kind::muon}) {
        p.optimizer = kind;
        hold_one(p);
        if (kind != hp::optimizer_kind::adamw) continue;
        for (const int share : {1, 250, 1000}) {
          p.host_states = share;
          hold_one(p);
        }
        p.host_states = 0;
        if (p.recomputed) continue;
        for (const unsigned modules : {1u, 2u, 9u, 18u}) {
          p.modules = modules;
          if (hp::check_plan(d, p, devices).ok()) hold_one(p);
        }
        p.modules = 0;
      }
    };
    launch_test::hold_folded(d, devices, legal, hold);
    hp::decoder_plan p = legal;
    p.chunks = 2;
    p.schedule = static_cast<int>(hp::schedule_called("Interleaved1F1B") - hp::schedule_table.item);
    if (p.pp > 1 && hp::check_plan(d, p, devices).ok()) hold(p);
  });
  EXPECT_GT(said, 5000);
  EXPECT_GT(on_host, 500);
  EXPECT_GT(by_modules, 500);
  for (const int of_one : by_optimizer) EXPECT_GT(of_one, 100);
  EXPECT_GT(folded, 500);
  EXPECT_GT(in_chunks, 500);
  std::printf("%d plans are read back, %d have something that Megatron has no word for\n", said, unsaid);
}

TEST(megatron_words, what_has_no_word_is_named) {
  hp::decoder_plan p{.tp = 2, .pp = 4, .dp = 4};
  p.copies = 2;
  p.schedule = static_cast<int>(hp::schedule_called("ZB-H1") - hp::schedule_table.item);
  p.adapter_rank = 8;
  p.recomputed = p.selective = true;
  p.formats.sum = hp::data_type::bf16;
  p.formats.narrow_weights = true;
  EXPECT_EQ(launch::words_of_megatron(p, hp::test::llama3_8b).unsaid,
            (std::vector<std::string>{"recompute=selective", "weights in 8 bits without products in fp8",
                                      "sums of gradients in bf16 beside f32 parameters", "schedule=ZB-H1", "copies=2",
                                      "lora=8"}));
  EXPECT_EQ(launch::words_of_megatron({.tp = 2,
                                       .zero = 1,
                                       .optimizer = hp::optimizer_kind::muon,
                                       .formats = hp::find_formats("bf16_states16")->formats},
                                      hp::test::llama3_8b)
                .unsaid,
            (std::vector<std::string>{"optimizer=muon with zero=1", "optimizer=muon with moments below 32 bits",
                                      "optimizer=muon with states that are whole along tp=2"}));
}

}  // namespace
