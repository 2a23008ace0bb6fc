// SPDX-License-Identifier: Apache-2.0
// hp plan config.json --devices 64 [--hardware matrix384] [--fix tp=8,…]
//
// Whether a step of training fits on devices, and how long it takes, from a model's config.json and fixed degrees; without
// them the fastest plan that fits.
//
// Degrees that cannot be are refused with the nearest that can; a plan that does not fit is told with the smallest changes
// after which it does. A search tells its best plans and what its bound holds for.

#include <cstdio>
#include <memory>
#include <string>

#include "../../examples/command_line.hpp"
#include "plan/groups.hpp"
#include "plan/options.hpp"
#include "plan/pictures.hpp"
#include "plan/search_json.hpp"
#include "plan/search_text.hpp"
#include "subcommand.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace {

using decoder_plans::answer, decoder_plans::choice;

int complain(const std::string& why) {
  std::fflush(stdout);
  std::fprintf(stderr, "hp plan: %s\n", why.c_str());
  return 1;
}

/// Prints the answer, and writes its page where one is asked for.
template <class Answer>
void tell(const Answer& a, const std::string& title, const choice& c, hp_tool::page_output& page) {
  if (c.as_json || page.is_asked()) {
    hp_tool::json document = json_of(a);
    if (page.is_asked()) {
      document["pictures"] = pictures_of(a);
      page.write(title, document);
    }
    if (c.as_json) return hp_tool::print(document);
  }
  std::fputs(to_text(a).c_str(), stdout);
}

std::string title_of(const answer& a) {
  return "hp plan: " + a.config.family + " on " + decoder_plans::count_text(a.devices, "device") + " of " +
         a.hardware.name.text;
}

/// A search frees blocks of megabytes and takes them again, thousands of times: they stay with the process. As it is, glibc
/// may give them back each time, for up to half of the whole time, by what lies behind them.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

int search(const choice& c, hp_tool::page_output& page) {
  keep_freed_memory();
  decoder_plans::search_answer s = decoder_plans::search_answer_of(c);
  if (s.found.ok() && s.why > s.found.best.size)
    throw hp_tool::bad_input("--why: there are " + std::to_string(s.found.best.size) + " plans");
  tell(s, title_of(s.best), c, page);
  return s.found.ok() ? 0 : complain(decoder_plans::none_text(s));
}

int run(const choice& c) {
  if (!c.groups.empty()) return decoder_plans::plan_groups(c);
  hp_tool::page_output page(c.page, {c.config, c.hardware, c.from});
  if (c.fixes.empty() && c.from.empty()) return search(c, page);
  if (c.why > 0) throw hp_tool::bad_input("--why: compares plans of a search; --fix names one");
  const answer a = decoder_plans::answer_of(c);
  tell(a, title_of(a) + ", " + decoder_plans::fixes_of(a.plan), c, page);
  if (a.is_good()) return 0;
  return complain(a.status.ok() ? decoder_plans::shortfall_text(a) : decoder_plans::cause_text(a.status));
}

}  // namespace

hp_tool::work hp_tool::add_plan(command_line::command app) {
  const auto c = std::make_shared<choice>();
  decoder_plans::add_question(app, *c);
  const command_line::option fix = app.add_option(
      "--fix", c->fixes,
      "degrees and options: tp, pp, dp, cp, ep, zero (0 to 3), copies (of what zero shards), micro_batches, recompute "
      "(none, selective, full, or modules: layernorm+moe_act), lora (rank of adapters that alone are trained), lora_on "
      "(all, qkv: products that have "
      "them), sp (on, off), schedule (of the pipeline, as in hp sched; 1F1B by default), chunks (stages on a rank), "
      "experts_along (tp, cp, tp+cp: experts are dealt to these ranks beside ep), optimizer (adamw, sgd with a "
      "momentum, "
      "muon of the matrices in layers, with adamw of the rest), host_states (per mille of masters and moments that lie "
      "and are updated in the host's memory); without it the fastest plan is "
      "searched "
      "for");
  const command_line::option from =
      app.add_option(
             "--from", c->from,
             "a launch line of Megatron-LM, as its shell script or a file of its arguments, FILE.toml of torchtitan or "
             "HyperParallel, or one of the Hugging Face Trainer with DeepSpeed or FSDP, as a YAML (LLaMA-Factory), a "
             "JSON or a "
             "script: degrees, batch, sequence, recomputation, precision and optimizer are read of it; sets --stack "
             "unless said")
          .excludes(fix);
  app.add_option("--effort", c->effort, "seconds that a search may take (default: 20)")
      .check(command_line::whole(1, 86400));
  app.add_option("--why", c->why, "of a search: why plan 1 beats the plan of this number")
      .check(command_line::whole(2, decoder_plans::search_rows));
  const command_line::option batch =
      app.add_option(
             "--batch", c->batch,
             "sequences in a step (default: with --fix one for each data rank and micro-batch, else 4 a device)")
          .check(command_line::whole(1, hyperparallel::largest_plan_number));
  from.excludes(batch);
  app.add_option_function<std::int64_t>(
         "--sequence",
         [c](std::int64_t tokens) {
           c->sequence = tokens;
           c->sequence_is_said = true;
         },
         "tokens in a sequence (default: 4096, with --from what the file says)")
      .check(command_line::whole(1, hyperparallel::largest_plan_number));
  decoder_plans::add_device_options(app, *c);
  decoder_plans::add_stack(app, *c, "the first");
  const command_line::option precision =
      app.add_option("--precision", c->precision,
                     decoder_plans::known_format_names() +
                         " (f32 parameters by default): formats of products and parameters; with a "
                         "--stack of PyTorch what that has: bf16, of transformers amp too");
  app.add_option(
      "--measured", c->measured,
      "a run of your own that calibrates the rest: [PLAN:]step=SECONDS,memory=BYTES; PLAN as --fix reads it (default: "
      "that of --fix), beside it devices, batch and sequence (default: those of the command); memory is what the "
      "allocator has reserved at most");
  const command_line::option groups =
      app.add_option(
             "--groups", c->groups,
             "modules on process groups: a table of FILE.json is checked and priced, 'search' finds the fastest for "
             "embedding, halves of the layers and head")
          .excludes(from)
          .excludes(precision);
  app.add_option("--strategies", c->strategies,
                 "of --groups: of the file's groups, in their order, or those to search among (default: zero1; zero1, "
                 "zero3, tp and dp-tp)")
      .delimiter(',')
      .needs(groups);
  app.add_option("--to", c->to, "the plan in the words of a framework's launch line")
      .check(command_line::one_of(decoder_plans::framework_names()));
  app.add_option("--convention", c->convention,
                 "megatron_2022: memory by the closed forms of Korthikanti et al., 2205.05198, beside the account")
      .check(command_line::one_of({"megatron_2022"}));
  add_json(app, c->as_json);
  add_page(app, c->page);
  app.footer(
      "Reads the config.json of a decoder; prints whether a step of training fits into a device's memory and by how\n"
      "much, memory by kind, time of a step with its lower bound, tokens a second, MFU, bytes by link level.\n"
      "Without --fix: the fastest plans that fit, what was searched, and what its bound proves; Ctrl-C or --effort\n"
      "ends the search with what it has. With --fix a degree that is not named is 1, dp what is left. Degrees\n"
      "multiply to --devices; data is dealt to dp and ep. Activations are bf16, the optimizer's states f32, "
      "parameters\n"
      "and gradients f32 or by --precision. The lower bound is by data sheets, which no software beats; the least by "
      "its shares has what\n"
      "products, memory and links are taken to reach. MFU is 6 operations for each active parameter and token, the\n"
      "embedding's table left out, and 12 layers x heads x width x sequence a token, without a discount for the\n"
      "causal mask, over the bf16 peak of the matrix cores of all devices.\n\n"
      "hp plan config.json --devices 64 --why 2\n"
      "hp plan config.json --devices 16 --fix tp=8,dp=2,zero=1\n"
      "hp plan config.json --devices 64 --from pretrain_gpt.sh\n"
      "hp plan config.json --devices 8 --from ds_z3.json --sequence 4096\n"
      "hp plan config.json --devices 64 --from train.toml --to megatron\n"
      "hp plan config.json --devices 64 --html plans.html\n"
      "hp plan config.json --devices 8 --hardware h100 --groups search\n"
      "hp plan config.json --devices 8 --hardware h100 --groups groups.json --strategies tp,zero1\n"
      "hp plan config.json --devices 64 --hardware h100\n"
      "hp plan config.json --devices 64 --hardware h100 --measured tp=8,zero=1:step=1.23,memory=61GiB\n"
      "hp plan config.json --devices 64 --hardware own.json, where own.json may be {\"like\": \"h100\", \"levels\": "
      "[...]}\n"
      "hp plan config.json --devices 64 --fix tp=8,pp=4,micro_batches=16,recompute=full --batch 256 --json\n\n"
      "Exit status: 0 a plan fits, if tightly, 1 none does or the plan cannot be, 2 bad input.");
  precision.excludes(from);
  return [c] { return run(*c); };
}
