// SPDX-License-Identifier: Apache-2.0
#pragma once
// What hp plan finds: of a plan that cannot be, the nearest that can; of one that does not fit, the smallest changes after
// which it does. Law: on a stack that is walked, memory and computing are what it takes, and moves that nothing hides those of this
// library's plan; each plan that is named is estimated.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/io/model_config.hpp>
#include <hyperparallel/io/text_file.hpp>
#include <hyperparallel/planner/memory_comparison.hpp>
#include <hyperparallel/planner/sheet_bound.hpp>
#include <hyperparallel/planner/simulation.hpp>
#include <hyperparallel/planner/stack_time.hpp>
#include <hyperparallel/planner/unrolled_pipeline.hpp>
#include <hyperparallel/report/format_hardware.hpp>

#include "choice.hpp"
#include "launch/launch_plan.hpp"
#include "measured.hpp"
#include "words.hpp"

namespace decoder_plans {

struct priced_plan {
  hp::plan_estimate estimate{};
  int changes = 0;  ///< of options and degrees; 0: not told
};

/// A plan in the words of a framework.
struct written_plan {
  const char* framework;
  const char* line_end;  ///< between its lines
  hp_tool::launch::launch_text text;
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
  std::optional<hp_tool::launch::launch_plan> launch{};                  ///< of --from
  std::optional<hp_tool::launch::launch_contradiction> contradiction{};  ///< of --from; the plan is what could be read
  std::optional<written_plan> words{};                                   ///< of --to, of the plan that is estimated

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

inline constexpr std::size_t most_fitting_plans = 3;

/// Throws bad_input where the stack has no rule for the plan or the model.
void insist_on_rules(const answer& a, const hp::decoder_plan& plan);

/// Gives the plan of a launch line, and its stack where --stack does not say one; that of Megatron-LM where the line's has no rule
/// for the plan. Throws bad_input.
void launch(answer& a, const choice& c);

/// Frameworks that plans can be written for.
std::vector<std::string> framework_names();

/// The plan in the words that --to asks for.
std::optional<written_plan> words_of(const hp::decoder_plan& plan, const hp::decoder& model, const choice& c);

/// What makes the launch line one of plan `to`, in the words of the line's framework; all of them where numbers of the line contradict
/// each other, nothing where no one writes these words.
hp_tool::launch::launch_change words_of_change(const answer& a, const hp::decoder_plan& to);

/// The config and hardware that are named. Throws bad_input.
answer asked_of(const choice& c);

/// Not ok where the stack has no rule for the plan.
hp::plan_estimate estimate_on_stack(const answer& a, const hp::decoder_plan& plan, hp::plan_prices& prices);

/// A pipeline as one plan of all its stages. A stack that is walked has memory and times of its own.
void unroll(answer& a, const hp::plan_prices& prices);

/// Of the plan that --fix or --from names.
answer answer_of(const choice& c);

}  // namespace decoder_plans
