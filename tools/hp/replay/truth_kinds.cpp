// SPDX-License-Identifier: Apache-2.0
// The body of truth_kinds.hpp.

#include "truth_kinds.hpp"

#include <fmt/format.h>

#include <hyperparallel/hardware/units.hpp>
#include <hyperparallel/price/megatron_2022.hpp>

#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "../plan/words.hpp"
#include "published_run.hpp"

namespace replay {

namespace {

/// A size of the model or a degree; an absent, null or "-" one is 1.
hp::extent_t size_at(const json& of, const char* name) {
  const json& size = optional_field(of, name);
  if (size.is_null() || size == json("-")) return 1;
  if (!size.is_number_integer() || whole_number_of(size) < 1)
    throw malformed_vector(std::string(name) + " is " + size.dump() + "; expected a positive whole number");
  return whole_number_of(size);
}

hp::megatron_recomputation recomputation_of(const std::string& text) {
  if (text == "none") return hp::megatron_recomputation::off;
  if (text == "attn_only") return hp::megatron_recomputation::selective;
  if (text == "full") return hp::megatron_recomputation::full;
  throw malformed_vector("recompute is '" + text + "'; known: none, attn_only, full");
}

verdict replay_gibibytes(hp::extent_t ours, double published) {
  verdict r =
      pass_if(static_cast<double>(ours) == published * static_cast<double>(hp::GiB),
              fmt::format("{} bytes, {} GiB, are {} GiB here", ours, static_cast<double>(ours) / hp::GiB, published));
  r.note = "megatron_2022: bytes, exactly";
  return r;
}

/// Percent of what the same model holds without recomputation and sequence parallelism. The bars of the plot that they were
/// read off err by up to 0.25 percent of the value, under full recomputation by 1.1, both rounded to two digits.
verdict replay_percent(const hp::megatron_model& model, hp::megatron_plan plan, double published) {
  const double error_of_reading = plan.recomputation == hp::megatron_recomputation::full ? 1.15 : 0.255;
  const double ours = static_cast<double>(megatron_2022(model, plan).activations());
  plan.sequence_parallel = false;
  plan.recomputation = hp::megatron_recomputation::off;
  const double percent = 100 * ours / static_cast<double>(megatron_2022(model, plan).activations());
  verdict r = pass_if(std::abs(percent - published) <= error_of_reading / 100 * published,
                      fmt::format("{} percent are {:.4f} here", published, percent));
  r.note = fmt::format("megatron_2022: percent, within {} percent of the value", error_of_reading);
  return r;
}

/// A search prices so many plans at most: no clock decides what a row is held against.
constexpr hp::extent_t most_priced_plans = 1000;

struct search_end {
  hp::extent_t time = hp::not_counted;
  bool complete = false;
};

/// Rows that ask the same share a search.
search_end fastest_plan(const published_run& run, const json& v, hp::plan_prices& prices) {
  static std::map<std::string, search_end> known;
  const hp::plan_question& q = run.question;
  const std::string key = fmt::format("{} {} {} {} {} {}", v.at("model").dump(), run.hardware.name.text,
                                      run.hardware.device.tier[0].bytes, q.devices, q.batch, q.sequence);
  const auto [at, fresh] = known.try_emplace(key);
  if (!fresh) return at->second;
  const hp::plan_answer found =
      hp::search_plans(run.model, q, prices, [](const hp::plan_progress& p) { return p.priced < most_priced_plans; });
  return at->second = {found.ok() ? found.best[0].evaluation.time : hp::not_counted, found.complete};
}

/// The search's plan against the row's, of those that it may have been the fastest that fits.
verdict replay_timed_run(const json& v) {
  try {
    const published_run run = read_published_run(v);
    hp::plan_prices prices(run.hardware.device, run.hardware.links);
    std::optional<hp::plan_estimate> theirs;
    for (const hp::decoder_plan& p : run.plans) {
      const hp::plan_estimate e = hp::estimate_plan(run.model, p, prices);
      if (!e.ok() || hp::verdict_of(e.evaluation.memory, run.question.reserve, run.hardware.device.tier[0].bytes) !=
                         hp::fit_verdict::fits)
        continue;
      if (!theirs || e.evaluation.time < theirs->evaluation.time) theirs = e;
    }
    if (!theirs) return skip("class B, its plan does not fit by the account, family " + text_of(v, "family"));
    const search_end ours = fastest_plan(run, v, prices);
    verdict r = pass_if(ours.time <= theirs->evaluation.time,
                        fmt::format("a plan of the row, {}, takes {} ps, the search's {} ps",
                                    decoder_plans::fixes_of(theirs->plan), theirs->evaluation.time, ours.time));
    r.note = std::string("class B: the search's plan is ") +
             (ours.time < theirs->evaluation.time ? "faster than the row's" : "as fast as the row's") +
             (ours.complete ? "" : fmt::format(", after {} prices", most_priced_plans));
    return r;
  } catch (const not_expressed& e) {
    return skip(std::string("class B, not expressed: ") + e.what());
  }
}

}  // namespace

verdict replay_published_number(const json& v) {
  const std::string family = text_of(v, "family"), nature = text_of(v, "nature"), quantity = text_of(v, "quantity");
  if (is_timed_run(v)) return replay_timed_run(v);
  if (!nature.starts_with("formula")) return skip("not tried: " + nature + ", family " + family);
  if (!family.starts_with("korthikanti-2022-")) return skip("not tried: no convention, family " + family);
  const json &m = v.at("model"), &c = v.at("config");
  const hp::megatron_model model{size_at(m, "layers"), size_at(m, "hidden"), size_at(m, "heads")};
  if (m.contains("ffn") && size_at(m, "ffn") != 4 * model.hidden)
    return skip("not tried: megatron_2022 has feed-forward layers 4 times as wide as hidden vectors, family " + family);
  const hp::megatron_plan plan{.micro_batch = size_at(c, "mbs"),
                               .sequence = size_at(c, "seq"),
                               .tp = size_at(c, "tp"),
                               .pp = size_at(c, "pp"),
                               .chunks = size_at(c, "vpp"),
                               .sequence_parallel = c.at("sequence_parallel").get<bool>(),
                               .recomputation = recomputation_of(text_of(c, "recompute"))};
  const double published = v.at("value").get<double>();
  if (quantity == "activation_memory_per_gpu")
    return replay_gibibytes(megatron_2022(model, plan).activations(), published);
  if (quantity == "params_grads_optimizer_memory_per_gpu")
    return replay_gibibytes(megatron_2022(model, plan).states(), published);
  if (quantity == "activation_memory_vs_tp_baseline") return replay_percent(model, plan, published);
  return skip("not tried: no convention for " + quantity + ", family " + family);
}

}  // namespace replay
