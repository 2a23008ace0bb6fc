// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/io/megatron_words.hpp>

#include <hyperparallel/io/launch_options.hpp>
#include <hyperparallel/io/megatron_launch.hpp>
#include <hyperparallel/planner/legal_plans.hpp>
#include <hyperparallel/planner/plan_check.hpp>

#include <layers/decoder_shapes.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

std::string line_of(const hp::launch_text& w) {
  std::string line;
  for (const std::string& each : w.lines) line += each + "\n";
  return line;
}

/// Every legal plan that can be said is read back as it was.
TEST(megatron_words, what_is_said_is_read_back) {
  int said = 0, unsaid = 0, folded = 0, in_chunks = 0, on_host = 0, by_modules = 0, by_optimizer[3] = {};
  for (const hp::decoder& d : {hp::test::llama3_8b, hp::test::llama3_8b_with_experts(16, 4096)})
    for (const int devices : {8, 16, 32}) {
      hp::plan_question q;
      q.devices = devices;
      q.batch = 4 * devices;
      q.sequence = 4096;
      const auto hold_one = [&](hp::decoder_plan p) {
        p.formats = hp::known_formats[static_cast<std::size_t>(said) % std::size(hp::known_formats)].formats;
        const hp::launch_text w = hp::words_of_megatron(p, d);
        if (!w.unsaid.empty()) {
          ++unsaid;
          return;
        }
        ++said;
        const hp::launch_plan back = hp::plan_of_megatron(hp::launch_options_of(line_of(w)), "words", d, devices);
        if (p.tp == 1) p.sequence_parallel = back.plan.sequence_parallel;  // of one rank
        ASSERT_EQ(back.plan, p) << line_of(w);
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
      hp::visit_legal_plans(d, q, [&](hp::decoder_plan p) {
        hold(p);
        for (const int along : {1, 2, 3}) {
          p.experts_along_tp = along % 2 == 1 && p.tp > 1;
          p.experts_along_cp = along > 1 && p.cp > 1;
          if ((p.experts_along_tp || p.experts_along_cp) && hp::check_plan(d, p, devices).ok()) hold(p);
        }
        p.experts_along_tp = p.experts_along_cp = false;
        p.chunks = 2;
        p.schedule = static_cast<int>(hp::schedule_called("Interleaved1F1B") - hp::schedule_table.item);
        if (p.pp > 1 && hp::check_plan(d, p, devices).ok()) hold(p);
      });
    }
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
  EXPECT_EQ(hp::words_of_megatron(p, hp::test::llama3_8b).unsaid,
            (std::vector<std::string>{"recompute=selective", "weights in 8 bits without products in fp8",
                                      "sums of gradients in bf16 beside f32 parameters", "schedule=ZB-H1", "copies=2",
                                      "lora=8"}));
  EXPECT_EQ(hp::words_of_megatron({.tp = 2,
                                   .zero = 1,
                                   .optimizer = hp::optimizer_kind::muon,
                                   .formats = hp::find_formats("bf16_states16")->formats},
                                  hp::test::llama3_8b)
                .unsaid,
            (std::vector<std::string>{"optimizer=muon with zero=1", "optimizer=muon with moments below 32 bits",
                                      "optimizer=muon with states that are whole along tp=2"}));
}

}  // namespace
