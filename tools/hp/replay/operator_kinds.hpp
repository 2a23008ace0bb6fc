// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vectors of op_infer.jsonl: the layouts of an operator's results, or that there are none.
//
// Vectors marked suspect hold what the reference says and mathematics does not. For those that are known, ours is
// written down below, and docs/reference/operator-deviations.md says why; of any other one, ours must differ from the
// reference's and keep what waits on the operands.

#include <hyperparallel/operators/factor_extents.hpp>
#include <hyperparallel/operators/propagate.hpp>

#include "operator_table.hpp"

namespace replay {

/// What a vector comes to: results in the words of the vectors, or why there are none.
struct operator_outcome {
  std::string refusal{};
  std::vector<std::string> result{};
  std::vector<hp::layout_value> layout{};
};

inline operator_outcome refused_outcome(std::string why) { return {std::move(why), {}, {}}; }

inline operator_outcome outcome_of(operator_case& c, const hp::rule_result& rule) {
  if (rule.status.code != hp::rule_code::ok)
    return refused_outcome("rule code " + std::to_string(static_cast<int>(rule.status.code)) + " at " +
                           std::to_string(rule.status.where));
  std::vector<const hp::layout_value*> operand;
  for (const hp::layout_value& l : c.operand) operand.push_back(&l);
  hp::full_propagation p;
  if (operand.empty())
    p.result[0] = hp::replicated(c.mesh.mesh.shape, rule.rule.result[0].rank);
  else
    p = hp::propagate_fully(rule.rule, operand.data(), c.count());
  if (p.status.code != hp::propagation_code::ok)
    return refused_outcome("propagation code " + std::to_string(static_cast<int>(p.status.code)) + " of operand " +
                           std::to_string(p.status.operand) + ", dim " + std::to_string(p.status.dim));
  operator_outcome r;
  const int results = c.copies > 0 ? c.copies : rule.rule.result_count;
  for (int i = 0; i < results; ++i) {
    r.layout.push_back(p.result[c.copies > 0 ? 0 : i]);
    r.result.push_back(words_of(r.layout.back(), c.mesh.mesh));
    if (r.result.back().empty()) return refused_outcome("a result is cut by a part of an axis");
  }
  return r;
}

/// The results that a vector states, in its own words.
inline std::vector<std::string> stated_results(const json& v, const hp::mesh_value& m) {
  std::vector<std::string> stated;
  for (const json& e : member(v, "expect")) {
    const read_layout l = layout_of(e, m);
    if (l.why) throw malformed_vector("a stated result is no layout: " + l.why.text);
    stated.push_back(words_of(l.layout, m));
  }
  if (const json& n = optional_field(v, "n_out"); n.is_number_integer() && stated.size() == 1)
    stated.resize(count_of(n), stated.front());
  return stated;
}

inline std::string joined(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& s : list) text += (text.empty() ? "" : " ") + s;
  return text;
}

/// Known deviations: what ours is instead. A `refused` result needs a communication that strict propagation does not
/// do.
struct deviation {
  const char* id;
  const char* ours;
};
inline constexpr deviation deviations[] = {
    {"op0003", "refused"},          {"op0020", "refused"},         {"op0023", "refused"},
    {"op0024", "refused"},          {"op0062", "[. . b]{a:sum}"},  {"op0145", "refused"},
    {"op0147", "refused"},          {"op0152", "refused"},         {"op0153", "refused"},
    {"op0161", "refused"},          {"op0419", "[. dp]{tp:sum}"},  {"op0420", "[dp .]{tp:sum}"},
    {"op0422", "[dp . .]{tp:sum}"}, {"op0423", "[dp .]{tp:sum}"},  {"op0424", "[dp]{tp:sum}"},
    {"op0425", "[dp]{tp:sum}"},     {"op0429", "refused"},         {"op0432", "refused"},
    {"op0433", "[dp] [dp]"},        {"op0434", "[. . .]{tp:sum}"}, {"op0435", "[(dp,tp) . .]"},
    {"op0436", "[dp .]"},           {"op0437", "refused"},
};

/// Whether every axis along which an operand is partial still is so in the first result.
inline bool keeps_partials(const operator_case& c, const operator_outcome& o) {
  for (const hp::layout_value& l : c.operand)
    for (int a = 0; a < l.mesh.axis_count; ++a)
      if (l.partial[a] != hp::reduce_op::none && o.layout.front().partial[a] == hp::reduce_op::none) return false;
  return true;
}

inline verdict judge_suspect(const json& v, const operator_case& c, const operator_outcome& o) {
  const std::string ours = o.refusal.empty() ? joined(o.result) : "refused";
  for (const deviation& d : deviations)
    if (text_of(v, "id") == d.id) return pass_if(ours == d.ours, "got " + ours + ", ours is " + d.ours);
  if (expects_error(v)) return pass_if(o.refusal.empty(), "refused like the reference: " + o.refusal);
  if (!o.refusal.empty()) return pass();
  return pass_if(ours != joined(stated_results(v, c.mesh.mesh)) && keeps_partials(c, o),
                 "copies the reference: " + ours);
}

/// Local numbers beside the layouts: the target shape of a reshape, begin and end of a slice.
inline verdict check_extra(const json& v, const operator_case& c, const hp::rule_result& rule,
                           const operator_outcome& o) {
  const json& extra = optional_field(v, "extra");
  if (!extra.is_array()) return pass();
  const hp::shape given = c.shape(0);
  const hp::result_shape_result whole = hp::result_shape(rule.rule, &given, 1);
  if (whole.status.code != hp::extents_code::ok) return fail("the result has no shape");
  const hp::shape_result local = hp::local_shape(o.layout.front(), whole.shape);
  if (local.status.code != hp::layout_code::ok) return fail("the result's layout does not divide its shape");
  if (c.rule == "Reshape") {
    const hp::shape stated = shape_from(extra.at(0));
    if (stated.rank != local.shape.rank) return fail("the local shape has another rank");
    for (int d = 0; d < stated.rank; ++d)
      if (stated.extent[d] != -1 && stated.extent[d] != local.shape.extent[d])
        return fail("got local shape " + text_of(local.shape) + ", expected " + text_of(stated));
    return pass();
  }
  if (c.rule == "Slice") {
    hp::shape begin = c.extents(0), end = begin;
    for (int d = 0; d < begin.rank; ++d) end.extent[d] = begin.extent[d] + local.shape.extent[d];
    return pass_if(begin == shape_from(extra.at(0)) && end == shape_from(extra.at(1)),
                   "got local slice " + text_of(begin) + " to " + text_of(end));
  }
  return fail("no rule says what the further results are");
}

inline verdict replay_operator(const json& v) {
  const std::string rule = text_of(v, "rule");
  const reference::operator_entry* entry = nullptr;
  for (const reference::operator_entry& e : reference::operator_entries)
    if (rule == e.rule) entry = &e;
  if (entry == nullptr) return skip("no rule of the library is known for the class '" + rule + "'");
  const bool suspect = !optional_field(v, "suspect").empty();
  operator_case c;
  hp::rule_result built;
  operator_outcome o;
  try {
    c = case_from(v);
    built = entry->build(c);
    o = outcome_of(c, built);
  } catch (const refused_case& e) {
    o = refused_outcome(e.what());
  }
  if (suspect) return judge_suspect(v, c, o);
  if (expects_error(v)) return pass_if(!o.refusal.empty(), "accepted: " + joined(o.result));
  if (!o.refusal.empty()) return fail("refused: " + o.refusal);
  const std::vector<std::string> stated = stated_results(v, c.mesh.mesh);
  if (stated != o.result) return fail("got " + joined(o.result) + ", expected " + joined(stated));
  return check_extra(v, c, built, o);
}

}  // namespace replay
