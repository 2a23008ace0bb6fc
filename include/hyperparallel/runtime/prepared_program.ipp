// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of prepared_program.hpp; see support/compiled.hpp.

#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/kernels/widened_kernel.hpp>
#include <hyperparallel/program/offloaded_program.hpp>
#include <hyperparallel/runtime/prepared_program.hpp>
#include <hyperparallel/runtime/refused_program.hpp>
#include <hyperparallel/strategy/partition.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Throws program_error for a tensor whose type kernels that compute in `floating` do not take.
HYPERPARALLEL_BODY void check_types(const sharded_program& p, data_type floating) {
  for (const program_compute& c : p.compute) {
    const graph_operator& op = p.graph.op[c.op];
    const auto check = [&](int tensor) {
      const data_type type = p.graph.tensor[tensor].type;
      if (floating == data_type::f64 ? widens_to<double>(type) : widens_to<float>(type)) return;
      throw program_error(std::string("operator ") + p.graph.text_at(op.name) + " (" + p.graph.value_of(op).name +
                          ") has no kernel for \"" + p.graph.name_of_tensor(tensor) + "\" of " + name_of(type) +
                          " that computes in " + name_of(floating));
    };
    for (int i = 0; i < op.operand_count; ++i) check(op.operand[i]);
    for (int r = 0; r < op.result_count; ++r) check(op.result[r]);
  }
}

/// Throws program_error for links that are refused or do not join the ranks of the mesh.
HYPERPARALLEL_BODY void check_links(const interconnect& links, const mesh_shape& mesh) {
  if (links.kind == interconnect_kind::unpriced) return;
  topology_status s = status_of(links);
  const bool valid = s.code == topology_code::ok;
  if (valid) s = check_span(links, position_count(mesh));
  if (s.code == topology_code::ok) return;
  const std::string level = (links.kind == interconnect_kind::full_mesh ? "axis " : "link level ") +
                            std::to_string(s.level) + (valid ? ", the outermost," : "");
  throw program_error("program_options::topology: " + level +
                      (valid ? " joins " + std::to_string(s.expected) +
                                   " ranks, the program has ranks within a span of " + std::to_string(s.given)
                             : " is given " + std::to_string(s.given) + " where at least " +
                                   std::to_string(s.expected) + " is expected"));
}

}  // namespace detail

HYPERPARALLEL_BODY prepared_program prepare_program(sharded_program p, data_type floating,
                                                    const program_options& options) {
  if (p.status.code == strategy_code::ok) detail::check_links(options.topology, p.mesh.shape);
  if (p.status.code != strategy_code::ok)
    throw program_error("the program was refused: " + reason_of_refusal(p, {.name = p.strategy, .mesh = p.mesh}));
  for (const graph_segment& s : p.graph.segment)
    if (s.repeats > 1)
      throw program_error(std::string("segment \"") + p.graph.text_at(s.name) +
                          "\" is folded: only graphs that are built unrolled can run");
  detail::check_types(p, floating);
  prepared_program prepared;
  prepared.monitors = p.graph.monitor.size;
  const bool watched = options.overflow != overflow_response::ignore && !gradients_that_may_overflow(p).empty();
  prepared.overflow = watched ? options.overflow : overflow_response::ignore;
  for (const std::string& name : options.keep) {
    const int t = find_tensor(p.graph, name.c_str());
    if (t < 0) throw program_error("keep: " + text_of_unknown_tensor(p.graph, name));
    p.graph.monitor.push(t);
  }
  if (options.budget.bytes != 0) {
    offloaded_program within = planned_within(p, options.budget, watched, options.topology);
    prepared.duration.assign(within.duration.begin(), within.duration.end());
    prepared.offloading = within.planned.certificate;
    p = std::move(within.program);
    prepared.addresses = std::move(within.addresses);
  }
  const program_moves moves = kinds_of_moves(p, options.topology);
  if (options.budget.bytes == 0 || options.lookahead > 0)
    prepared.addresses = plan_addresses(p, moves, {.budget = options.budget.bytes, .lookahead = options.lookahead});
  if (const extent_t taken = prepared.addresses.high_water[0], most = options.budget.bytes; most != 0 && taken > most)
    throw program_error("budget of " + std::to_string(most) + " bytes: with a lookahead of " +
                        std::to_string(options.lookahead) + " steps, addresses take " + std::to_string(taken));
  prepared.pulls = pulls_of(p, moves);
  if (const move_pulls_status& s = prepared.pulls.status; s.code != move_pulls_code::ok)
    throw program_error(std::string("the move of \"") + p.graph.name_of_tensor(p.value[p.move[s.move].target].tensor) +
                        "\" cannot be planned: " + to_text(s.code));
  prepared.program = std::move(p);
  return prepared;
}

HYPERPARALLEL_BODY sharded_program partitioned(const graph& g, const strategy_value& s) {
  sharded_program p = partition(g, s);
  if (p.status.code != strategy_code::ok) throw program_error(text_of_refusal(p, s));
  return p;
}

}}  // namespace hyperparallel::v0_2
