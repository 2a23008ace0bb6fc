// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans that writers of launch lines are held to: all legal ones of a dense and of a sparse decoder.

#include <initializer_list>
#include <string>

#include <hyperparallel/planner/legal_plans.hpp>
#include <hyperparallel/planner/plan_check.hpp>

#include "launch/launch_plan.hpp"

#include <layers/decoder_shapes.hpp>

namespace launch_test {

namespace hp = hyperparallel;
namespace launch = hp_tool::launch;

inline std::string text_of(const launch::launch_text& w) {
  std::string text;
  for (const std::string& each : w.lines) text += each + "\n";
  return text;
}

/// Calls visit(decoder, devices, plan) for each legal plan with a batch of `batch` sequences a device.
template <class Visit>
void visit_plans(std::initializer_list<int> sizes, int batch, const Visit& visit) {
  for (const hp::decoder& d : {hp::test::llama3_8b, hp::test::llama3_8b_with_experts(16, 4096)})
    for (const int devices : sizes) {
      hp::plan_question q;
      q.devices = devices;
      q.batch = batch * devices;
      q.sequence = 4096;
      hp::visit_legal_plans(d, q, [&](const hp::decoder_plan& p) { visit(d, devices, p); });
    }
}

/// Calls hold(plan) for the plan, and for it with experts along the other axes where it may have them.
template <class Hold>
void hold_folded(const hp::decoder& d, int devices, hp::decoder_plan p, const Hold& hold) {
  hold(p);
  for (const int along : {1, 2, 3}) {
    p.experts_along_tp = along % 2 == 1 && p.tp > 1;
    p.experts_along_cp = along > 1 && p.cp > 1;
    if ((p.experts_along_tp || p.experts_along_cp) && hp::check_plan(d, p, devices).ok()) hold(p);
  }
}

}  // namespace launch_test
