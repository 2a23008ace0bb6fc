// SPDX-License-Identifier: Apache-2.0
//
// Plans the training of Llama-3-8B, Qwen3-30B-A3B and DeepSeek-V3 on a machine of 8 dies, one of 16, or a supernode.
//
//   plan_models                        Llama on 8 and 16 dies, Qwen on 16, in the reduced space
//   plan_models --model deepseek       on 256 dies, which hold it; minutes
//   plan_models --model llama --devices 16 --full --sequences 128
//
// For each: the plans that a search found beside the best strategy with a name, then the winner's account: memory of a
// die by class, operations, bytes by link level, times with what is exposed. Where there is no plan: one line on the
// error stream that says why. Exit status: 0 where every model has a plan on every machine that was asked for, else 1.

#include <string>
#include <utility>

#include "../command_line.hpp"
#include "choice.hpp"

int main(int argc, char** argv) {
  CLI::App app{"Plans the training of large models.", "plan_models"};
  plan_models::choice c;
  app.add_option("--model", c.model, "(default: all, without --devices those that 16 dies hold)")
      ->check(CLI::IsMember({"llama", "qwen", "deepseek", "all"}));
  app.add_option("--devices", c.devices, "dies; 0: some that hold the model; more than 16 of a supernode take minutes")
      ->check(command_line::whole(0, plan_models::most_devices));
  app.add_option("--sequences", c.sequences, "of 4096 tokens in a step of training; 0: eight a die, on many dies four")
      ->check(command_line::whole(0, 1 << 20));
  const std::pair<const char*, int*> degrees[] = {
      {"tensor", &c.tensor}, {"context", &c.context}, {"pipeline", &c.pipeline}};
  for (const auto& [name, degree] : degrees)
    app.add_option(std::string("--") + name, *degree, std::string("largest ") + name + " degree; 0: by the machine")
        ->check(command_line::whole(0, plan_models::most_devices));
  app.add_flag("--full", c.full, "the full space");
  app.add_flag("!--no-accounts", c.accounts, "tables of plans only");
  return command_line::run(app, argc, argv, [&] { return plan_models::plan_all(c) ? 0 : 1; });
}
