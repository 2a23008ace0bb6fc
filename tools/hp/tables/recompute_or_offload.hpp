// SPDX-License-Identifier: Apache-2.0
#pragma once
// A10: a training step that recomputes activations against one that offloads them, under the same budget.
//
// A step is embedding, L layers forward, head, L layers backward at twice the forward's time. A layer leaves its input,
// which stays, and activations, read again by its backward pass; the head holds as many bytes as a layer's activations.
// Before: the first n layers are recomputed, as users set it. After: the planner's choice. Both times are timelines'.
// What is assumed: the published baselines recompute all (LLaMA-8B) and 42 % (DeepSeek-V3) of the forward pass. Four
// numbers, four fitted parameters: a calibration.

#include <fmt/format.h>

#include "anchor.hpp"
#include "offload_parameters.hpp"
#include "offload_published.hpp"
#include "offload_trace.hpp"

namespace tables {

/// `room`: layers' activations, the head's bytes among them, that fit beside the layers' inputs.
struct training_step {
  int layers = 0, recomputed = 0, room = 0;
  std::int64_t forward = 0;  ///< of one layer
  std::int64_t input_bytes = 0, activation_bytes = 0;
};

inline hp::offload_program program_of(const training_step& step, const hp::offload_link& link, bool recompute) {
  offload_trace t((step.layers + 1) * step.input_bytes + step.room * step.activation_bytes, link);
  const int layers = step.layers, head = layers + 1;
  t.add_operator(0);
  for (int l = 0; l < layers; ++l) t.add_operator(step.forward);
  t.add_operator(0);
  for (int l = 0; l < layers; ++l) t.add_operator(2 * step.forward);
  t.add_storage(step.activation_bytes, {{.op = head, .writes = true}});
  t.add_storage(step.input_bytes, {{.op = layers, .writes = true}, {.op = head, .reads = true}});
  for (int l = 0; l < layers; ++l) {
    const int forward = 1 + l, backward = 2 * layers + 1 - l;
    hp::offload_storage& input = t.add_storage(
        step.input_bytes, {{.op = l, .writes = true}, {.op = forward, .reads = true}, {.op = backward, .reads = true}});
    input.control = hp::offload_control::keep;
    const int operand = t.program.operand.push(t.program.storage.size - 1);
    hp::offload_storage& activations =
        t.add_storage(step.activation_bytes, {{.op = forward, .writes = true}, {.op = backward, .reads = true}});
    activations.recompute = step.forward;
    activations.first_operand = operand;
    activations.operand_count = 1;
    if (recompute)
      activations.control = l < step.recomputed ? hp::offload_control::recompute : hp::offload_control::keep;
  }
  return t.program;
}

inline anchor_rows recompute_or_offload(const offload_parameters& p) {
  using namespace published;
  anchor_rows rows;
  const std::int64_t bytes = p.llama_tokens.value * p.activation_bytes();
  const std::int64_t input = 2 * p.llama_tokens.value * p.llama_hidden.value;
  const auto add = [&rows](const std::string& what, double theirs, std::int64_t ours) {
    rows.push_back({"A10", what, "s", theirs, seconds(ours), criterion::relative, 0.03, 3, standing::calibration});
  };
  const auto compare = [&](const char* name, const training_step& step, double before, double after) {
    add(fmt::format("{}, {:.0f} % of the forward recomputed", name, 100.0 * step.recomputed / step.layers), before,
        planned(program_of(step, p.link(), true), name).certificate.time);
    const hp::offload_program choice = program_of(step, p.link(), false);
    const hp::planned_offload plan = planned(choice, name);
    int offloaded = 0, recomputed = 0;
    for (const hp::gap_decision& d : plan.plan.gap) {
      offloaded += d.choice == hp::gap_choice::offload ? 1 : 0;
      recomputed += d.choice == hp::gap_choice::recompute ? 1 : 0;
    }
    const double alone = seconds(operator_time(choice));
    const auto beyond = [alone](double time) { return 100 * (time / alone - 1); };
    add(fmt::format("{}, planned: {} layers offloaded, {} recomputed; {:.1f} % beyond {:.2f} s (theirs {:.1f} %)", name,
                    offloaded, recomputed, beyond(seconds(plan.certificate.time)), alone, beyond(after)),
        after, plan.certificate.time);
  };
  const int layers = p.llama_layers.value, deepseek = p.deepseek_layers.value;
  compare("LLaMA-8B", {layers, layers, p.llama_room.value, p.llama_forward.value / layers, input, bytes}, llama_before,
          llama_after);
  compare("DeepSeek-V3",
          {deepseek, p.deepseek_recomputed.value, deepseek - p.deepseek_recomputed.value + 1,
           p.deepseek_forward.value / deepseek, input, bytes},
          deepseek_before, deepseek_after);
  return rows;
}

}  // namespace tables
