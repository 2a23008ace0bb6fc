// SPDX-License-Identifier: Apache-2.0
#include "launch/torchtitan_words.hpp"

#include "launch/toml_options.hpp"
#include "launch/torchtitan_launch.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "launch/written_plans.hpp"

namespace hp = hyperparallel;
namespace launch = hp_tool::launch;

namespace {

int place_of(const char* schedule) { return static_cast<int>(hp::schedule_called(schedule) - hp::schedule_table.item); }

/// Every legal plan that can be said is read back as it was: with experts, copies, chunks and schedules.
TEST(torchtitan_words, what_is_said_is_read_back) {
  int said = 0, unsaid = 0, folded = 0, in_chunks = 0, in_copies = 0;
  launch_test::visit_plans({8, 16, 32}, 4, [&](const hp::decoder& d, int devices, const hp::decoder_plan& legal) {
    const auto hold = [&](hp::decoder_plan p) {
      p.formats = hp::find_formats(said % 7 == 0 ? "fp8" : "bf16")->formats;
      p.selective = p.recomputed && said % 3 == 0;
      const launch::launch_text w = launch::words_of_torchtitan(p, d);
      if (!w.unsaid.empty()) {
        ++unsaid;
        return;
      }
      ++said;
      const std::string text = launch_test::text_of(w);
      const launch::launch_plan back =
          launch::plan_of_torchtitan(launch::toml_options(text, "words"), "words", d, devices);
      ASSERT_EQ(back.plan, p) << text;
      ASSERT_TRUE(back.unheeded.empty()) << back.unheeded[0] << "\n" << text;
      const std::size_t notes = (p.zero == 0 ? 1u : 0u) + (p.formats.product_bits() > 0 ? 1u : 0u);
      ASSERT_EQ(back.notes.size(), notes) << text;
      folded += p.experts_along_tp || p.experts_along_cp ? 1 : 0;
      in_chunks += p.chunks > 1 ? 1 : 0;
      in_copies += p.copies > 1 ? 1 : 0;
    };
    launch_test::hold_folded(d, devices, legal, hold);
    hp::decoder_plan p = legal;
    p.copies = 2;
    if (hp::check_plan(d, p, devices).ok()) hold(p);
    p.copies = 1;
    for (const char* schedule : {"Interleaved1F1B", "ZB-V", "GPipe", "ZB-H1"}) {
      p.schedule = place_of(schedule);
      for (p.chunks = 1; p.chunks <= 4; ++p.chunks)
        if (p.pp > 1 && hp::check_plan(d, p, devices).ok()) hold(p);
    }
  });
  EXPECT_GT(said, 5000);
  EXPECT_GT(folded, 500);
  EXPECT_GT(in_chunks, 500);
  EXPECT_GT(in_copies, 500);
  std::printf("%d plans are read back, %d have something that torchtitan has no word for\n", said, unsaid);
}

TEST(torchtitan_words, lines_are_toml) {
  hp::decoder_plan p{.tp = 8, .dp = 8, .zero = 3, .recomputed = true, .batch = 64, .sequence = 8192};
  p.formats = hp::find_formats("bf16")->formats;
  EXPECT_EQ(launch::words_of_torchtitan(p, hp::test::llama3_8b).lines,
            (std::vector<std::string>{"[training]", "local_batch_size = 8", "seq_len = 8192", "[parallelism]",
                                      "data_parallel_shard_degree = 8", "tensor_parallel_degree = 8",
                                      "[activation_checkpoint]", "mode = \"full\""}));
}

TEST(torchtitan_words, what_has_no_word_is_named) {
  hp::decoder_plan p{.tp = 2, .pp = 4, .dp = 4, .zero = 1, .sequence_parallel = false, .batch = 4, .sequence = 2};
  p.schedule = place_of("ZB-H1");
  p.adapter_rank = 8;
  p.optimizer = hp::optimizer_kind::sgd;
  p.host_states = 500;
  const auto unsaid = [&](const hp::decoder& d) { return launch::words_of_torchtitan(p, d).unsaid; };
  EXPECT_EQ(unsaid(hp::test::llama3_8b),
            (std::vector<std::string>{"zero=1", "sp=off", "schedule=ZB-H1", "precision=f32", "optimizer=sgd",
                                      "host_states=500", "lora=8"}));
  p = {.pp = 2, .dp = 1, .cp = 2, .formats = hp::find_formats("bf16")->formats, .batch = 4, .sequence = 6};
  EXPECT_EQ(unsaid(hp::test::qwen25_0_5b), (std::vector<std::string>{"sequences that 2 x cp x tp, 4, does not divide",
                                                                     "zero=0 of shards", "pp=2 of tied embeddings"}));
  p = {.dp = 2, .zero = 3, .modules = hp::module_bit("mlp"), .formats = hp::find_formats("bf16")->formats, .batch = 2};
  EXPECT_EQ(unsaid(hp::test::llama3_8b), std::vector<std::string>{"recompute=mlp"});
}

}  // namespace
