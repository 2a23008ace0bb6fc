// SPDX-License-Identifier: Apache-2.0
// hp models [--model llama] [--devices 16] …
//
// Plans the training of Llama-3-8B, Qwen3-30B-A3B and DeepSeek-V3 on a machine of 8 dies, one of 16, or a supernode.
//
// For each: the plans that a search found beside the best strategy with a name, then the winner's account: memory of a
// die by class, operations, bytes by link level, times with what is exposed. Where there is no plan: one line on the
// error stream that says why.

#include <memory>
#include <string>
#include <utility>

#include "../../examples/command_line.hpp"
#include "json_output.hpp"
#include "models/choice.hpp"
#include "subcommand.hpp"

hp_tool::work hp_tool::add_models(CLI::App& app) {
  const auto c = std::make_shared<model_plans::choice>();
  app.add_option("--model", c->model, "(default: all, without --devices those that 16 dies hold)")
      ->check(CLI::IsMember({"llama", "qwen", "deepseek", "all"}));
  app.add_option("--devices", c->devices, "dies; 0: some that hold the model; more than 16 of a supernode take minutes")
      ->check(command_line::whole(0, model_plans::most_devices));
  app.add_option("--sequences", c->sequences, "of 4096 tokens in a step of training; 0: eight a die, on many dies four")
      ->check(command_line::whole(0, 1 << 20));
  const std::pair<const char*, int*> degrees[] = {
      {"tensor", &c->tensor}, {"context", &c->context}, {"pipeline", &c->pipeline}};
  for (const auto& [name, degree] : degrees)
    app.add_option(std::string("--") + name, *degree, std::string("largest ") + name + " degree; 0: by the machine")
        ->check(command_line::whole(0, model_plans::most_devices));
  app.add_flag("--full", c->full, "the full space");
  app.add_flag("!--no-accounts", c->accounts, "tables of plans only");
  add_json(app, c->as_json);
  app.footer(
      "Reads nothing: the models are Llama-3-8B, Qwen3-30B-A3B and DeepSeek-V3, the machine is a supernode of Ascend "
      "910C\n"
      "dies of 64 GiB. Prints for each model and number of dies the fastest plans that fit, the best strategy that has "
      "a\n"
      "name, what the search covered, and the account of the winner.\n\n"
      "hp models                                 Llama on 8 and 16 dies, Qwen on 16\n"
      "hp models --model deepseek                on 256 dies, which hold it; minutes\n"
      "hp models --model llama --devices 16 --full --sequences 128\n\n"
      "Exit status: 0 all have a plan, 1 one has none, 2 bad input.");
  return [c] { return model_plans::plan_all(*c) ? 0 : 1; };
}
