// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of a launch line, as it stands in a shell script or in a file of arguments.
//
//   TP=4                                            variables, arithmetic of whole numbers: $((TP * 2)), ${PP:-1}
//   ARGS=( --tensor-model-parallel-size $TP )       lists of words, read where they are used: ${ARGS[@]}
//   ARGS+=( "--fp8-format hybrid" )                 added to; quoted options are taken apart
//   torchrun --nnodes 4 pretrain_gpt.py "${ARGS[@]}" --bf16 --lr=3e-4   # comments, quotes, lines that go on
//
// Words that begin with "--" are options; what follows, up to the next one, are their values. Nothing is run: a value that
// a command or a variable of the environment would give stays as it is written; readers of that option refuse it by name.
// Of `if`, `elif` and `else` the branch whose test holds is read, of `case` the one with the value's pattern, and behind `&&` and `||` what the
// test before them lets run. All are read where a test has no value; so are commands in loops, and those between braces. Law: every option has the line on which it begins. A list that no command uses is read last.
// O(bytes).

#include <string_view>
#include <vector>

#include "launch/launch_plan.hpp"

namespace hp_tool::launch {

/// The options of a text, in the order in which they would be given.
std::vector<launch_option> launch_options_of(std::string_view text);

}  // namespace hp_tool::launch
