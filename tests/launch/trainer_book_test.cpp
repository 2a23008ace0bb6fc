// SPDX-License-Identifier: Apache-2.0
#include "launch/trainer_book.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/error_of.hpp"

namespace {

namespace hp = hyperparallel;
namespace launch = hp_tool::launch;

struct book : launch::trainer_book {
  explicit book(const std::vector<launch::launch_option>& given,
                launch::launch_form form = launch::launch_form::document)
      : trainer_book(given, path, form, 8) {}
  using trainer_book::count;
  using trainer_book::find;
  using trainer_book::find_deepspeed;
  using trainer_book::find_fsdp;
  using trainer_book::is_alone_;
  using trainer_book::is_deepspeed_;
  using trainer_book::is_factory_;
  using trainer_book::is_half;
  using trainer_book::is_known_;
  using trainer_book::is_on;
  using trainer_book::result;
  using trainer_book::words_of;
  inline static const std::string path = "run.yaml";
};

TEST(trainer_book, on_and_off_are_written_in_several_ways) {
  for (const char* text : {"true", "True", "yes", "on", "1"})
    EXPECT_TRUE(book({{"bf16", {text}, 1}}).is_on("bf16")) << text;
  for (const char* text : {"false", "False", "no", "off", "0", "none"})
    EXPECT_FALSE(book({{"bf16", {text}, 1}}).is_on("bf16", true)) << text;
  EXPECT_TRUE(book({{"bf16", {}, 1}}).is_on("bf16")) << "an option of a script";
  for (const bool otherwise : {true, false}) {
    EXPECT_EQ(book({}).is_on("bf16", otherwise), otherwise);
    EXPECT_EQ(book({{"bf16", {"auto"}, 1}}).is_on("bf16", otherwise), otherwise);
  }
  EXPECT_EQ(tested::error_of<hp::io_error>([] { book({{"bf16", {"half"}, 3}}).is_on("bf16"); }),
            "cannot read 'run.yaml': line 3: bf16 half: expected true or false");
}

TEST(trainer_book, what_is_left_to_the_trainer_counts_nothing) {
  EXPECT_EQ(book({{"n", {"4"}, 1}}).count("n"), 4);
  EXPECT_EQ(book({{"n", {"auto"}, 1}}).count("n"), 0);
  EXPECT_EQ(book({}).count("n"), 0);
}

TEST(trainer_book, names_have_prefixes_by_whose_file_it_is) {
  book alone({{"zero_optimization.stage", {"3"}, 1}}), inner({{"deepspeed.zero_optimization.stage", {"3"}, 1}});
  EXPECT_TRUE(alone.is_alone_ && alone.is_deepspeed_);
  EXPECT_TRUE(!inner.is_alone_ && inner.is_deepspeed_);
  EXPECT_NE(alone.find_deepspeed("zero_optimization.stage"), nullptr);
  EXPECT_NE(inner.find_deepspeed("zero_optimization.stage"), nullptr);
  EXPECT_FALSE(book({{"train_batch_size", {"8"}, 1}}, launch::launch_form::script).is_alone_)
      << "an option of the script's own";
  for (const char* name : {"fsdp_config.version", "fsdp_config.fsdp_version", "fsdp_version"})
    EXPECT_NE(book({{name, {"2"}, 1}}).find_fsdp("version"), nullptr) << name;
  EXPECT_TRUE(book({{"cutoff_len", {"1"}, 1}}).is_factory_);
  EXPECT_FALSE(book({{"per_device_train_batch_size", {"1"}, 1}}).is_factory_);
  EXPECT_FALSE(book({{"hidden_size", {"1"}, 1}}).is_known_);
}

TEST(trainer_book, words_stand_between_commas_and_blanks) {
  using words = std::vector<std::string>;
  EXPECT_EQ(book::words_of({"fsdp", {"Full_Shard auto_wrap", "offload,x"}, 1}),
            (words{"full_shard", "auto_wrap", "offload", "x"}));
  EXPECT_EQ(book::words_of({"fsdp", {" , "}, 1}), words{});
}

TEST(trainer_book, halves_exclude_each_other) {
  EXPECT_TRUE(book({{"fp16", {"true"}, 1}}).is_half());
  EXPECT_TRUE(book({{"mixed_precision", {"bf16"}, 1}}).is_half());
  EXPECT_FALSE(book({{"mixed_precision", {"no"}, 1}}).is_half());
  EXPECT_EQ(tested::error_of<hp::io_error>([] {
              book both({{"bf16", {"true"}, 1}, {"fp16", {"true"}, 2}});
              both.is_half();
              both.result();
            }),
            "cannot read 'run.yaml': line 2: fp16 true: contradicts bf16 true (line 1)");
}

}  // namespace
