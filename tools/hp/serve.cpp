// SPDX-License-Identifier: Apache-2.0
// hp serve config.json --devices 8 [--hardware matrix384] [--fix tp=8,…]
//
// An estimate of inference by closed form: whether weights and cache fit, the longest context, prefill and decode as
// rooflines.

#include <cstdio>
#include <memory>
#include <string>

#include "../../examples/command_line.hpp"
#include "serve/pictures.hpp"
#include "serve/text.hpp"
#include "subcommand.hpp"

namespace {

using serving::answer, serving::choice;

constexpr std::int64_t most_memory = std::int64_t{1} << 50;

int run(const choice& c) {
  hp_tool::page_output page(c.page, {c.config, c.hardware});
  const answer a = serving::answer_of(c);
  hp_tool::json document = serving::json_of(a);
  if (page.is_asked()) {
    document["pictures"] = serving::pictures_of(a);
    page.write("hp serve: " + a.config.family + " on " + decoder_plans::count_text(a.devices, "device") + " of " +
                   a.hardware.name.text + ", " + serving::fixes_of(a.plan),
               document);
  }
  if (c.as_json)
    hp_tool::print(document);
  else
    std::fputs(serving::to_text(a).c_str(), stdout);
  if (a.is_good()) return 0;
  std::fflush(stdout);
  const std::string why = a.status.ok() ? serving::shortfall_text(a) : decoder_plans::cause_text(a.status);
  std::fprintf(stderr, "hp serve: %s\n", why.c_str());
  return 1;
}

}  // namespace

hp_tool::work hp_tool::add_serve(command_line::command app) {
  const auto c = std::make_shared<choice>();
  constexpr hyperparallel::extent_t most = hyperparallel::largest_plan_number;
  app.add_option("config", c->config, "the model's config.json, as Hugging Face publishes it").required();
  app.add_option("--devices", c->devices, "how many the machine has").required().check(command_line::whole(1, 16384));
  app.add_option("--hardware", c->hardware,
                 decoder_plans::known_hardware_names() +
                     " (the first by default), or FILE.json (docs/how-to/describe-your-hardware.md)");
  app.add_option(
      "--fix", c->fixes,
      "degrees: tp, pp, dp, ep; without it those with the most tokens a second that fit, else that are tight");
  app.add_option("--batch", c->plan.batch, "sequences that are served together (default: 1)")
      .check(command_line::whole(1, most));
  app.add_option("--context", c->plan.context, "tokens of each, prompt and answer (default: 4096)")
      .check(command_line::whole(1, most));
  app.add_option("--chunk", c->plan.chunk, "tokens of a prompt that are prefilled at once (default: 8192)")
      .check(command_line::whole(1, most));
  const auto bits = [&](const char* name, int& to, const char* of) {
    app.add_option(name, to, std::string("bits of ") + of + " (default: as the file has it, else 16)")
        .check(command_line::whole(1, 16));
  };
  bits("--weights", c->weight_bits, "a parameter");
  bits("--cache", c->cache_bits, "an element of the cache");
  app.add_option("--offload", c->plan.offloaded_layers, "layers of a stage whose cache lies in DRAM (default: 0)")
      .check(command_line::whole(0, most));
  app.add_option("--memory", c->memory, "HBM of a device (default: what it reports, else what the hardware has)")
      .check(command_line::bytes(most_memory));
  app.add_option("--reserve", c->reserve.library_bytes,
                 "what run time and communication library keep of it (default, assumed: 2GiB)")
      .check(command_line::bytes(most_memory, 0));
  app.add_option("--allocator", c->reserve.allocator_per_mille,
                 "what the allocator wastes, per mille of the peak (default, assumed: 30)")
      .check(command_line::whole(0, 1000));
  add_json(app, c->as_json);
  hp_tool::add_page(app, c->page);
  app.footer(
      "Reads the config.json of a decoder; prints an estimate by closed form: weights and cache of keys and values of "
      "a\n"
      "device, whether they fit, the longest context with the cache in HBM and in DRAM and what binds it, and the time "
      "of\n"
      "prefill and decode as rooflines of operations, HBM, DRAM and links. Degrees multiply to --devices; sequences "
      "are\n"
      "dealt to dp and ep. Products run in bf16, tokens are even over experts. docs/how-to/serve-a-model.md says "
      "more.\n\n"
      "hp serve config.json --devices 1 --context 32768\n"
      "hp serve config.json --devices 8 --fix tp=8 --batch 64 --weights 8 --hardware h100\n"
      "hp serve config.json --devices 1 --context 131072 --offload 16 --json\n"
      "hp serve config.json --devices 1 --context 131072 --html serve.html\n\n"
      "Exit status: 0 the plan fits, if tightly, 1 it does not or cannot be, 2 bad input.");
  return [c] { return run(*c); };
}
