// SPDX-License-Identifier: Apache-2.0
// The body of rl_sizes.hpp.

#include "rl_sizes.hpp"

#include <cmath>

#include <fmt/format.h>

#include <hyperparallel/layers/decoder_parameters.hpp>
#include <hyperparallel/planner/rl_step.hpp>
#include <hyperparallel/planner/serving_estimate.hpp>
#include <hyperparallel/planner/stack_time_serving.hpp>

#include "../plan/words.hpp"
#include "devices.hpp"
#include "prediction.hpp"

namespace truth {

namespace {

/// The degrees of a text as "[1,2,n/a]": "n/a" is 1. Throws not_predicted.
std::vector<hp::extent_t> degrees_in(const json& config, const char* name, std::size_t count) {
  const std::string text = text_in(config, name);
  std::vector<hp::extent_t> out;
  std::size_t at = text.starts_with('[') ? 1 : text.size();
  while (at < text.size()) {
    const std::size_t end = text.find_first_of(",]", at);
    if (end == std::string::npos) break;
    std::string word = text.substr(at, end - at);
    word.erase(0, word.find_first_not_of(' '));
    const bool is_number =
        !word.empty() && word.size() < 7 && word.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number && word != "n/a" && word != "-") break;
    out.push_back(is_number ? std::max(std::stoll(word), 1LL) : 1);
    at = end + 1;
  }
  if (out.size() != count) throw not_predicted(std::string(name) + " is '" + text + "'");
  return out;
}

struct generation {
  const hp::decoder& model;
  const hp::known_hardware& hardware;
  hp::serving_plan plan;

  /// A token of so many responses, of which each has `context` before it.
  double iteration(hp::extent_t responses, hp::extent_t context) const {
    hp::serving_plan p = plan;
    p.batch = responses;
    p.context = context;
    if (const hp::decoder_plan_status s = hp::check_serving(model, p, p.tp * p.pp); !s.ok())
      throw not_predicted("the generator's layout cannot be: " + decoder_plans::cause_text(s));
    const hp::serving_phase phase = hp::estimate_serving(model, p, hardware.device, hardware.links).decode;
    if (!phase.ok()) throw not_predicted("the generator's layout has no price");
    if (p.pp == 1 && hp::has_serving_kernels(model, p.tp))
      if (const auto t = hp::stack_decode_time(model, p.tp, responses, context, hardware.device); t.ok())
        return seconds_of(t.device + phase.of(hp::serving_roof::links));
    return seconds_of(phase.time);
  }

  /// All responses of one generator: slices of the longest one's length, each with those that still run.
  double all(hp::extent_t responses, double mean, double longest) const {
    constexpr int slices = 16;
    const double share = std::min(mean / longest, 0.99), k = share / (1 - share);
    double seconds = 0;
    for (int i = 0; i < slices; ++i) {
      const double x = (i + 0.5) / slices, running = static_cast<double>(responses) * (1 - std::pow(x, k));
      seconds +=
          longest / slices * iteration(std::max(std::llround(running), 1LL), std::max(std::llround(x * longest), 1LL));
    }
    return seconds;
  }
};

/// The row as one of plain training: a step of the optimizer, of responses of mean length.
/// Off policy it runs on the most devices that the batch can be dealt to.
published_row training_row(const published_row& r, double mean, bool on_all) {
  const std::vector<hp::extent_t> d = degrees_in(r.config(), "training_tp_cp_ep_pp_vpp", 5);
  published_row t = r;
  run_settings& run = t.run;
  run.unclear.clear();
  run.tp = d[0];
  run.cp = d[1];
  run.ep = d[2];
  run.pp = d[3];
  run.chunks = d[4];
  run.batch = {size_in(r.config(), {"train_gbs"}).or_else(0), false};
  if (run.batch.sequences == 0) throw not_predicted("no batch");
  hp::extent_t data = data_ranks_of(run);
  if (data == 0) throw not_predicted("tp, pp and cp do not divide the devices");
  while (!on_all && run.batch.sequences % data != 0) --data;
  run.devices = data * run.tp * run.pp * run.cp;
  const hp::extent_t unit = 2 * run.tp * run.cp;
  run.sequence = (static_cast<hp::extent_t>(mean) + unit - 1) / unit * unit;
  run.micro_batch = 1;
  t.quantity = "step_time";
  return t;
}

/// How many steps a run is off policy; 0: it is on policy.
int steps_off(const published_row& r) {
  const std::string policy = lower_case(text_in(r.config(), "policy"));
  return policy.find("off") == std::string::npos ? 0 : std::max(static_cast<int>(largest_number_in(policy)), 1);
}

}  // namespace

bool has_layouts(const published_row& r) {
  return r.config().contains("generation_tp_pp") && r.config().contains("training_tp_cp_ep_pp_vpp");
}

sized_step sized_step_of(const published_row& r) {
  if (!r.model.ok()) throw not_predicted("its model has no sizes");
  const json& c = r.config();
  const double mean = number_in(c, "avg_generation_len"), longest = number_in(c, "max_seq");
  const hp::extent_t responses = size_in(c, {"rollout_gbs"}).or_else(0), devices = r.run.devices;
  if (!(mean >= 1 && longest >= mean) || longest > largest_size || responses == 0)
    throw not_predicted("no lengths or no batch of responses");
  sized_step out;
  const int off = steps_off(r);
  const published_row as_training = training_row(r, mean, off == 0);
  const row_decoder d = decoder_of(r.model, as_training.run.sequence);
  std::vector<std::string> of_preset;
  const hp::known_hardware h = hardware_of(r.source.at("hardware"), r.device, of_preset);
  const std::vector<hp::extent_t> layout = degrees_in(c, "generation_tp_pp", 2);
  const hp::extent_t of_one = layout[0] * layout[1];
  if (of_one > hp::largest_plan_number || devices % of_one != 0)
    throw not_predicted("generators do not divide the devices");
  const generation one{d.model, h, {.tp = static_cast<int>(layout[0]), .pp = static_cast<int>(layout[1])}};
  const double generated = one.all(hp::ceil_divide(responses, devices / of_one), mean, longest);
  const double alone = std::min(one.all(1, mean, longest), generated);

  const prediction training = predict(as_training);
  if (!training.ok()) throw not_predicted(training.why_not);
  const double steps = std::ceil(static_cast<double>(responses) / static_cast<double>(as_training.run.batch.sequences));
  const double trained = steps * training.step_seconds * (1 + 2.0 / 3);
  const double n = static_cast<double>(devices);
  const double weights = 2 * static_cast<double>(hp::parameters_of(d.model).total()) / static_cast<double>(of_one);
  const bool has_levels = h.links.kind == hp::interconnect_kind::topology && h.links.topology.level_count > 0;
  const double link =
      has_levels ? static_cast<double>(h.links.topology.level[h.links.topology.level_count - 1].bandwidth) : 0.0;
  const double refit = link > 0 ? weights / link : 0.0;

  const hp::rl_phases phases{
      {alone, (generated - alone) * n}, {0, trained * static_cast<double>(as_training.run.devices)}, refit};
  out.synchronous = out.seconds = hp::synchronous_step(phases, n);
  out.fix = fmt::format("generation {:.3g} s, training and log-probabilities {:.3g} s, refit {:.2g} s", generated,
                        trained, refit);
  out.open.insert(out.open.end(), training.open.begin(), training.open.end());
  if (off == 0 || devices < 2) return out;
  const hp::rl_handover how{.chunks = 1, .staleness = static_cast<double>(off)};
  const hp::rl_split split = hp::best_split(phases, static_cast<int>(devices), how);
  out.seconds = hp::asynchronous_step(phases, split, how);
  out.open.push_back(
      fmt::format("trainer {} and generators {} of the devices, which take least", split.trainer, split.rollout));
  return out;
}

}  // namespace truth
