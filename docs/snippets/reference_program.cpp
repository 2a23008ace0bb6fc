// SPDX-License-Identifier: Apache-2.0
// docs/reference/program.md
#undef NDEBUG
#include <cassert>

#include <hyperparallel/program.hpp>

namespace hp = hyperparallel;

int main() {
  constexpr hp::moe_layer full{.hidden = 7168, .intermediate = 2048, .experts = 64, .top_k = 8, .tokens = 8 * 4096};
  hp::moe_options choices;
  choices.weight_buffers = 2;  // weights in DRAM, fetched through two buffers of each kind

  const hp::moe_plan_result made = hp::make_moe_plan(full, /*devices=*/8, /*ranks=*/1, hp::matrix384::device,
                                                     hp::matrix384::expert_all_to_all, choices);
  assert(made.layer.code == hp::moe_code::ok && made.window.code == hp::window_code::ok);

  hp::planned_flow flow(hp::moe_builder{made.plan}, hp::moe_machine(choices, 1),
                        {choices.policy, choices.synchronisation});
  assert(flow.verify().code == hp::verify_code::ok);
  const hp::makespan_certificate certificate{flow.simulate().result.makespan, flow.bound().value};
  assert(certificate.ratio() <= 10500);  // at most 1.05 times the bound
}
