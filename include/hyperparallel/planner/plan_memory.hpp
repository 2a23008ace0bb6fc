// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory of a decoder's plan by part: each storage that is alive at the peak belongs to one part.
//
//   hp::memory_by_part m = hp::plan_memory(llama3, plan, prices);
//   m.total() == hp::estimate_plan(llama3, plan, prices).evaluation.memory
//
// Parameters, their gradients and states go to the part of their parameter; what moves make of an activation, to the part of
// the activation. Where there is a pipeline, parts are what one stage holds when its forward has ended, and `passing` is what
// the peak needs above that, as in estimate.hpp. Units: bytes. O(what partition and memory_account_of take).

#include <hyperparallel/lowering/memory_part.hpp>
#include <hyperparallel/planner/estimate.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// The part that the storages of a decoder's program belong to, by their class and the name of their tensor.
class part_sorter {
 public:
  constexpr part_sorter(const sharded_program& program, const storage_uses& used) : p(program), uses(used) {}

  constexpr memory_part operator()(int storage) const {
    const graph_tensor& t = p.graph.tensor[p.storage[storage].tensor];
    const bool of_parameter = t.kind == graph_tensor_kind::gradient || t.kind == graph_tensor_kind::state;
    const char* name = p.graph.name_of_tensor(of_parameter && t.source >= 0 ? t.source : p.storage[storage].tensor);
    switch (uses.class_of(storage)) {
      case memory_class::parameters:
        return part_of_parameter(name, memory_part::attention_parameters);
      case memory_class::gradients:
        return part_of_parameter(name, memory_part::attention_gradients);
      case memory_class::states:
        return part_of_parameter(name, memory_part::attention_states);
      case memory_class::activations:
        return t.kind == graph_tensor_kind::gradient ? memory_part::activation_gradients : part_of_activation(name);
      case memory_class::inputs:
        return memory_part::inputs;
      case memory_class::buffers:
        break;
    }
    return memory_part::buffers;
  }

 private:
  /// `first` is the part of attention's; those of feed-forward layers, of norms and biases, and outside layers follow it.
  static constexpr memory_part part_of_parameter(const char* name, memory_part first) {
    const auto behind = [&](int places) { return static_cast<memory_part>(static_cast<int>(first) + places); };
    if (name_matches("*norm.weight", name) || name_matches("*.bias", name)) return behind(2);
    if (name_matches("*.attention.*", name)) return first;
    return behind(name_matches("*.feed_forward.*", name) ? 1 : 3);
  }

  static constexpr memory_part part_of_activation(const char* name) {
    struct named_part {
      const char* pattern;
      memory_part part;
    };
    constexpr named_part parts[] = {{"*.attention_norm", memory_part::attention_input},
                                    {"*.feed_forward_norm", memory_part::feed_forward_input},
                                    {"*residual", memory_part::norm_inputs},
                                    {"embedding*", memory_part::norm_inputs},
                                    {"position", memory_part::norm_inputs},
                                    {"*.attention.query*", memory_part::queries_and_keys},
                                    {"*.attention.key*", memory_part::queries_and_keys},
                                    {"*.attention.value*", memory_part::values},
                                    {"*.attention.attend:1", memory_part::attention_scores},
                                    {"*.attention.attend", memory_part::projection_input},
                                    {"*.attention.output*", memory_part::attention_output},
                                    {"*.feed_forward.*", memory_part::feed_forward_inner}};
    for (const named_part& each : parts)
      if (name_matches(each.pattern, name)) return each.part;
    return memory_part::outer_activations;
  }

  const sharded_program& p;
  const storage_uses& uses;
};

}  // namespace detail

/// Of a stage of a program that is there already. Precondition: it is not refused.
constexpr memory_by_part plan_memory(const sharded_program& p, const pipeline_form& form, const program_moves& moves) {
  const storage_uses uses(p);
  const detail::part_sorter part_of(p, uses);
  const auto peak = detail::memory_account_of<memory_part_count>(
      p, moves, uses, [&](int storage) { return static_cast<int>(part_of(storage)); },
      static_cast<int>(memory_part::buffers));
  memory_by_part out;
  if (form.degree == 1) {
    for (int part = 0; part < memory_part_count; ++part) out.bytes[part] = peak.at_peak[part];
    return out;
  }
  out.of(memory_part::passing) = peak.peak;
  visit_kept_memory(p, pipeline_form(p.graph, 1),
                    [&](int, int, extent_t bytes) { out.of(memory_part::passing) -= bytes; });
  visit_kept_memory(p, form, [&](int storage, int, extent_t bytes) { out.of(part_of(storage)) += bytes; });
  return out;
}

/// Precondition: `estimate_plan` of these is ok.
constexpr memory_by_part plan_memory(const decoder& d, const decoder_plan& plan, plan_prices& prices) {
  const sharded_program p = planned_program(d, plan);
  return plan_memory(p, pipeline_form(p.graph, plan.pp), priced_program(p, prices).moves());
}

}}  // namespace hyperparallel::v0_2
