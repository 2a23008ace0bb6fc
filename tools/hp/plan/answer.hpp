// SPDX-License-Identifier: Apache-2.0
#pragma once
// What hp plan finds: of a plan that cannot be, the nearest that can; of one that does not fit, the smallest changes after
// which it does. Law: on a stack that is walked, memory and computing are what it takes, and moves that nothing hides those of this
// library's plan; each plan that is named is estimated.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/io/launch_file.hpp>
#include <hyperparallel/io/model_config.hpp>
#include <hyperparallel/io/text_file.hpp>
#include <hyperparallel/planner/memory_comparison.hpp>
#include <hyperparallel/planner/sheet_bound.hpp>
#include <hyperparallel/planner/simulation.hpp>
#include <hyperparallel/planner/stack_time.hpp>
#include <hyperparallel/planner/unrolled_pipeline.hpp>
#include <hyperparallel/report/format_hardware.hpp>

#include "choice.hpp"
#include "measured.hpp"
#include "words.hpp"

namespace decoder_plans {

struct priced_plan {
  hp::plan_estimate estimate{};
  int changes = 0;  ///< of options and degrees; 0: not told
};

/// A plan in the words of a framework.
struct written_plan {
  const hp::launch_framework* framework;
  hp::launch_text text;
};

struct answer {
  hp::model_config config;
  hp::known_hardware hardware;
  hp::extent_t devices;
  hp::memory_reserve reserve;
  hp::stack_rules stack;
  hp::decoder_plan plan;
  usable_memory memory{};
  hp::decoder_plan_status status{};
  hp::plan_estimate estimate{};
  std::optional<hp::memory_comparison>
      comparison{};                              ///< where a convention is asked for, of the plan that is estimated
  hp::unrolled_pipeline unrolled{};              ///< of the plan that is estimated, as one plan of all its stages
  std::vector<priced_plan> others{};             ///< the fastest, or the nearest first
  std::optional<calibration_by_run> measured{};  ///< by which times and memory are calibrated
  std::optional<hp::launch_plan> launch{};       ///< of --from
  std::optional<hp::launch_contradiction> contradiction{};  ///< of --from; the plan is what could be read
  std::optional<written_plan> words{};                      ///< of --to, of the plan that is estimated

  hp::fit_verdict verdict(const hp::plan_estimate& e) const {
    return hp::verdict_of(e, reserve, hardware.device.tier[0].bytes);
  }
  /// Whether the plan can be and fits.
  bool is_good() const { return status.ok() && hp::is_answer(verdict(estimate)); }
  hp::fit_rank rank(const hp::plan_estimate& e) const { return {verdict(e), e.time(), e.counted_memory()}; }
  hp::extent_t needed(const hp::plan_estimate& e) const { return hp::needed_of(e, reserve); }
  /// What the allocator has of a device, or is counted with, above what is in use at the peak.
  hp::extent_t allocator_bytes(const hp::plan_estimate& e) const {
    return reserve.without_measured().needed(e.memory()) - e.peak() - reserve.library_bytes;
  }
  /// What a measured run holds beside all that; below 0 where it is less.
  hp::extent_t beside_bytes(const hp::plan_estimate& e) const {
    return needed(e) - reserve.without_measured().needed(e.memory());
  }
  /// Of the hardware, with computing as a measured run has it.
  hp::plan_prices prices() const {
    return hp::plan_prices(
        hp::calibrated_device(hardware.device, stack, measured ? measured->found : hp::calibration{}), hardware.links);
  }
  /// Of a plan that the stack has rules for; 0 where none is walked.
  hp::stack_time on_stack(const hp::plan_estimate& e) const {
    return stack.walked ? hp::stack_time_of(config.model, e.plan, stack, hardware.device) : hp::stack_time{};
  }
  /// What a program may take of a device, for the clock of a plan.
  hp::extent_t most_simulated() const {
    return stack.walked ? hp::largest_simulated_memory : reserve.most_peak(hardware.device.tier[0].bytes);
  }
};

/// What no software can beat, by data sheets: the figures of no estimate enter. Domain: the plan is one that can be.
inline hp::extent_t least_by_data_sheet(const answer& a, const hp::plan_estimate& e) {
  return hp::sheet_bound(a.config.model, e.plan, a.hardware.device, a.hardware.links).picoseconds();
}

/// Of a plan that estimate_plan does not count.
inline constexpr const char* uncounted_text =
    "the plan is not counted: a step takes 26 days or more, or a micro-batch leaves 64 bits: name a smaller --batch or "
    "--sequence";

/// What kinds hold together, and what passes at the peak, where a pipeline's fullest stage takes less by address than kinds of the
/// account: activations of the stage are fewer then. Law: with these the kinds add up to `memory()`.
inline hp::extent_t held_of(const hp::plan_estimate& e, int kind) {
  if (e.is_walked()) return e.on_stack.held[kind];
  const bool has_less = kind == static_cast<int>(hp::memory_class::activations) && e.beside() < 0;
  return e.held[kind] + (has_less ? e.beside() : hp::extent_t{0});
}
inline hp::extent_t passing_of(const hp::plan_estimate& e) {
  return e.is_walked() ? hp::extent_t{0} : std::max(e.beside(), hp::extent_t{0});
}

inline constexpr int most_near_plans = 3;
inline constexpr std::size_t most_fitting_plans = 3;

/// Throws bad_input where the stack has no rule for the plan or the model.
inline void insist_on_rules(const answer& a, const hp::decoder_plan& plan) {
  if (const hp::stack_code c = hp::check_stack(a.config.model, plan, a.stack); c != hp::stack_code::ok)
    throw hp_tool::bad_input(std::string("--stack ") + a.stack.name + " has no rule for " + name_of(c));
}

/// Gives the plan of a launch line, and its stack where --stack does not say one; that of Megatron-LM where the line's has no rule
/// for the plan. Throws bad_input.
inline void launch(answer& a, const choice& c) {
  try {
    a.launch = hp::read_launch_file(c.from, a.config.model, c.devices, c.sequence_is_said ? c.sequence : 0);
  } catch (const hp::launch_contradiction& e) {
    a.contradiction = e;
    a.launch = e.read;
  } catch (const hp::io_error& e) {
    throw hp_tool::bad_input(e.what());
  }
  a.plan = a.launch->plan;
  if (a.launch->vocabulary > 0) a.config.model.vocabulary = a.launch->vocabulary;
  if (c.sequence_is_said) a.plan.sequence = c.sequence;
  if (c.stack_is_said) return;
  a.stack = *hp::find_stack(a.launch->stack);
  const hp::stack_code known = hp::check_stack(a.config.model, a.plan, a.stack);
  if (known == hp::stack_code::ok) return;
  a.launch->notes.push_back(std::string("--stack ") + a.stack.name + " has no rule for " + name_of(known) +
                            ": counted as --stack megatron");
  a.stack = *hp::find_stack("megatron");
}

/// The plan in the words that --to asks for.
inline std::optional<written_plan> words_of(const hp::decoder_plan& plan, const hp::decoder& model, const choice& c) {
  if (c.to.empty()) return {};
  const hp::launch_framework* const f = hp::find_framework(c.to);
  return written_plan{f, f->write(plan, model)};
}

/// The config and hardware that are named. Throws bad_input.
inline answer asked_of(const choice& c) {
  answer a{.config = {},
           .hardware = hardware_called(c.hardware),
           .devices = c.devices,
           .reserve = c.reserve,
           .stack = stack_of(c),
           .plan = plan_of(c)};
  try {
    a.config = hp::read_model_config(c.config);
  } catch (const hp::io_error& e) {
    throw hp_tool::bad_input(e.what());
  }
  if (!c.from.empty()) launch(a, c);
  if (a.stack.walked && !c.convention.empty())
    throw hp_tool::bad_input(
        std::string("--convention: is held against the account of --stack library, not of --stack ") + a.stack.name);
  a.memory = take_memory(a.hardware, c.memory);
  a.hardware.links = hp::dealt_evenly(a.hardware.links, c.devices);
  const hp::hardware_status s = hp::check_hardware(a.hardware.device, a.hardware.links, c.devices);
  if (!s.ok()) throw hp_tool::bad_input("--hardware " + c.hardware + ": " + to_text(s));
  if (hp::matrix_peak(a.hardware.device, a.plan.formats.product) < 1)
    throw hp_tool::bad_input("--precision " + c.precision + ": the device of " + c.hardware + " states no rate of " +
                             to_text(a.plan.formats.product));
  if (a.plan.host_states > 0 && tier_behind(a.hardware.device, hp::memory_kind::dram) < 0)
    throw hp_tool::bad_input("host_states: the device of " + c.hardware + " states no DRAM behind its memory");
  a.status = hp::check_plan(a.config.model, a.plan, c.devices);
  if (a.status.code == hp::decoder_plan_code::number_is_out_of_range) throw hp_tool::bad_input(cause_text(a.status));
  if (!c.measured.empty()) {
    a.measured = calibration_of(c, a.config.model, a.hardware, a.reserve, a.stack);
    a.reserve.measured_beside = a.measured->found.beside;
    a.stack = hp::calibrated_stack(a.stack, a.measured->found);
  }
  return a;
}

/// Not ok where the stack has no rule for the plan.
inline hp::plan_estimate estimate_on_stack(const answer& a, const hp::decoder_plan& plan, hp::plan_prices& prices) {
  if (hp::check_stack(a.config.model, plan, a.stack) == hp::stack_code::ok)
    return hp::estimate_plan(a.config.model, plan, prices, a.stack);
  hp::plan_estimate none;
  none.evaluation.code = hp::cost_code::overflow;
  return none;
}

/// A pipeline as one plan of all its stages. A stack that is walked has memory and times of its own.
inline void unroll(answer& a, const hp::plan_prices& prices) {
  if (!a.stack.walked) a.unrolled = hp::unroll_pipeline(a.config.model, a.plan, prices, a.most_simulated());
}

inline answer answer_of(const choice& c) {
  answer a = asked_of(c);
  if (a.contradiction) throw hp_tool::bad_input(a.contradiction->what());
  hp::plan_prices prices = a.prices();
  const hp::extent_t most = a.most_simulated();
  if (!a.status.ok()) {
    for (const hp::decoder_plan& p : hp::nearest_plans(a.config.model, a.plan, c.devices, most_near_plans))
      if (hp::plan_estimate e = estimate_on_stack(a, p, prices); e.ok()) {
        e.simulated = hp::simulate_plan(a.config.model, p, prices, most);
        a.others.push_back({e});
      }
    return a;
  }
  insist_on_rules(a, a.plan);
  a.estimate = hp::estimate_plan(a.config.model, a.plan, prices, a.stack);
  if (a.estimate.evaluation.code == hp::cost_code::overflow) throw hp_tool::bad_input(uncounted_text);
  if (!a.estimate.ok()) throw std::runtime_error("the plan has no price");
  if (!a.on_stack(a.estimate).ok()) throw hp_tool::bad_input(uncounted_text);
  if (!c.convention.empty()) a.comparison = hp::compare_with_megatron_2022(a.config.model, a.plan, prices);
  a.estimate.simulated = hp::simulate_plan(a.config.model, a.plan, prices, most);
  unroll(a, prices);
  a.words = words_of(a.plan, a.config.model, c);
  if (a.is_good()) return a;
  const auto is_better = [&](const priced_plan& x, const priced_plan& y) {
    return hp::is_better(a.rank(x.estimate), a.rank(y.estimate));
  };
  const auto note = [&](const hp::plan_estimate& e, int changes) {
    const priced_plan fresh{e, changes};
    a.others.insert(std::upper_bound(a.others.begin(), a.others.end(), fresh, is_better), fresh);
  };
  hp::visit_plans_that_fit(a.config.model, a.plan, prices, a.reserve, note, a.stack);
  if (a.others.empty())
    hp::visit_plans_that_fit(a.config.model, a.plan, prices, a.reserve.without_waste(), note, a.stack);
  if (a.others.size() > most_fitting_plans) a.others.resize(most_fitting_plans);
  return a;
}

}  // namespace decoder_plans
