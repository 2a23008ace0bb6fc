// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a model cannot be run under a pipeline, as one line with names and sizes.

#include <string>

#include <hyperparallel/lowering/pipelined_program.hpp>
#include <hyperparallel/pipeline/refused_schedule.hpp>
#include <hyperparallel/world/refused_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

inline std::string counted(int n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

}  // namespace detail

/// What the status of a cut says of its graph.
inline std::string text_of_refusal(const graph& g, const stage_cut_status& s) {
  const std::string given = std::to_string(s.given), expected = std::to_string(s.expected), at = std::to_string(s.at);
  switch (s.code) {
    case stage_cut_code::ok:
      break;
    case stage_cut_code::graph_is_refused:
      return "the graph is refused: " + text_of_refusal(g, g.status);
    case stage_cut_code::segment_is_folded:
      return "segment " + detail::in_quotes(g.text_at(g.segment[s.at].name)) +
             " is folded: only graphs that are built unrolled can be cut";
    case stage_cut_code::stages_are_not_positive:
      return given + " stages, expected at least " + expected;
    case stage_cut_code::layers_are_too_few:
      return "the model has " + detail::counted(s.given, "layer") + ", " + expected + " stages need at least one each";
    case stage_cut_code::layers_do_not_add_up:
      return "the stages have " + detail::counted(s.given, "layer") + ", the model has " + expected;
    case stage_cut_code::layers_for_other_stages:
      return "layers are given for " + detail::counted(s.given, "stage") + ", the pipeline has " + expected;
    case stage_cut_code::stage_has_no_layer:
      return "stage " + at + " has no layer";
    case stage_cut_code::stage_does_not_exist:
      return "rule " + at + " names stage " + given + " of " + expected;
    case stage_cut_code::rule_matches_nothing:
      return "rule " + at + " matches no operator";
    case stage_cut_code::stage_has_no_operator:
      return "stage " + at + " has no operator";
    case stage_cut_code::operator_reads_later_stage:
      return "operator " + detail::in_quotes(g.name_of_op(s.at)) + " of stage " + given + " reads what stage " +
             expected + " makes";
  }
  return name_of(s.code);
}

/// What the status of unrolled rows says of a schedule.
inline std::string text_of_refusal(const unroll_status& s) {
  std::string text = to_text(s.code);
  if (s.code >= unroll_code::action_is_of_another_kind)
    text += std::string(", ") + text_of(s.action).text + " of rank " + std::to_string(s.rank);
  if (s.given != 0 || s.expected != 0)
    text += ", " + std::to_string(s.given) + " where " + std::to_string(s.expected) + " are expected";
  return text;
}

/// The first thing that is wrong. Domain: `p` is not ok.
inline std::string text_of_refusal(const graph& g, const strategy_value& s, const pipeline_value& pipeline,
                                   const pipelined_program& p) {
  const std::string name = std::string("pipeline ") + pipeline.schedule->name + " of " +
                           detail::counted(pipeline.ranks, "rank") + ", " + detail::counted(pipeline.chunks, "chunk") +
                           " and " + std::to_string(g.micro_batches) + " micro-batches is refused: ";
  if (!p.schedule.ok() && !p.rows.ok()) {
    std::string circle;
    for (const waiting_action& w : p.schedule.cycle)
      circle += std::string(circle.empty() ? ": " : ", ") + text_of(w.action).text + " of rank " +
                std::to_string(w.rank) + " waits for " + text_of(w.needs).text;
    return name + text_of_refusal(p.rows) + circle;
  }
  if (!p.schedule.ok())
    return name +
           text_of_refusal(p.schedule, pipeline.schedule->name, {pipeline.ranks, pipeline.chunks, g.micro_batches});
  if (!p.cut.ok()) return name + text_of_refusal(g, p.cut);
  if (!p.rows.ok()) return name + text_of_refusal(p.rows);
  const strategy_status& why = p.program.status;
  if (why.code == strategy_code::stages_are_refused)
    return name + "attention that travels a ring cannot be cut into stages";
  if (why.code == strategy_code::strategies_for_other_groups)
    return name + "strategies are given for " + detail::counted(static_cast<int>(why.extent), "group") +
           " of ranks, the pipeline has " + std::to_string(why.pieces);
  if (why.part < 0) return text_of_refusal(p.program, s);
  return "group " + std::to_string(why.part) + ": " + text_of_refusal(p.program, pipeline.strategy[why.part]);
}

}}  // namespace hyperparallel::v0_2
