// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a graph can have no optimizer: it has one, it has no gradients, or a number or pattern cannot be.

#include <hyperparallel/graph/check_training.hpp>
#include <hyperparallel/graph/optimizer_value.hpp>
#include <hyperparallel/graph/sharding_plan.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// The first number of the optimizer that cannot be: what it is called, and what was expected.
constexpr graph_status check_numbers(graph& g, const optimizer_value& v) {
  struct {
    const char* name;
    double value;
    bool below_one;
  } const numbers[] = {{"rate", v.rate, false},
                       {"beta1", v.beta1, true},
                       {"beta2", v.beta2, true},
                       {"epsilon", v.epsilon, false},
                       {"weight_decay", v.weight_decay, false},
                       {"momentum", v.momentum, true},
                       {"muon_rate", v.muon_rate, false},
                       {"clip", v.clip, false},
                       {"bias_rate", v.bias_rate, false}};
  constexpr double most = 1.7976931348623157e308;
  for (const auto& n : numbers) {
    if (n.value >= 0 && n.value <= most && (!n.below_one || n.value < 1)) continue;
    const char* const expected = n.below_one ? "at least 0 and below 1" : "at least 0 and finite";
    const int name = add_text(g, n.name);
    return {graph_code::optimizer_number_is_out_of_range, name, add_text(g, expected), 0, 0, 0, 0, n.value};
  }
  return {};
}

/// Why there can be no optimizer of these numbers on this graph.
constexpr graph_status check_before_optimizer(graph& g, const optimizer_value& v) {
  for (const graph_operator& o : g.op)
    if (o.phase >= graph_phase::norm) return {graph_code::graph_has_an_optimizer_already, o.name};
  if (const graph_status s = check_gradients(g); s.code != graph_code::ok) return s;
  bool matches = v.kind != optimizer_kind::muon || v.without_muon.text[0] == '\0';
  for (int t = 0; t < g.tensor.size && !matches; ++t)
    matches =
        g.tensor[t].kind == graph_tensor_kind::parameter && name_matches(v.without_muon.text, g.name_of_tensor(t));
  if (!matches) return {graph_code::pattern_matches_nothing, add_text(g, v.without_muon.text)};
  return check_numbers(g, v);
}

}}}  // namespace hyperparallel::v0_2::detail
