// SPDX-License-Identifier: Apache-2.0
// docs/how-to/read-a-trace.md
#undef NDEBUG
#include <cassert>
#include <string>

#include <hyperparallel/lowering/moe_program.hpp>
#include <hyperparallel/lowering/planned_flow.hpp>
#include <hyperparallel/report/timeline.hpp>
#include <hyperparallel/report/trace.hpp>

namespace hp = hyperparallel;

int main() {
  constexpr hp::moe_layer full{.hidden = 7168, .intermediate = 2048, .experts = 64, .top_k = 8, .tokens = 8 * 4096};
  const hp::moe_options choices;
  const hp::moe_plan plan =
      hp::make_moe_plan(full, 8, 1, hp::matrix384::device, hp::matrix384::expert_all_to_all, choices).plan;
  hp::planned_flow planned(hp::moe_builder{plan}, hp::moe_machine(choices, 1),
                           {choices.policy, choices.synchronisation});
  const hp::simulated_figures figures = planned.simulate();

  hp::report::string_sink text;  // or an hp::atomic_file
  const hp::program_names names{hp::moe_operation_names, hp::moe_operation_count, nullptr, 0};
  hp::report::write_trace(text, planned.flow(), planned.schedule(), planned.timeline(), names, {.process = "die"});
  assert(text.text.find(R"("name":"GMM1 0")") != std::string::npos);

  const std::string picture = hp::report::timeline_text(planned.flow(), planned.schedule(), planned.timeline(),
                                                        figures.result.makespan, {.columns = 60, .ascii = true});
  assert(picture.find("AIC  x24") == 0);
}
