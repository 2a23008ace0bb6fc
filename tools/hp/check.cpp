// SPDX-License-Identifier: Apache-2.0
// hp check config.json --devices 64 --from run.sh [--hardware h100]
//
// Whether a launch line is legal and fits, in a few lines and by the exit status: what a job asks before it waits for devices.
//
// Where the answer is no, the nearest plans that are legal and fit, with what changes, in the words of the line's framework too.

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../../examples/command_line.hpp"
#include "plan/json.hpp"
#include "plan/options.hpp"
#include "plan/text.hpp"
#include "subcommand.hpp"

namespace {

namespace hp = hyperparallel;
using decoder_plans::answer, decoder_plans::choice, decoder_plans::priced_plan;

/// Of the nearest plans that can be, so many are tried.
constexpr int most_tried = 12;

bool is_legal(const answer& a) { return a.status.ok() && !a.contradiction; }
bool is_good(const answer& a) { return !a.contradiction && a.is_good(); }

/// The price of a plan that can be, with its clock; not ok where it has none.
hp::plan_estimate priced(const answer& a, const hp::decoder_plan& p, hp::plan_prices& prices) {
  hp::plan_estimate e = decoder_plans::estimate_on_stack(a, p, prices);
  if (e.ok()) e.simulated = hp::simulate_plan(a.config.model, p, prices, a.most_simulated());
  return e;
}

/// The legal plans next to one that is not: those nearest to what could be read, or that itself where only numbers of the line contradict
/// each other. None where the line is of another model or of other devices.
std::vector<hp::decoder_plan> legal_plans_near(const answer& a) {
  if (a.contradiction && !a.contradiction->is_of_line) return {};
  if (a.status.ok()) return {a.plan};
  std::vector<hp::decoder_plan> near;
  for (const hp::decoder_plan& p : hp::nearest_plans(a.config.model, a.plan, a.devices, most_tried)) near.push_back(p);
  return near;
}

/// Those of `near` that fit; where none does, what fits after the smallest changes of the first.
void find_fitting(answer& a, const std::vector<hp::decoder_plan>& near, hp::plan_prices& prices) {
  for (const hp::decoder_plan& p : near) {
    if (a.others.size() == decoder_plans::most_fitting_plans) return;
    if (p == a.plan && is_legal(a)) continue;  // it does not fit
    if (const hp::plan_estimate e = priced(a, p, prices); e.ok() && hp::is_answer(a.verdict(e)))
      a.others.push_back({e});
  }
  if (near.empty() || !a.others.empty()) return;
  hp::visit_plans_that_fit(
      a.config.model, near[0], prices, a.reserve,
      [&](const hp::plan_estimate& e, int changes) {
        if (a.others.size() < decoder_plans::most_fitting_plans) a.others.push_back({e, changes});
      },
      a.stack);
}

answer checked(const choice& c) {
  answer a = decoder_plans::asked_of(c);
  hp::plan_prices prices = a.prices();
  if (is_legal(a)) {
    decoder_plans::insist_on_rules(a, a.plan);
    a.estimate = priced(a, a.plan, prices);
    if (!a.estimate.ok() || !a.on_stack(a.estimate).ok()) throw hp_tool::bad_input(decoder_plans::uncounted_text);
  }
  if (!is_good(a)) find_fitting(a, legal_plans_near(a), prices);
  return a;
}

std::string cause_text(const answer& a) {
  return a.contradiction ? std::string(a.contradiction->what()) : decoder_plans::cause_text(a.status);
}

/// "tp 8 -> 4" for each option of a plan that differs, and for the devices.
std::vector<std::string> changes_of(const hp::decoder_plan& from, const hp::decoder_plan& to, hp::extent_t devices) {
  std::vector<std::string> out;
  const auto note = [&](const std::string& name, const std::string& before, const std::string& after) {
    if (before != after) out.push_back(name + " " + before + " -> " + after);
  };
  for (const hp::plan_degree& d : hp::plan_degrees) note(d.name, std::to_string(from.*d.of), std::to_string(to.*d.of));
  note("zero", std::to_string(from.zero), std::to_string(to.zero));
  note("micro_batches", std::to_string(from.micro_batches), std::to_string(to.micro_batches));
  note("recompute", decoder_plans::recomputation_text(from), decoder_plans::recomputation_text(to));
  note("devices", std::to_string(devices), std::to_string(hp::device_count_of(to)));
  return out;
}

std::string joined(const std::vector<std::string>& all, std::string_view between) {
  std::string out;
  for (const std::string& one : all) out += (out.empty() ? std::string() : std::string(between)) + one;
  return out;
}

std::string near_text(const answer& a, const priced_plan& p) {
  const hp_tool::launch::launch_change words = decoder_plans::words_of_change(a, p.estimate.plan);
  const std::string changes = joined(changes_of(a.plan, p.estimate.plan, a.devices), ", ");
  std::string out =
      fmt::format("  {}: {}; a device needs {}, a step takes {}\n", decoder_plans::fixes_of(p.estimate.plan),
                  changes.empty() ? "as it was read" : changes, decoder_plans::bytes_text(a.needed(p.estimate)),
                  decoder_plans::time_text(p.estimate.time()));
  if (!words.given.empty()) out += "    with " + joined(words.given, " ") + "\n";
  if (!words.dropped.empty()) out += "    without " + joined(words.dropped, ", ") + "\n";
  return out;
}

std::string check_text(const answer& a) {
  std::string out = fmt::format(
      "{} on {} of {}, --stack {}: {}; {} of {} tokens in {}\n", a.config.family,
      decoder_plans::count_text(a.devices, "device"), a.hardware.name.text, a.stack.name,
      decoder_plans::fixes_of(a.plan), decoder_plans::count_text(a.plan.batch, "sequence"), a.plan.sequence,
      a.plan.micro_batches == 1 ? "one micro-batch" : fmt::format("{} micro-batches", a.plan.micro_batches));
  out += is_legal(a) ? "legal\n" + decoder_plans::verdict_text(a) +
                           fmt::format("a step takes {}\n", decoder_plans::time_text(a.estimate.time()))
                     : "not legal: " + cause_text(a) + "\n";
  out += decoder_plans::launch_text(a.launch);
  if (is_good(a) || (a.contradiction && !a.contradiction->is_of_line)) return out;
  out += a.others.empty() ? "no plan near it is legal and fits\n" : "legal and fit, near it:\n";
  for (const priced_plan& p : a.others) out += near_text(a, p);
  return out;
}

hp_tool::json check_json(const answer& a) {
  using hp_tool::json;
  json out = {{"family", a.config.family}, {"hardware", a.hardware.name.text},       {"devices", a.devices},
              {"stack", a.stack.name},     {"plan", decoder_plans::json_of(a.plan)}, {"legal", is_legal(a)},
              {"good", is_good(a)}};
  if (is_legal(a)) {
    const hp::extent_t has = a.hardware.device.tier[0].bytes, needed = a.needed(a.estimate);
    out["verdict"] = name_of(a.verdict(a.estimate));
    out["needed_bytes"] = hp_tool::bytes_or_null(needed);
    out["device_bytes"] = has;
    out["left_bytes"] = needed == hp::not_counted ? json() : json(has - needed);
    out["step_seconds"] = hp_tool::seconds_or_null(a.estimate.time());
  } else {
    out["why"] = cause_text(a);
  }
  out["launch"] = decoder_plans::launch_json(*a.launch);
  json near = json::array();
  for (const priced_plan& p : a.others) {
    json one = decoder_plans::json_of(p, a);
    const hp_tool::launch::launch_change words = decoder_plans::words_of_change(a, p.estimate.plan);
    one["changes"] = changes_of(a.plan, p.estimate.plan, a.devices);
    one["words"] = {{"given", words.given}, {"dropped", words.dropped}};
    near.push_back(std::move(one));
  }
  out["near"] = std::move(near);
  return out;
}

int run(const choice& c) {
  const answer a = checked(c);
  if (c.as_json)
    hp_tool::print(check_json(a));
  else
    std::fputs(check_text(a).c_str(), stdout);
  if (is_good(a)) return 0;
  std::fflush(stdout);
  std::fprintf(stderr, "hp check: %s\n",
               is_legal(a) ? decoder_plans::shortfall_text(a).c_str() : ("not legal: " + cause_text(a)).c_str());
  return 1;
}

}  // namespace

hp_tool::work hp_tool::add_check(command_line::command app) {
  const auto c = std::make_shared<choice>();
  decoder_plans::add_question(app, *c);
  app.add_option("--from", c->from, "the launch line, as hp plan reads it").required();
  decoder_plans::add_stack(app, *c, "the line's");
  app.add_option_function<std::int64_t>(
         "--sequence",
         [c = c.get()](const std::int64_t& tokens) {
           c->sequence = tokens;
           c->sequence_is_said = true;
         },
         "tokens in a sequence, in place of the line's")
      .check(command_line::whole(1, hyperparallel::largest_plan_number));
  decoder_plans::add_device_options(app, *c);
  add_json(app, c->as_json);
  app.footer(
      "Reads the config.json of a decoder and a launch line; prints whether the line is legal, whether a device holds\n"
      "it, what of the line no figure heeds, and else the nearest plans that are legal and fit, with what changes.\n\n"
      "hp check config.json --devices 64 --hardware h100 --from pretrain_gpt.sh\n"
      "hp check config.json --devices 64 --from pretrain_gpt.sh --json\n\n"
      "Exit status: 0 the line is legal and fits, if tightly, 1 it is not or does not, 2 bad input.");
  return [c] { return run(*c); };
}
