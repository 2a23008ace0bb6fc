// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/io/launch_options.hpp>

#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <string>

#include "support/tries.hpp"

namespace hp = hyperparallel;

namespace {

/// "name=a,b@line" of each option.
std::string told(const std::string& text) {
  std::string all;
  for (const hp::launch_option& o : hp::launch_options_of(text)) {
    all += (all.empty() ? "" : " ") + o.name;
    for (std::size_t i = 0; i < o.values.size(); ++i) all += (i == 0 ? "=" : ",") + o.values[i];
    all += "@" + std::to_string(o.line);
  }
  return all;
}

TEST(launch_options, words_of_one_command_and_of_a_file_of_arguments) {
  EXPECT_EQ(told("torchrun --nnodes 2 train.py --bf16 --lr=3e-4 --betas 0.9 0.95"),
            "nnodes=2,train.py@1 bf16@1 lr=3e-4@1 betas=0.9,0.95@1");
  EXPECT_EQ(told("--seq-length 4096\n--bf16\n\n# --fp16\n--micro-batch-size 1  # one\n"),
            "seq-length=4096@1 bf16@2 micro-batch-size=1@5");
  EXPECT_EQ(told("run \\\n  --a 1 \\\n  --b '2 3' \"4\"\nother --c"), "a=1@2 b=2 3,4@3 c@4");
  EXPECT_EQ(told(""), "");
}

TEST(launch_options, variables_lists_and_numbers_are_what_they_say) {
  EXPECT_EQ(told("TP=4\nPP=2\nexport GPUS=8 NODES=$((TP * PP / 2))\nrun --tp $TP --pp=${PP} --n ${NODES} --w "
                 "$((GPUS*(NODES + 1)))"),
            "tp=4@4 pp=2@4 n=4@4 w=40@4");
  EXPECT_EQ(told("run --pp ${PP:-3} --cp $CP --host $(hostname -i) --bad $((CP * 2))"),
            "pp=3@1 cp=$CP@1 host=$(hostname -i)@1 bad=$((CP * 2))@1");
  EXPECT_EQ(told("ARGS=(\n  --a 1\n  --b 2 # two\n)\nrun --first ${ARGS[@]} --last"), "first@5 a=1@2 b=2@3 last@5");
  EXPECT_EQ(told("ARGS=\"--a 1 \\\n  --b 2\"\nrun $ARGS --c"), "a=1@3 b=2@3 c@3");
  EXPECT_EQ(told("ARGS=(--a 1)\nOTHER=( --never used )\nrun \"${ARGS[@]}\""), "a=1@1 never=used@2")
      << "what nobody uses is read where it stands";
}

TEST(launch_options, any_bytes_are_read_to_their_end) {
  std::mt19937 random(91);
  const std::string pieces[] = {"--a", " ", "\n", "\\", "\"",  "'", "$", "(", ")", "((", "))",
                                "{",   "}", "=",  "X",  "[@]", "1", "#", "*", "+", ":-", "\t"};
  for (int n = tested::tries(3000, 50000); n > 0; --n) {
    std::string text;
    for (int k = static_cast<int>(random() % 30); k > 0; --k) text += pieces[random() % std::size(pieces)];
    for (const hp::launch_option& o : hp::launch_options_of(text)) EXPECT_GE(o.line, 1) << text;
  }
}

}  // namespace
