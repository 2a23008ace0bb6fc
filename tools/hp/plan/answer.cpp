// SPDX-License-Identifier: Apache-2.0
#include "answer.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>

#include <hyperparallel/io/text_file.hpp>
#include <hyperparallel/planner/simulation.hpp>

#include "measured.hpp"
#include "words.hpp"

namespace decoder_plans {

namespace {

constexpr int most_near_plans = 3;

}  // namespace

void insist_on_rules(const answer& a, const hp::decoder_plan& plan) {
  if (const hp::stack_code c = hp::check_stack(a.config.model, plan, a.stack); c != hp::stack_code::ok)
    throw hp_tool::bad_input(std::string("--stack ") + a.stack.name + " has no rule for " + name_of(c));
}

answer asked_of(const choice& c) {
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

hp::plan_estimate estimate_on_stack(const answer& a, const hp::decoder_plan& plan, hp::plan_prices& prices) {
  if (hp::check_stack(a.config.model, plan, a.stack) == hp::stack_code::ok)
    return hp::estimate_plan(a.config.model, plan, prices, a.stack);
  hp::plan_estimate none;
  none.evaluation.code = hp::cost_code::overflow;
  return none;
}

void unroll(answer& a, const hp::plan_prices& prices) {
  if (!a.stack.walked) a.unrolled = hp::unroll_pipeline(a.config.model, a.plan, prices, a.most_simulated());
}

answer answer_of(const choice& c) {
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
