// SPDX-License-Identifier: Apache-2.0
// hp offload [--model llama] [--devices 1 2 4 8] …
//
// What slower memory buys: plans the training of Llama-3-8B, Qwen3-30B-A3B and DeepSeek-V3 with and without offload.
//
// Candidates are all strategies with a name, at all degrees, with 1, 4 and 16 micro-batches, recomputed or not. Of each
// number of dies: the fastest that fits into the memory of a die as it is; the fastest when what does not fit leaves
// for the host's memory and comes back in time; both again of data parallelism alone, whatever is sharded. Times are
// estimates of step_estimate.hpp, plans those of step_offload.hpp. Where no candidate has a place, neither as it is nor
// with offload: one line on the error stream that says why.

#include <memory>

#include "../../examples/command_line.hpp"
#include "json_output.hpp"
#include "offload/choice.hpp"
#include "subcommand.hpp"

hp_tool::work hp_tool::add_offload(command_line::command app) {
  const auto c = std::make_shared<offload_plans::choice>();
  app.add_option("--model", c->model, "llama, qwen, deepseek or all")
      .check(command_line::one_of({"llama", "qwen", "deepseek", "all"}));
  app.add_option("--devices", c->devices, "dies; several are compared").check(command_line::whole(1, 4096));
  app.add_option("--sequences", c->sequences, "of 4096 tokens in a step of training; 0: eight a die")
      .check(command_line::whole(0, 1 << 20));
  app.add_option("--bandwidth", c->bandwidth, "of the host's memory, GB/s a die and way")
      .check(command_line::whole(1, 1'000'000));
  app.add_option("--memory", c->memory, "of a die, GiB").check(command_line::whole(1, 1 << 20));
  app.add_flag("--account", c->account, "what the last plan keeps, and what leaves");
  add_json(app, c->as_json);
  app.footer(
      "Reads nothing: the models are Llama-3-8B, Qwen3-30B-A3B and DeepSeek-V3, on Ascend 910C dies. Prints for each\n"
      "number of dies the fastest plan that fits as it is and the fastest with offload to the host's memory, both "
      "again\n"
      "of data parallelism alone.\n\n"
      "hp offload                                Llama-3-8B on 1, 2, 4 and 8 dies\n"
      "hp offload --model qwen --devices 8 16 --bandwidth 37\n\n"
      "Exit status: 0 every number of dies has a plan, 1 one has none, 2 bad input.");
  return [c] { return offload_plans::compare_all(*c) ? 0 : 1; };
}
