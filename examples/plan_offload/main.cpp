// SPDX-License-Identifier: Apache-2.0
//
// What slower memory buys: plans the training of Llama-3-8B, Qwen3-30B-A3B and DeepSeek-V3 with and without offload.
//
//   plan_offload                                     Llama-3-8B on 1, 2, 4 and 8 dies
//   plan_offload --model qwen --devices 8 16 --bandwidth 37
//
// Candidates are all strategies with a name, at all degrees, with 1, 4 and 16 micro-batches, recomputed or not. Of each
// number of dies: the fastest that fits into the memory of a die as it is; the fastest when what does not fit leaves
// for the host's memory and comes back in time; both again of data parallelism alone, whatever is sharded. Times are
// estimates of step_timing.hpp, plans those of step_offload.hpp. Where no candidate has a place, neither as it is nor
// with offload: one line on the error stream that says why, and exit status 1.

#include "../command_line.hpp"
#include "choice.hpp"

int main(int argc, char** argv) {
  CLI::App app{"What offload buys in the training of large models.", "plan_offload"};
  plan_offload::choice c;
  app.add_option("--model", c.model, "llama, qwen, deepseek or all")
      ->check(CLI::IsMember({"llama", "qwen", "deepseek", "all"}));
  app.add_option("--devices", c.devices, "dies; several are compared")->check(command_line::whole(1, 4096));
  app.add_option("--sequences", c.sequences, "of 4096 tokens in a step of training; 0: eight a die")
      ->check(command_line::whole(0, 1 << 20));
  app.add_option("--bandwidth", c.bandwidth, "of the host's memory, GB/s a die and way")
      ->check(command_line::whole(1, 1'000'000));
  app.add_option("--memory", c.memory, "of a die, GiB")->check(command_line::whole(1, 1 << 20));
  app.add_flag("--account", c.account, "what the last plan keeps, and what leaves");
  return command_line::run(app, argc, argv, [&] { return plan_offload::compare_all(c) ? 0 : 1; });
}
