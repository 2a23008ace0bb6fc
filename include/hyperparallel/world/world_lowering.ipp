// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of world_lowering.hpp; see support/compiled.hpp.

#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/kernels/widened_kernel.hpp>
#include <hyperparallel/lowering/lowered_offload.hpp>
#include <hyperparallel/price/clock.hpp>
#include <hyperparallel/strategy/partition.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/world/program_tasks.hpp>
#include <hyperparallel/world/refused_pipeline.hpp>
#include <hyperparallel/world/refused_submodels.hpp>
#include <hyperparallel/world/world_lowering.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

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

/// "place 7 of h"; nothing where there is none.
HYPERPARALLEL_BODY std::string text_of_place(const sharded_program& p, int place) {
  if (place < 0) return {};
  return ", place " + std::to_string(place) +
         (place < p.storage.size ? std::string(" of ") + p.graph.name_of_tensor(p.storage[place].tensor)
                                 : std::string());
}

/// What the status says. Domain: it is not ok.
HYPERPARALLEL_BODY std::string text_of_refusal(const lowered_program& l, const program_options& options) {
  const sharded_program& p = l.program;
  const lowering_status& s = l.status;
  switch (s.code) {
    case lowering_code::ok:
    case lowering_code::plan_is_too_large:
    case lowering_code::budget_is_planned_at_start:
      break;
    case lowering_code::program_is_refused:
      return "the program was refused: " + reason_of_refusal(p, {.name = p.strategy, .mesh = p.mesh});
    case lowering_code::segment_is_folded:
      return std::string("segment \"") + p.graph.text_at(p.graph.segment[s.at].name) +
             "\" is folded: only graphs that are built unrolled can run";
    case lowering_code::kept_tensor_is_unknown:
      return "keep: " + text_of_unknown_tensor(p.graph, options.keep[static_cast<std::size_t>(s.at)]);
    case lowering_code::tiles_match_nothing:
      return "tiles: \"" + options.tiles[static_cast<std::size_t>(s.at)] + "\" names no operator of the model";
    case lowering_code::tiles_have_no_moves:
      return "tiles: what \"" + options.tiles[static_cast<std::size_t>(s.at)] +
             "\" names is beside no move whose tiles it can follow under strategy " + p.strategy.text;
    case lowering_code::tiles_meet_a_budget:
      return "tiles: a program within a memory budget is not tiled";
    case lowering_code::budget_is_exceeded:
      return "budget of " + std::to_string(options.budget.bytes) + " bytes: with a lookahead of " +
             std::to_string(options.lookahead) + " steps, addresses take " + std::to_string(l.addresses.high_water[0]);
    case lowering_code::move_is_refused:
      return std::string("the move of \"") + p.graph.name_of_tensor(p.value[p.move[s.at].target].tensor) +
             "\" cannot be planned: " + to_text(l.pulls.status.code);
    case lowering_code::run_is_not_lowered:
      return (s.flow.step < 0 ? std::string("the program")
                              : "step " + std::to_string(s.flow.step) + " (" + name_of_step(p, s.flow.step) + ")") +
             " cannot be lowered: " + to_text(s.flow.code) + text_of_place(p, s.flow.place);
    case lowering_code::run_is_not_proved:
      return "the program's plan is not safe: " + std::string(to_text(s.proof.code)) + ", row " +
             std::to_string(s.proof.task) + text_of_place(p, s.proof.place);
    case lowering_code::memory_is_exceeded:
      return "the program's plan uses " + std::to_string(s.proof.bytes[s.at]) + " bytes of tier " +
             std::to_string(s.at) + ", planned are " + std::to_string(l.addresses.high_water[s.at]);
  }
  return "ok";
}

HYPERPARALLEL_BODY void check_element_types(const sharded_program& p, data_type floating) {
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

HYPERPARALLEL_BODY lowered_program lowered_for(sharded_program p, data_type floating, const program_options& options) {
  if (p.status.code == strategy_code::ok) {
    detail::check_links(options.topology, p.mesh.shape);
    check_element_types(p, floating);
  }
  lowering_options how{options.topology, options.vector_queue, options.lookahead, options.budget.bytes, {}, {}};
  for (const std::string& name : options.keep) how.keep.push(name.c_str());
  for (const std::string& name : options.tiles) how.tiles.push(name.c_str());
  how.most_tiles = options.most_tiles;
  if (!options.tiles.empty() && options.pace.is_asked() && p.status.code == strategy_code::ok)
    how.step_duration = prices_of_steps(p, kinds_of_moves(p, options.topology), options.pace.device).duration;
  const bool watches = options.overflow != overflow_response::ignore && !gradients_that_may_overflow(p).empty();
  lowered_program l = keeping_tensors(std::move(p), how.keep);
  l.watches_gradients = watches;
  if (l.status.ok() && l.program.status.code == strategy_code::ok && options.budget.bytes != 0)
    take_offloaded(l, planned_within(l.program, options.budget, watches, options.topology));
  l = lower_memory(std::move(l), how);
  if (!l.status.ok()) throw program_error(detail::text_of_refusal(l, options));
  return l;
}

}  // namespace detail

HYPERPARALLEL_BODY void add_run(lowered_program& l, unsigned phases) {
  if (!detail::lower_run(l, phases)) throw program_error(detail::text_of_refusal(l, {}));
}

HYPERPARALLEL_BODY sharded_program partitioned(const graph& g, const strategy_value& s) {
  sharded_program p = partition(g, s);
  if (p.status.code != strategy_code::ok) throw program_error(text_of_refusal(p, s));
  return p;
}
HYPERPARALLEL_BODY sharded_program partitioned(const graph& g, const strategy_value& s,
                                               const pipeline_value& pipeline) {
  if (pipeline.schedule == nullptr) throw program_error("the pipeline names no schedule");
  pipelined_program p = partition(g, s, pipeline);
  if (!p.ok()) throw program_error(text_of_refusal(g, s, pipeline, p));
  return std::move(p.program);
}
HYPERPARALLEL_BODY sharded_program partitioned(const graph& g, const submodel_plan& plan) {
  submodel_program p = partition(g, plan);
  if (!p.ok()) throw program_error(text_of_refusal(g, plan, p));
  return std::move(p.program);
}

}}  // namespace hyperparallel::v0_2
