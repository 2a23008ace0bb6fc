// SPDX-License-Identifier: Apache-2.0
#include "launch/launch_options.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <string>

#include "support/tries.hpp"

namespace hp = hyperparallel;
namespace launch = hp_tool::launch;

namespace {

/// "name=a,b@line" of each option.
std::string told(const std::string& text) {
  std::string all;
  for (const launch::launch_option& o : launch::launch_options_of(text)) {
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

// Published scripts add to lists under a condition, with an option and its value between the same quotes.
TEST(launch_options, lists_are_added_to) {
  EXPECT_EQ(
      told("T=fp8\nA=(--a 1)\nif [[ \"$T\" == \"fp8\" ]]; then\n  A+=(\n    \"--b hybrid\"\n    \"--c\"\n  )\nfi\nrun "
           "${A[@]} --d"),
      "a=1@2 b=hybrid@5 c@6 d@9");
  EXPECT_EQ(told("A=(--a 1)\nB=(--b)\nA+=(\"${B[@]}\")\nrun \"${A[@]}\""), "a=1@1 b@2");
  EXPECT_EQ(told("A=\"--a 1\"\nA+=\" --b 2\"\nrun $A"), "a=1@3 b=2@3");
  EXPECT_EQ(told("A=(--a)\nA+=\" --b 2\"\nrun ${A[@]}"), "a@1 b=2@2");
  EXPECT_EQ(told("A=(--a)\nrun --b 1 \"${A[@]}\" --c \"\""), "b=1@2 a@1 c=@2");
  EXPECT_EQ(told("A+=(--a)\nrun ${A[@]} --note=\"two words\""), "a@1 note=two words@2");
}

// As published scripts choose precision, recomputation and sizes.
TEST(launch_options, of_branches_the_one_is_read_whose_test_holds) {
  const std::string chosen =
      "if [ $PR = fp16 ]; then\n  O=\"--fp16\"\nelif [ $PR = bf16 ]; then\n  O=\"--bf16\"\nelse\n  "
      "O=\"--fp8\"\nfi\nrun $O";
  EXPECT_EQ(told("PR=fp16\n" + chosen), "fp16@9");
  EXPECT_EQ(told("PR=bf16\n" + chosen), "bf16@9");
  EXPECT_EQ(told("PR=fp8\n" + chosen), "fp8@9");
  EXPECT_EQ(told(chosen), "fp8@8") << "what the script does not set is empty";

  EXPECT_EQ(told("TP=2\nSP=true\nif [ $SP = true ] && [ $TP -gt 1 ]; then run --a; fi; run --b"), "a@3 b@3");
  EXPECT_EQ(told("TP=1\nSP=true\nif [[ $SP == true && $TP -gt 1 ]]\nthen\nrun --a\nfi\nrun --b"), "b@7");
  EXPECT_EQ(told("A=x\nif [[ \"$A\" == \"y\" ]] || [[ -z \"$B\" ]]; then run --a; else run --b; fi"), "a@2");
  EXPECT_EQ(told("if [ -n \"${KEY}\" ]; then\n L=(--a)\nelse\n L=(--b)\nfi\nrun ${L[@]}"), "b@4");
  EXPECT_EQ(
      told("A=1\nif [ $A -eq 1 ]; then if [ $A -ne 1 ]; then run --a; else run --b; fi; run --c; else run --d; fi"),
      "b@2 c@2");
  EXPECT_EQ(told("A=(--a)\nif test 1 -gt 2; then run ${A[@]} --b; fi\nrun --c"), "c@3 a@1")
      << "a list that only a branch uses that is not read";
}

// As published scripts choose the size of a model.
TEST(launch_options, of_a_case_the_branch_of_the_value_is_read) {
  const std::string chosen =
      "case $SIZE in\n  8B)\n    A=(--layers 32)\n    ;;\n  70B | \"70b\")\n    A=(--layers 80); B=2 ;;\n"
      "  *) A=(--layers 1)\nesac\nrun ${A[@]}";
  EXPECT_EQ(told("SIZE=8B\n" + chosen), "layers=32@4");
  EXPECT_EQ(told("SIZE=70B\n" + chosen), "layers=80@7");
  EXPECT_EQ(told("SIZE=70b\n" + chosen), "layers=80@7");
  EXPECT_EQ(told("SIZE=\n" + chosen), "layers=1@8");
  EXPECT_EQ(told(chosen), "layers=1@7") << "what the script does not set is empty";
  EXPECT_EQ(told("S=a\ncase \"${S}\" in (a) run --a ;; (b) run --b ;; esac; run --c"), "a@2 c@2");
  EXPECT_EQ(told("S=a\ncase $S in a) case $S in b) run --b;; a) run --a;; esac; run --c;; b) run --d;; esac; run --e"),
            "a@2 c@2 e@2");
  EXPECT_EQ(told("S=b\nif [ $S = b ]; then case $S in a) run --a;; b) if [ $S = a ]; then run --b; else run --c; fi;; "
                 "esac; fi; run --d"),
            "c@2 d@2");
  EXPECT_EQ(told("case $(hostname) in a) run --a;; *) run --b;; esac"), "a@1 b@1") << "not certain";
  EXPECT_EQ(told("S=ab\ncase $S in a*) run --a;; ab) run --b;; c) run --c;; esac"), "a@2 b@2") << "a pattern is not";
  EXPECT_EQ(told("case closed\nrun --a"), "a@2") << "no case of a shell";
  EXPECT_EQ(told("case a in b c\nrun --a"), "a@2") << "neither";
}

TEST(launch_options, behind_a_test_is_read_what_it_lets_run) {
  EXPECT_EQ(told("A=1\n[ $A -eq 1 ] && run --a\n[ $A -eq 2 ] && run --b\nrun --c"), "a@2 c@4");
  EXPECT_EQ(told("A=1\n[[ $A == 1 ]] || run --a\n[[ $A == 2 ]] || run --b"), "b@3");
  EXPECT_EQ(told("A=1\n[[ $A == 1 && -n \"$B\" ]] && run --a\n[[ $A == 2 || -z $B ]] && run --b"), "b@3");
  EXPECT_EQ(told("[ -z \"$TP\" ] && TP=2\n[ -z \"$TP\" ] && TP=4\nrun --tp $TP"), "tp=2@3") << "a default";
  EXPECT_EQ(told("[ 1 -eq 1 ] && L=(--a) || L=(--b)\nrun ${L[@]}"), "a@1");
  EXPECT_EQ(told("[ 1 -eq 2 ] && L=(--a) || L=(--b)\nrun ${L[@]}"), "b@1");
  EXPECT_EQ(told("[ 1 -eq 2 ] &&\n  run --a\nrun --b"), "b@3");
  EXPECT_EQ(told("cd x && run --a || run --b"), "a@1 b@1") << "a command has no value";
  EXPECT_EQ(told("[ -f x ] && run --a; [ $(id) = 0 ] || run --b"), "a@1 b@1");
  EXPECT_EQ(told("[ 1 -eq 2 ] && { run --a; run --b; }\nrun --c"), "a@1 b@1 c@2") << "a group is read";
  EXPECT_EQ(told("[ 1 -eq 2 \nrun --a"), "a@2") << "no test";
}

TEST(launch_options, all_branches_are_read_where_no_test_is_certain) {
  EXPECT_EQ(told("if [ -f x ]; then run --a; elif [ 1 -eq 1 ]; then run --b; else run --c; fi"), "a@1 b@1");
  EXPECT_EQ(told("if docker ps; then run --a; else run --b; fi"), "a@1 b@1");
  EXPECT_EQ(told("if [ $(hostname) = x ]; then run --a; else run --b; fi"), "a@1 b@1");
  EXPECT_EQ(told("A=xy\nif [[ $A == x* ]]; then run --a; else run --b; fi"), "a@2 b@2");
  EXPECT_EQ(told("if ! [ 1 -eq 2 ]; then run --a; else run --b; fi"), "a@1");
  EXPECT_EQ(told("if x:\n  run --a\nrun --b"), "a@2 b@3") << "no if of a shell";
}

TEST(launch_options, any_bytes_are_read_to_their_end) {
  std::mt19937 random(91);
  const std::string pieces[] = {"--a", " ",  "\n",  "\\", "\"", "'", "$",  "(",    ")",  "((",   "))", "{",    "}",
                                "=",   "X",  "[@]", "1",  "#",  "*", "+",  "+=",   ":-", "\t",   "if", "then", "else",
                                "fi",  "[ ", "]",   "&&", "||", ";", ";;", "case", "in", "esac", "a)"};
  for (int n = tested::tries(3000, 50000); n > 0; --n) {
    std::string text;
    for (int k = static_cast<int>(random() % 30); k > 0; --k) text += pieces[random() % std::size(pieces)];
    for (const launch::launch_option& o : launch::launch_options_of(text)) EXPECT_GE(o.line, 1) << text;
  }
}

}  // namespace
