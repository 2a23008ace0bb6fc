// SPDX-License-Identifier: Apache-2.0
#pragma once
// What hp serve finds: the estimate of the plan that is fixed, or of all degrees the best answer (serving_choice.hpp);
// and the longest contexts by where the cache lies. Law: what is told of a place is the estimate with its layers
// offloaded.

#include <algorithm>
#include <string>
#include <vector>

#include <hyperparallel/io/model_config.hpp>
#include <hyperparallel/planner/serving_choice.hpp>
#include <hyperparallel/planner/stack_time_serving.hpp>
#include <hyperparallel/report/format_hardware.hpp>

#include "../plan/words.hpp"
#include "choice.hpp"

namespace serving {

/// Where the cache may lie.
struct place {
  std::string name;  ///< in tables
  const char* key;   ///< in JSON
  hp::context_limit longest{};
  hp::serving_estimate estimate{};  ///< at the context that is asked for
};

struct answer {
  hp::model_config config;
  hp::known_hardware hardware;
  hp::device_value device;  ///< with its part of a shared DRAM
  int devices;
  hp::memory_reserve reserve;
  hp::serving_plan plan{};
  decoder_plans::usable_memory memory{};
  bool weights_are_fixed = false;  ///< by --weights
  int legal_plans = 0;             ///< that were estimated; 0: the plan is fixed
  hp::decoder_plan_status status{};
  hp::serving_estimate estimate{};
  std::vector<place> places{};

  /// Bits of a parameter, scales included, over the whole model.
  double mean_weight_bits() const {
    hp::serving_plan alone;
    alone.weight_bits = plan.weight_bits;
    alone.weights = plan.weights;
    const hp::serving_amounts all = hp::serving_amounts_of(config.model, alone, 0);
    return static_cast<double>(all.weight_bits()) / static_cast<double>(all.parameters());
  }
  bool has_dram() const { return tier_behind(device, hp::memory_kind::dram) >= 0; }
  hp::extent_t dram_bytes() const { return bytes_behind(device, hp::memory_kind::dram); }
  /// The memory that kernels work in, and the one behind it, by their kinds: HBM and DRAM but for a host, whose first memory
  /// is DRAM.
  std::string first_memory() const {
    constexpr const char* names[] = {"HBM", "DRAM", "storage"};
    return names[static_cast<int>(device.tier[0].kind)];
  }
  std::string dram() const { return device.tier[0].kind == hp::memory_kind::dram ? "second DRAM" : "DRAM"; }
  /// What binds a context, or a phase, in these words.
  std::string name_of(hp::context_bound b) const {
    return b == hp::context_bound::hbm_size    ? first_memory()
           : b == hp::context_bound::dram_size ? dram()
           : b == hp::context_bound::dram_link ? "link to " + dram()
           : b == hp::context_bound::nothing   ? config.positions.is_known()
                                                     ? "64 bits of operations"
                                                     : "nothing: the file has no max_position_embeddings"
                                               : hp::name_of(b);
  }
  std::string name_of(hp::serving_roof r) const {
    return r == hp::serving_roof::hbm_bytes    ? first_memory()
           : r == hp::serving_roof::dram_bytes ? dram()
                                               : hp::name_of(r);
  }
  /// Whether the plan is what the kernels of an eager program do: 16 bits all over, layers on one stage, nothing in DRAM.
  bool has_kernels() const {
    return plan.pp == 1 && plan.ep == 1 && plan.weights.empty() && plan.weight_bits == 16 && plan.cache_bits == 16 &&
           plan.offloaded_layers == 0 && device.tier[0].kind == hp::memory_kind::hbm &&
           hp::has_serving_kernels(config.model, plan.tp);
  }
  /// Of a token each, and of the prompt of one sequence. Domain: has_kernels().
  hp::stack_serving_time decode_kernels() const {
    return hp::stack_decode_time(config.model, plan.tp, plan.sequences(), plan.context, device);
  }
  hp::stack_serving_time prefill_kernels() const {
    return hp::stack_prefill_time(config.model, plan.tp, 1, plan.context, device);
  }
  hp::fit_verdict verdict() const { return hp::verdict_of(estimate, reserve, device); }
  bool is_good() const { return status.ok() && hp::is_answer(verdict()); }
};

/// Bits of weights and cache: as asked for, else as the file has them. Throws bad_input where that is not known.
inline void choose_bits(answer& a, const choice& c) {
  const hp::stored_weights& stored = a.config.weights;
  if (c.weight_bits > 0)
    a.plan.weight_bits = c.weight_bits;
  else if (!stored.unknown.empty())
    throw hp_tool::bad_input(c.config + ": " + stored.unknown + "; name the bits of a parameter by --weights");
  else
    a.plan.weights = stored.storage;
  a.weights_are_fixed = c.weight_bits > 0;
  if (c.cache_bits > 0 || stored.cache_bits > 0)
    a.plan.cache_bits = c.cache_bits > 0 ? c.cache_bits : stored.cache_bits;
}

/// The config and hardware that are named. Throws bad_input.
inline answer asked_of(const choice& c) {
  answer a{.config = {},
           .hardware = decoder_plans::hardware_called(c.hardware),
           .device = {},
           .devices = c.devices,
           .reserve = c.reserve,
           .plan = c.plan};
  try {
    a.config = hp::read_model_config(c.config);
  } catch (const hp::io_error& e) {
    throw hp_tool::bad_input(e.what());
  }
  a.plan.positions = a.config.positions.positions;
  choose_bits(a, c);
  a.memory = decoder_plans::take_memory(a.hardware, c.memory);
  a.device = hp::device_in_pool(a.hardware);
  a.hardware.links = hp::dealt_evenly(a.hardware.links, c.devices);
  const hp::hardware_status s = hp::check_hardware(a.device, a.hardware.links, c.devices);
  if (!s.ok()) throw hp_tool::bad_input("--hardware " + c.hardware + ": " + to_text(s));
  if (a.plan.offloaded_layers > 0 && !a.has_dram())
    throw hp_tool::bad_input("--offload: " + c.hardware + " has no DRAM behind " + a.first_memory());
  return a;
}

inline void choose_degrees(answer& a) {
  const hp::serving_choice c =
      hp::choose_serving(a.config.model, a.plan, a.devices, a.device, a.hardware.links, a.reserve);
  a.legal_plans = c.legal;
  if (c.legal > 0) a.plan = c.best.plan;
}

inline answer answer_of(const choice& c) {
  answer a = asked_of(c);
  if (!c.fixes.empty()) {
    const hp::decoder_plan fixed = decoder_plans::fix_reader(c.fixes, c.devices, known_fixes).read();
    a.plan.tp = fixed.tp;
    a.plan.pp = fixed.pp;
    a.plan.dp = fixed.dp;
    a.plan.ep = fixed.ep;
  } else {
    a.plan.dp = a.devices;
    choose_degrees(a);
  }
  a.status = hp::check_serving(a.config.model, a.plan, c.devices);
  if (a.status.code == hp::decoder_plan_code::number_is_out_of_range)
    throw hp_tool::bad_input(decoder_plans::cause_text(a.status));
  if (!a.status.ok()) return a;
  const hp::extent_t stage_layers = hp::ceil_divide(a.config.model.layers, a.plan.pp);
  a.plan.offloaded_layers = std::min(a.plan.offloaded_layers, stage_layers);
  const auto estimated = [&](hp::extent_t layers) {
    hp::serving_plan p = a.plan;
    p.offloaded_layers = layers;
    return hp::estimate_serving(a.config.model, p, a.device, a.hardware.links);
  };
  a.estimate = estimated(a.plan.offloaded_layers);
  if (!a.estimate.ok())
    throw hp_tool::bad_input("operations or bytes of a step leave 64 bits: name a smaller --batch or --context");
  const auto add = [&](const std::string& name, const char* key, const hp::context_limit& longest) {
    a.places.push_back({name, key, longest, estimated(longest.offloaded_layers)});
  };
  const auto longest_with = [&](hp::extent_t layers) {
    hp::serving_plan p = a.plan;
    p.offloaded_layers = layers;
    return hp::longest_context(a.config.model, p, a.device, a.reserve);
  };
  add(a.first_memory(), "hbm", longest_with(0));
  if (a.plan.offloaded_layers > 0)
    add(a.dram() + ", as --offload says", "as_asked", longest_with(a.plan.offloaded_layers));
  if (!a.has_dram()) return a;
  const auto hidden = [&](hp::serving_step step) {
    return hp::longest_hidden_context(a.config.model, a.plan, a.device, a.hardware.links, a.reserve, step);
  };
  add(a.dram() + ", as far as prefill hides it", "hidden_by_prefill", hidden(hp::serving_step::prefill));
  add(a.dram() + ", as far as decode hides it", "hidden_by_decode", hidden(hp::serving_step::decode));
  add(a.dram() + ", all of it", "dram", longest_with(stage_layers));
  return a;
}

}  // namespace serving
