// SPDX-License-Identifier: Apache-2.0
#include "groups.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <hyperparallel/groups/refused_groups.hpp>
#include <hyperparallel/io/group_file.hpp>
#include <hyperparallel/layers/decoder_parameters.hpp>
#include <hyperparallel/search/group_search.hpp>
#include <hyperparallel/world/refused_submodels.hpp>

#include "../../../examples/train_text/interruption.hpp"
#include "answer.hpp"
#include "json.hpp"
#include "text.hpp"

namespace decoder_plans {

namespace {

/// A decoder's question: a step of training of it, its modules on no group or on those of a file.
struct group_question {
  answer asked;
  hp::graph step;
  hp::submodel_plan plan{};   ///< of a file
  hp::group_table modules{};  ///< of a search
  hp::extent_t budget = 0;    ///< what a step may take of a device by address
};

/// "layers.3" of "layers.3.attention.query"; empty of a name without a number between points.
std::string layer_of(const std::string& name) {
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    const std::size_t end = name.find_first_not_of("0123456789", dot + 1);
    if (end != std::string::npos && end > dot + 1 && name[end] == '.') return name.substr(0, end);
  }
  return {};
}

/// Embedding, the halves of the layers, head: what the operators before, of and behind the layers are called.
hp::group_table modules_of(const hp::graph& g) {
  std::vector<std::string> before, layers, behind;
  const auto add = [](std::vector<std::string>& to, const std::string& name) {
    if (std::find(to.begin(), to.end(), name) == to.end()) to.push_back(name);
  };
  for (const hp::graph_operator& o : g.op) {
    if (o.phase != hp::graph_phase::forward) break;
    const std::string name = g.text_at(o.name), layer = layer_of(name);
    if (!layer.empty())
      add(layers, layer);
    else
      add(layers.empty() ? before : behind, name.substr(0, name.find('.')));
  }
  hp::group_table t;
  const auto module = [&](const char* name, auto begin, auto end) {
    if (begin == end) return;
    hp::placed_module& m = t.placed[hp::add_module(t, name, "all")];
    for (; begin != end; ++begin) {
      m.operators.push(hp::short_text((*begin + ".*").c_str()));
      if (layer_of(*begin + ".").empty()) m.operators.push(hp::short_text(begin->c_str()));
    }
  };
  const auto middle = layers.begin() + static_cast<std::ptrdiff_t>(layers.size() / 2);
  module("embedding", before.begin(), before.end());
  module("front", layers.begin(), middle);
  module("back", middle, layers.end());
  module("head", behind.begin(), behind.end());
  return t;
}

hp::submodel_plan plan_of_file(const choice& c, const answer& a) {
  hp::submodel_plan plan;
  try {
    plan.table = hp::read_group_file(c.groups).table[0];
  } catch (const hp::io_error& e) {
    throw hp_tool::bad_input(e.what());
  }
  if (plan.table.world > a.devices)
    throw hp_tool::bad_input("--groups: " + c.groups + " is of " + count_text(plan.table.world, "rank") +
                             ", --devices are " + std::to_string(a.devices));
  const auto groups = static_cast<std::size_t>(plan.table.group.size);
  if (!c.strategies.empty() && c.strategies.size() != groups)
    throw hp_tool::bad_input("--strategies: names " + std::to_string(c.strategies.size()) + ", the file has " +
                             count_text(plan.table.group.size, "group"));
  for (int k = 0; k < plan.table.group.size; ++k) {
    const int ranks = static_cast<int>(hp::rank_count(plan.table.group[k]));
    const std::string name = !c.strategies.empty() ? c.strategies[static_cast<std::size_t>(k)]
                             : ranks == 1          ? "single"
                                                   : "zero1";
    plan.strategy.push(hp::strategy_called(name.c_str(), ranks).strategy);
  }
  return plan;
}

group_question question_of(choice c) {
  const std::string count = "micro_batches=";
  if (!c.fixes.empty() && (!c.fixes.starts_with(count) || c.fixes.find(',') != std::string::npos))
    throw hp_tool::bad_input("--fix: --groups takes micro_batches alone; --strategies are those of its groups");
  if (c.page.html.size() + c.page.svg.size() > 0) throw hp_tool::bad_input("--groups: has no page");
  if (c.stack_is_said) throw hp_tool::bad_input("--stack: --groups are priced on the library's own");
  if (c.batch == 0) c.batch = std::min<std::int64_t>(std::int64_t{4} * c.devices, hp::largest_plan_number);
  if (c.fixes.empty()) c.fixes = count + (c.batch % 8 == 0 ? "8" : c.batch % 4 == 0 ? "4" : "1");
  group_question q{asked_of(c), {}};
  const hp::decoder_plan& p = q.asked.plan;
  if (p.batch % p.micro_batches != 0)
    throw hp_tool::bad_input("--fix: " + std::to_string(p.micro_batches) +
                             " micro-batches do not divide the batch of " + std::to_string(p.batch));
  q.budget = q.asked.reserve.most_peak(q.asked.hardware.device.tier[0].bytes);
  hp::model_builder m({.activation = hp::data_type::bf16, .parameter = hp::data_type::f32, .unrolled = true});
  const int batch = m.dim("batch", p.batch / p.micro_batches), sequence = m.dim("seq", p.sequence);
  const int tokens = m.index_input("tokens", {batch, sequence});
  q.asked.config.model(m, tokens, m.index_input("labels", {batch, sequence}));
  if (c.groups == "search") {
    q.modules = modules_of(m.graph);
  } else {
    q.plan = plan_of_file(c, q.asked);
    const hp::submodel_status s = hp::freeze_modules(m.graph, q.plan.table);
    if (!s.ok()) throw hp_tool::bad_input("--groups: " + hp::text_of_refusal(m.graph, q.plan.table, s));
  }
  q.step = hp::training_graph(std::move(m.graph), {}, {.micro_batches = static_cast<int>(p.micro_batches)});
  if (q.step.status.code != hp::graph_code::ok) throw hp_tool::bad_input("--groups: the model cannot be built");
  return q;
}

std::string heading(const group_question& q) {
  const answer& a = q.asked;
  return fmt::format(
      "{}: {:.2f} billion parameters\n{} of {}; {} of {} tokens in {}\n", a.config.family,
      static_cast<double>(hp::parameters_of(a.config.model).total()) / 1e9, count_text(a.devices, "device"),
      a.hardware.name.text, count_text(a.plan.batch, "sequence"), a.plan.sequence,
      a.plan.micro_batches == 1 ? "one micro-batch" : fmt::format("{} micro-batches", a.plan.micro_batches));
}

std::string modules_text(const hp::group_table& t, int group) {
  std::string all;
  for (const hp::placed_module& m : t.placed)
    if (m.group == t.group[group].name)
      all += (all.empty() ? "" : ", ") + std::string(m.name.text) + (m.frozen ? " (frozen)" : "");
  return all;
}

std::string to_text(const group_question& q, const hp::found_groups& f) {
  const hp::group_table& t = f.plan.table;
  std::string all;
  for (int k = 0; k < t.group.size; ++k) {
    const int first = hp::rank_at(t.group[k], 0), ranks = static_cast<int>(hp::rank_count(t.group[k]));
    int part = 0;  // groups of equal ranks are one
    for (int before = 0; before < first; ++part) before += f.times.ranks[part];
    all +=
        fmt::format("ranks {:>3} to {:>3}  {:<8} {:<32} idle for {:.1f} %\n", first, first + ranks - 1,
                    f.plan.strategy[k].name.text, modules_text(t, k), static_cast<double>(f.times.idle(part)) * 1e-4);
  }
  const hp::extent_t has = q.asked.hardware.device.tier[0].bytes, needed = q.asked.reserve.needed(f.memory);
  return all +
         fmt::format("a step takes {} by the clock of its plan; ranks are idle for {:.1f} %\n",
                     time_text(f.times.makespan), static_cast<double>(f.times.idle()) * 1e-4) +
         fmt::format("{}: a device needs {} of {}\n", needed <= has ? "fits" : "does not fit", bytes_text(needed),
                     bytes_text(has));
}

json json_of(const group_question& q, const hp::found_groups& f) {
  hp::group_tables file;
  file.table.push(f.plan.table);
  json groups = json::array();
  for (int k = 0; k < f.plan.table.group.size; ++k)
    groups.push_back({{"name", f.plan.table.group[k].name.text},
                      {"ranks", hp::rank_count(f.plan.table.group[k])},
                      {"strategy", f.plan.strategy[k].name.text}});
  const hp::extent_t needed = q.asked.reserve.needed(f.memory);
  return {{"step_seconds", seconds_or_null(f.times.makespan)},
          {"idle_share", static_cast<double>(f.times.idle()) * 1e-6},
          {"needed_bytes", needed},
          {"fits", needed <= q.asked.hardware.device.tier[0].bytes},
          {"groups", std::move(groups)},
          {"table", json::parse(hp::json_text_of(file))}};
}

json head_json(const group_question& q) {
  return {{"family", q.asked.config.family},
          {"hardware", q.asked.hardware.name.text},
          {"devices", q.asked.devices},
          {"batch", q.asked.plan.batch},
          {"sequence", q.asked.plan.sequence},
          {"micro_batches", q.asked.plan.micro_batches},
          {"memory_bytes", q.asked.hardware.device.tier[0].bytes}};
}

int check_table(const choice& c, const group_question& q) {
  const hp::submodel_program p = hp::partition(q.step, q.plan);
  if (!p.ok()) throw hp_tool::bad_input("--groups: " + hp::text_of_refusal(q.step, q.plan, p));
  hp::found_groups f{.plan = q.plan};
  if (!hp::play_groups(q.step, f, q.asked.hardware.device, q.asked.hardware.links))
    throw hp_tool::bad_input("--groups: the plan has no price on " + std::string(q.asked.hardware.name.text));
  if (c.as_json) {
    json document = head_json(q);
    document.update(json_of(q, f));
    hp_tool::print(document);
  } else {
    std::fputs((heading(q) + to_text(q, f)).c_str(), stdout);
  }
  if (f.memory <= q.budget) return 0;
  throw hp_tool::answer_is_no("does not fit: a device needs " + bytes_text(q.asked.reserve.needed(f.memory)) + " of " +
                              bytes_text(q.asked.hardware.device.tier[0].bytes));
}

std::string search_text(const hp::group_search& r) {
  const hp::group_certificate& t = r.certificate;
  std::string all = fmt::format(
      "searched: {} partitions of the modules, {} plans; {} were played, {} do not fit{}\n", t.partitions, t.plans,
      t.played, t.too_large,
      t.complete ? fmt::format(", {} are slower since their longest group computes as long", t.by_bound) : "");
  if (t.complete) return all + "no plan of these groups, ranks and strategies that fits takes less\n";
  if (t.lower_bound > 0) return all + "the search was ended: none takes less than " + time_text(t.lower_bound) + "\n";
  return all + "the search was ended: nothing is known of the plans that are left\n";
}

int search(const choice& c, const group_question& q) {
  train_text::listen_for_interruption();
  const auto begin = std::chrono::steady_clock::now();
  hp::group_limits limits{.memory = q.budget};
  for (const std::string& s : c.strategies) {
    if (hp::strategy_called(s.c_str(), 2).status.code == hp::strategy_code::name_is_unknown)
      throw hp_tool::bad_input("--strategies: no strategy is called '" + s + "'");
    limits.strategies.push(hp::short_text(s.c_str()));
  }
  const hp::group_search r = hp::search_groups(
      q.step, q.modules, c.devices, q.asked.hardware.device, q.asked.hardware.links, limits,
      [&](const hp::group_search&) {
        return !train_text::is_interrupted() &&
               std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < c.effort;
      });
  if (!r.groups.ok()) throw hp_tool::bad_input("--groups: " + hp::text_of_refusal(q.step, q.modules, r.groups));
  if (c.as_json) {
    json document = head_json(q);
    json plans = json::array();
    for (const hp::found_groups& f : r.best) plans.push_back(json_of(q, f));
    const hp::group_certificate& t = r.certificate;
    document["search"] = {{"partitions", t.partitions},    {"plans", t.plans},
                          {"slower_by_bound", t.by_bound}, {"played", t.played},
                          {"do_not_fit", t.too_large},     {"refused", t.refused},
                          {"complete", t.complete},        {"lower_bound_seconds", seconds_or_null(t.lower_bound)}};
    document["plans"] = std::move(plans);
    hp_tool::print(document);
  } else {
    std::fputs(heading(q).c_str(), stdout);
    if (r.ok()) std::fputs(to_text(q, r.best[0]).c_str(), stdout);
    std::fputs(search_text(r).c_str(), stdout);
  }
  if (r.ok()) return 0;
  throw hp_tool::answer_is_no(r.certificate.too_large > 0
                                  ? "no plan of groups fits: the smallest that was played needs " +
                                        bytes_text(q.asked.reserve.needed(r.certificate.least_memory)) + " of a device"
                                  : "no plan of groups was found");
}

}  // namespace

int plan_groups(const choice& c) {
  const group_question q = question_of(c);
  return c.groups == "search" ? search(c, q) : check_table(c, q);
}

}  // namespace decoder_plans
