// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a graph, a strategy or a program cannot run, as one line with names and values.

#include <cstdio>
#include <string>

#include <hyperparallel/model/check_training.hpp>
#include <hyperparallel/model/named_strategies.hpp>
#include <hyperparallel/program/step_refusal.hpp>
#include <hyperparallel/runtime/program_error.hpp>

namespace hyperparallel {

namespace detail {

inline std::string quoted(const char* name) { return std::string("\"") + name + "\""; }

inline std::string shortest_text(double number) {
  char text[32] = {};
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

}  // namespace detail

/// What a status says of its graph.
inline std::string text_of_refusal(const graph& g, const graph_status& s) {
  const auto name = [&](int at) { return at >= 0 ? detail::quoted(g.text_at(at)) : std::string("?"); };
  const std::string extent = std::to_string(s.extent), other = std::to_string(s.other);
  switch (s.code) {
    case graph_code::dim_is_not_positive:
      return "dim " + name(s.tensor) + " has extent " + extent + ", expected at least 1";
    case graph_code::micro_batches_are_not_positive:
      return extent + " micro-batches, expected at least 1";
    case graph_code::graph_has_gradients_already:
      return "differentiate was called on a graph that has operators of backward or of an optimizer already, the "
             "first " +
             name(s.op);
    case graph_code::graph_has_no_gradients:
      return "no parameter has a gradient of the loss " + name(s.tensor) +
             ": call differentiate, then append_optimizer, on a loss that depends on parameters";
    case graph_code::graph_has_an_optimizer_already:
      return "append_optimizer was called twice, the first operator of the optimizer that is there is " + name(s.op);
    case graph_code::graph_has_no_optimizer:
      return "no operator updates a parameter: call append_optimizer after differentiate";
    case graph_code::micro_batches_changed:
      return "the step has " + extent + " micro-batches, its gradients are those of " + other +
             ": set graph::micro_batches before differentiate and append_optimizer";
    case graph_code::optimizer_number_is_out_of_range:
      return "the optimizer's " + std::string(g.text_at(s.op)) + " is " + detail::shortest_text(s.number) +
             ", expected " + g.text_at(s.tensor);
    case graph_code::loss_is_not_one_number:
      if (s.tensor < 0) return "the graph has no loss: model_builder::loss names the number to be minimised";
      [[fallthrough]];
    default:
      return std::string(name_of(s.code)) + (s.op >= 0 ? ", operator " + name(s.op) : std::string()) +
             (s.tensor >= 0 ? ", tensor " + name(s.tensor) : std::string()) +
             (s.extent != 0 || s.other != 0 ? ", " + extent + " and " + other : std::string());
  }
}

/// What the status of a program says, of its graph or of the strategy that it was made for, the strategy's name apart.
/// Domain: it is refused.
inline std::string reason_of_refusal(const sharded_program& p, const strategy_value& s) {
  const strategy_status& why = p.status;
  const step_refusal names = refusal_of(p, s);
  const auto named = [](const char* what, const auto& name) {
    return name.length > 0 ? std::string(", ") + what + " " + detail::quoted(name.text) : std::string();
  };
  const std::string extent = std::to_string(why.extent), pieces = std::to_string(why.pieces);
  switch (why.code) {
    case strategy_code::graph_is_refused:
      return "the graph is refused: " + text_of_refusal(p.graph, p.graph.status);
    case strategy_code::name_is_unknown: {
      std::string text = "no strategy is called " + detail::quoted(s.name.text) + ", the nearest is " +
                         detail::quoted(nearest_strategy(s.name.text)) + "; there are";
      for (int i = 0; i < named_strategy_count; ++i)
        text += std::string(i == 0 ? " " : ", ") + named_strategy_at(i).name;
      return text;
    }
    case strategy_code::ranks_do_not_factor:
      return extent + " ranks are not the product of its degrees, " + pieces;
    case strategy_code::mesh_is_not_valid:
      if (why.axis < 0) return "its mesh has no axes, expected at least one";
      return "its mesh has " + extent + " devices along axis " + detail::quoted(s.mesh.label[why.axis].text) +
             ", expected at least 1";
    case strategy_code::too_many_rules:
      return extent + " rules or pins, a strategy holds " + pieces;
    default:
      return name_of(why.code) + named("axis", names.axis) + named("operator", names.op) +
             named("tensor", names.tensor) + named("dim", names.dim) +
             (why.pieces > 0 ? ", " + extent + " by " + pieces : std::string());
  }
}

/// The same with the strategy's name.
inline std::string text_of_refusal(const sharded_program& p, const strategy_value& s) {
  const bool has_name =
      p.status.code != strategy_code::graph_is_refused && p.status.code != strategy_code::name_is_unknown;
  return (has_name ? "strategy " + detail::quoted(s.name.text) + " is refused: " : std::string()) +
         reason_of_refusal(p, s);
}

}  // namespace hyperparallel
