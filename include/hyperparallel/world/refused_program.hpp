// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a graph, a strategy or a program cannot run, as one line with names and values.

#include <cstdio>
#include <string>

#include <hyperparallel/graph/check_training.hpp>
#include <hyperparallel/step/refusal.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/support/refusal_words.hpp>
#include <hyperparallel/world/program_error.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

inline std::string in_quotes(const char* name) { return std::string("\"") + name + "\""; }

inline std::string shortest_text(double number) {
  char text[32] = {};
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

/// That the graph has no tensor of this name, with the nearest name that it has.
inline std::string text_of_unknown_tensor(const graph& g, const std::string& name) {
  const int nearest = nearest_name_of(g.tensor.size, [&](int t) { return g.name_of_tensor(t); }, name.c_str());
  return "the graph has no tensor " + detail::in_quotes(name.c_str()) +
         (nearest < 0 ? std::string() : ", the nearest is " + detail::in_quotes(g.name_of_tensor(nearest)));
}

}  // namespace detail

/// What a status says of its graph.
inline std::string text_of_refusal(const graph& g, const graph_status& s) {
  const auto name = [&](int at) { return at >= 0 ? detail::in_quotes(g.text_at(at)) : std::string("?"); };
  const std::string extent = std::to_string(s.extent), other = std::to_string(s.other);
  const std::string key = std::string("graph_code::") + name_of(s.code);
  const bool a_number = s.code == graph_code::optimizer_number_is_out_of_range;
  if (detail::find_refusal(key.c_str()) == nullptr)
    return std::string(name_of(s.code)) + (s.op >= 0 ? ", operator " + name(s.op) : std::string()) +
           (s.tensor >= 0 ? ", tensor " + name(s.tensor) : std::string()) +
           (s.extent != 0 || s.other != 0 ? ", " + extent + " and " + other : std::string());
  const std::string number = detail::shortest_text(s.number);
  const std::string op = a_number ? std::string(g.text_at(s.op)) : name(s.op);
  const std::string tensor = a_number        ? std::string(g.text_at(s.tensor))
                             : s.tensor >= 0 ? name(s.tensor)
                                             : std::string();
  const detail::slot_text slots[] = {{"named_operator", op.c_str()},
                                     {"named_tensor", tensor.c_str()},
                                     {"value 4", extent.c_str()},
                                     {"value 5", other.c_str()},
                                     {"number", number.c_str()}};
  return detail::sentence_of(key.c_str(), slots).text;
}

namespace detail {

/// What the status of a program says, of its graph or of the strategy that it was made for, the strategy's name apart.
/// Domain: it is refused.
inline std::string reason_of_refusal(const sharded_program& p, const strategy_value& s) {
  const strategy_status& why = p.status;
  const step_refusal names = refusal_of(p, s);
  const auto named = [](const char* what, const auto& name) {
    return name.length > 0 ? std::string(", ") + what + " " + detail::in_quotes(name.text) : std::string();
  };
  const std::string extent = std::to_string(why.extent), pieces = std::to_string(why.pieces);
  switch (why.code) {
    case strategy_code::graph_is_refused:
      return "the graph is refused: " + text_of_refusal(p.graph, p.graph.status);
    case strategy_code::name_is_unknown: {
      std::string there;
      for (int i = 0; i < named_strategy_count; ++i)
        there += std::string(i == 0 ? "" : ", ") + named_strategy_at(i).name;
      const slot_text slots[] = {{"strategy_named", s.name.text},
                                 {"nearest_name", nearest_strategy(s.name.text)},
                                 {"strategies_there_are", there.c_str()}};
      return sentence_of("no_strategy_has_this_name", slots).text;
    }
    case strategy_code::ranks_do_not_factor:
    case strategy_code::too_many_rules: {
      const slot_text slots[] = {{"value 2", extent.c_str()}, {"value 3", pieces.c_str()}};
      return sentence_of((std::string("strategy_code::") + name_of(why.code)).c_str(), slots).text;
    }
    case strategy_code::mesh_is_not_valid:
      if (why.axis < 0) return "its mesh has no axes, expected at least one";
      return "its mesh has " + extent + " devices along axis " + detail::in_quotes(s.mesh.label[why.axis].text) +
             ", expected at least 1";
    case strategy_code::axis_is_not_in_the_mesh: {
      std::string there;
      for (int a = 0; a < s.mesh.shape.axis_count; ++a)
        there += (a == 0 ? "" : ", ") + std::string(s.mesh.label[a].text);
      const slot_text slots[] = {
          {"axes_named", names.axis.text}, {"nearest_name", names.nearest.text}, {"axes_there_are", there.c_str()}};
      return sentence_of("strategy_names_an_axis_that_the_mesh_lacks", slots).text;
    }
    case strategy_code::rule_matches_nothing:
      if (names.pattern.length > 0) {
        const std::string count = std::to_string(names.extent);
        const slot_text slots[] = {{"pattern_named", names.pattern.text},
                                   {"nearest_name", names.nearest.text},
                                   {"operators_there_are", count.c_str()},
                                   {"strategies_that_match", names.strategies.joined.text}};
        return sentence_of("pattern_matches_no_operator", slots).text;
      } else {
        const slot_text slots[] = {{"named_dim", names.dim.text},
                                   {"axes_named", names.axis.text},
                                   {"dims_there_are", names.dims.joined.text},
                                   {"strategies_that_match", names.strategies.joined.text}};
        return sentence_of("rule_matches_no_operator", slots).text;
      }
    default:
      return name_of(why.code) + named("axis", names.axis) + named("operator", names.op) +
             named("tensor", names.tensor) + named("dim", names.dim) +
             (why.code == strategy_code::pattern_matches_nothing ? named("the nearest is", names.nearest) : "") +
             (why.pieces > 0 ? ", " + extent + " by " + pieces : std::string());
  }
}

}  // namespace detail

/// The same with the strategy's name.
inline std::string text_of_refusal(const sharded_program& p, const strategy_value& s) {
  const bool has_name =
      p.status.code != strategy_code::graph_is_refused && p.status.code != strategy_code::name_is_unknown;
  return (has_name ? "strategy " + detail::in_quotes(s.name.text) + " is refused: " : std::string()) +
         detail::reason_of_refusal(p, s);
}

}}  // namespace hyperparallel::v0_2
