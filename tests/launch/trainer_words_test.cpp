// SPDX-License-Identifier: Apache-2.0
#include "launch/trainer_words.hpp"

#include "launch/trainer_launch.hpp"
#include "launch/yaml_options.hpp"

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

using writer = launch::launch_text (*)(const hp::decoder_plan&, const hp::decoder&);

/// Every legal plan that can be said is read back as it was, from YAML.
void hold(writer write, int least, bool says_optimizers) {
  int said = 0, unsaid = 0, by_momentum = 0, on_host = 0, adapted = 0, number = 0;
  launch_test::visit_plans({1, 8, 16, 32}, 8, [&](const hp::decoder& d, int devices, hp::decoder_plan p) {
    if (!write(p, d).unsaid.empty()) {
      ++unsaid;
      return;
    }
    for (const hp::named_formats& f : hp::known_formats)
      for (int option = 0; option < 12; ++option) {
        const int rank = option % 2 == 0 ? 0 : 16;
        p.optimizer = static_cast<hp::optimizer_kind>(option / 2 % 3);
        p.host_states = option < 6 || p.optimizer == hp::optimizer_kind::muon ? 0 : rank > 0 ? 375 : 1000;
        p.formats = f.formats;
        p.adapter_rank = rank;
        p.adapted = rank > 0 && ++number % 2 == 0 ? hp::adapted_products::attention_inputs : hp::adapted_products::all;
        const launch::launch_text w = write(p, d);
        if (!w.unsaid.empty()) {
          ++unsaid;
          continue;
        }
        ++said;
        adapted += rank > 0 ? 1 : 0;
        on_host += p.host_states > 0 ? 1 : 0;
        by_momentum += p.optimizer == hp::optimizer_kind::sgd ? 1 : 0;
        const launch::launch_plan back = launch::plan_of_trainer(
            launch::yaml_options_of(launch_test::text_of(w), "words"), "words", launch::launch_form::document, devices);
        ASSERT_EQ(back.plan, p) << launch_test::text_of(w);
        ASSERT_TRUE(back.unheeded.empty()) << back.unheeded[0];
        ASSERT_TRUE(back.notes.empty()) << back.notes[0];
      }
  });
  EXPECT_GT(said, least);
  EXPECT_GT(adapted, least / 3);
  EXPECT_EQ(by_momentum > least / 8, says_optimizers);
  EXPECT_EQ(on_host > least / 8, says_optimizers);
  EXPECT_GT(unsaid, said) << "most have degrees beside dp";
  std::printf("%d plans are read back, %d have something that there is no word for\n", said, unsaid);
}

TEST(trainer_words, what_deepspeed_is_told_is_read_back) { hold(launch::words_of_deepspeed, 500, true); }
TEST(trainer_words, what_fsdp2_is_told_is_read_back) { hold(launch::words_of_fsdp2, 250, false); }

TEST(trainer_words, what_has_no_word_is_named) {
  hp::decoder_plan p{.tp = 2, .pp = 4, .dp = 4, .cp = 2, .ep = 2};
  p.copies = 2;
  p.recomputed = p.selective = true;
  p.schedule = static_cast<int>(hp::schedule_called("ZB-H1") - hp::schedule_table.item);
  p.formats = hp::find_formats("fp8_states16")->formats;
  const std::vector<std::string> both{
      "tp=2", "pp=4", "cp=2", "ep=2", "copies=2", "recompute=selective", "schedule=ZB-H1", "precision=fp8_states16"};
  EXPECT_EQ(launch::words_of_deepspeed(p, hp::test::llama3_8b).unsaid, both);
  std::vector<std::string> fsdp = both;
  fsdp.push_back("zero=0");
  EXPECT_EQ(launch::words_of_fsdp2(p, hp::test::llama3_8b).unsaid, fsdp);
  p = {.dp = 8, .zero = 3, .modules = hp::module_bit("mlp"), .formats = hp::find_formats("bf16")->formats, .batch = 8};
  for (const auto& write : {launch::words_of_deepspeed, launch::words_of_fsdp2})
    EXPECT_EQ(write(p, hp::test::llama3_8b).unsaid, std::vector<std::string>{"recompute=mlp"});
  p = {.dp = 8, .zero = 2, .optimizer = hp::optimizer_kind::sgd, .formats = {.moment = hp::data_type::i8}, .batch = 8};
  EXPECT_EQ(launch::words_of_deepspeed(p, hp::test::llama3_8b).unsaid,
            std::vector<std::string>{"moments of 8 bits under sgd"});
  EXPECT_EQ(launch::words_of_fsdp2(p, hp::test::llama3_8b).unsaid,
            (std::vector<std::string>{"moments of 8 bits under sgd", "optimizer=sgd with a momentum"}));
  p.optimizer = hp::optimizer_kind::muon;
  p.formats = {};
  EXPECT_EQ(launch::words_of_deepspeed(p, hp::test::llama3_8b).unsaid, std::vector<std::string>{"optimizer=muon"});
}

}  // namespace
