// SPDX-License-Identifier: Apache-2.0
#pragma once
// What --hbm-budget means: a share of the peak without a budget, bytes, or auto, the least that costs hardly any time.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/exec/cores.hpp>
#include <hyperparallel/lowering/offloaded_program.hpp>
#include <hyperparallel/world/model_run.hpp>

#include "../written_numbers.hpp"
#include "options.hpp"

namespace train_text {

namespace hp = hyperparallel;

/// "50%" of `peak`, or "48M", "48000000" bytes; 0 where the text is neither, or a share above 1000 %.
inline std::int64_t budget_bytes(std::string_view text, std::int64_t peak) {
  if (!text.ends_with('%')) return command_line::bytes_of(text);
  double percent = 0;
  const bool is_share = command_line::detail::read(text.substr(0, text.size() - 1), percent) && percent <= 1000;
  return is_share ? std::max(static_cast<std::int64_t>(static_cast<double>(peak) / 100 * percent), std::int64_t{0}) : 0;
}

/// What steps take without a budget, measured in two steps of training on made-up inputs, as a rank finds it whose
/// worker serves other ranks in between.
template <class T>
hp::memory_budget measured_budget(const hp::sharded_program& p, hp::model_run_options options,
                                  double gigabytes_per_second, std::int64_t& peak) {
  options.program.measured = true;
  hp::model_run<T> run(hp::sharded_program{p}, options);
  for (std::uint64_t step = 0; step < 2; ++step) run.train_step([&](int) { run.set_random_inputs(step); });
  peak = run.world().planned_bytes();
  hp::memory_budget budget;
  budget.tiers = {{static_cast<std::int64_t>(gigabytes_per_second * 1e9), 10'000'000}};
  budget.step_duration = run.world().step_durations();
  const int cores = hp::allowed_core_count(hp::allowed_cores());
  const int workers = options.program.execution.threads > 0 ? options.program.execution.threads : cores;
  const int turns = (run.world().ranks() + workers - 1) / workers;
  for (std::int64_t& d : budget.step_duration) d *= turns;
  return budget;
}

/// The least budget, in twentieths of the peak, whose plan takes at most 2 % longer than computing alone.
inline std::int64_t least_cheap_budget(const hp::sharded_program& p, hp::memory_budget budget, std::int64_t peak) {
  budget.planning.effort = 2'000'000;
  std::int64_t best = peak;
  for (int share = 19; share > 0; --share) {
    budget.bytes = peak / 20 * share;
    try {
      const hp::offload_certificate c = hp::planned_within(p, budget).planned.certificate;
      if (c.exposed * 50 > c.time) return best;
    } catch (const hp::program_error&) {
      return best;
    }
    best = budget.bytes;
  }
  return best;
}

/// The budget that the options ask for; of a pipeline that of each of its groups. Throws hp::program_error. Domain:
/// they ask for one.
template <class T>
hp::memory_budget budget_of(const train_options& o, const hp::sharded_program& p,
                            const hp::model_run_options& options) {
  std::int64_t peak = 0;
  hp::memory_budget budget = measured_budget<T>(p, options, o.tier_bandwidth, peak);
  if (o.hbm_budget == "auto") {
    budget.bytes = least_cheap_budget(p, budget, peak);
  } else {
    budget.bytes = budget_bytes(o.hbm_budget, peak);
  }
  std::printf("%.2f MiB a rank without a budget, %.2f MiB with it\n", static_cast<double>(peak) / 1048576,
              static_cast<double>(budget.bytes) / 1048576);
  return budget;
}

/// What the plan promises, on one line; of a pipeline the plan of the group whose takes longest.
template <class World>
void print_plan(const World& world) {
  const hp::offload_certificate& c = world.offloading();
  if (!c.feasible) return;
  std::printf(
      "plan: %.2f MiB in and %.2f out a step (at least %.2f and %.2f), %.2f of %.2f ms exposed, "
      "least budget %.2f MiB\n",
      static_cast<double>(c.bytes_in) / 1048576, static_cast<double>(c.bytes_out) / 1048576,
      static_cast<double>(c.bytes_in_bound) / 1048576, static_cast<double>(c.bytes_out_bound) / 1048576,
      static_cast<double>(c.exposed) * 1e-9, static_cast<double>(c.time) * 1e-9,
      static_cast<double>(c.least_budget) / 1048576);
}

}  // namespace train_text
