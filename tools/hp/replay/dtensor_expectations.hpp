// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tests of dtensor_redistribution.jsonl state of a move beside its data: numbers of collectives, chunk sizes,
// the factor of a reduction, the gradient's direction. Numbers of collectives are upper bounds for ours.

#include <string>

#include "derived_check.hpp"
#include "relocation_judging.hpp"

namespace replay {

inline hp::extent_t sum_of(const json& counts) {
  hp::extent_t n = 0;
  for (const auto& [name, count] : counts.items()) n += whole_number_of(count);
  return n;
}

/// Ours against a number and against counts by collective, of which a vector may state any.
inline verdict no_more_collectives(int ours, const json& total, const json& counts, const char* what) {
  const bool few = (!total.is_number() || ours <= int_of(total)) && (!counts.is_object() || ours <= sum_of(counts));
  return pass_if(few, std::string(what) + " takes " + std::to_string(ours) + " collectives, stated are " +
                          total.dump() + " in all, by kind " + counts.dump());
}

/// The move of the gradient: from the target's layout to the source's. The gradient of each term is that of the reduced
/// value, so what is partial replicates there.
inline verdict check_backward(const json& expect, const stated_move& m) {
  const json& total = optional_field(expect, "backward_total");
  const json& counts = optional_field(expect, "backward_counts");
  if (total.is_null() && counts.is_null()) return pass();
  stated_move back{m.to, m.from, m.to_shape, m.from_shape};
  for (read_side* side : {&back.from, &back.to})
    for (hp::reduce_op& op : side->layout.partial) op = hp::reduce_op::none;
  move_figures f;
  const verdict r = judge_move(back, f);
  if (r.outcome != outcome::passed) return fail("backward: " + r.reason);
  return no_more_collectives(f.collectives, total, counts, "backward");
}

/// Chunk sizes by rank: the extents of one dim (one that is cut, where any is), or numbers of elements.
inline bool has_sizes(const json& stated, const read_side& side, const hp::shape& s, bool nested) {
  const int positions = hp::position_count(side.layout.mesh);
  if (static_cast<int>(stated.size()) != positions) throw malformed_vector("chunk sizes are not one for each rank");
  bool cut[hp::max_dims] = {}, any_cut = false;
  for (int i = 0; i < side.layout.cut_count; ++i) cut[side.layout.cut[i].dim] = any_cut = true;
  for (int d = 0; d <= s.rank; ++d) {  // the last: numbers of elements
    if (d < s.rank && any_cut && !cut[d]) continue;
    bool all = true;
    for (int p = 0; p < positions; ++p) {
      const hp::box b = nested ? nested_slice(side.layout, s, p)
                               : hp::slice_at(side.layout, s, hp::coordinates_of(side.layout.mesh, p));
      const hp::extent_t n = d < s.rank ? b.dim[d].end - b.dim[d].begin : hp::volume(b);
      const std::size_t rank =
          static_cast<std::size_t>(side.mesh.counts_up ? p : side.mesh.rank[static_cast<std::size_t>(p)]);
      all = all && whole_number_of(stated.at(rank < stated.size() ? rank : static_cast<std::size_t>(p))) == n;
    }
    if (all) return true;
  }
  return false;
}

inline verdict check_sizes(const json& stated, const read_side& side, const hp::shape& s) {
  if (!stated.is_array() || has_sizes(stated, side, s, false)) return pass();
  if (!may_nest(side.layout, s) || !has_sizes(stated, side, s, true))
    return fail("other chunk sizes than " + stated.dump());
  verdict r = pass();
  r.note = nesting_note;
  return r;
}

/// The result is so many times the term that every rank holds. A fill of ours keeps the value on one rank where others
/// put a share on each: the reduced value is the same.
inline verdict check_values(const json& expect, const stated_move& m, const move_figures& ours) {
  if (const json& factor = optional_field(expect, "value_factor"); factor.is_number())
    if (factor.get<double>() != static_cast<double>(ours.factor))
      return fail("the result is " + std::to_string(ours.factor) + " times a term, stated is " + factor.dump());
  if (const json& share = optional_field(expect, "local_value_factor"); share.is_number()) {
    int terms = 1;
    for (int a = 0; a < m.to.layout.mesh.axis_count; ++a)
      if (m.to.layout.partial[a] == hp::reduce_op::sum && m.from.layout.partial[a] == hp::reduce_op::none)
        terms *= m.to.layout.mesh.size[a];
    const double reduced = share.get<double>() * terms;
    if (reduced < 0.999 || reduced > 1.001) return fail("the stated shares do not sum up to the tensor");
  }
  return pass();
}

/// Everything that `expect` may say of a move that was made. Groups that a user flattened allow others to fuse; ours
/// needs no such permission. Results that are called correct have been held to the values already.
inline verdict check_expectations(const json& v, const stated_move& m, const move_figures& ours) {
  const json& expect = optional_field(v, "expect");
  verdict passed = pass();
  for (const verdict& r :
       {no_more_collectives(ours.collectives, optional_field(expect, "total"), optional_field(expect, "counts"),
                            "ours"),
        no_more_collectives(ours.collectives, optional_field(expect, "transforms"), {}, "ours"),
        no_more_collectives(ours.collectives, {}, optional_field(expect, "cpu_fallback_counts"), "ours"),
        check_backward(expect, m), check_sizes(optional_field(expect, "local_sizes_src"), m.from, m.from_shape),
        check_sizes(optional_field(expect, "local_sizes_dst"), m.to, m.to_shape), check_values(expect, m, ours)}) {
    if (r.outcome != outcome::passed) return r;
    if (!r.note.empty()) passed.note = r.note;
  }
  if (const json& view = optional_field(expect, "unpack_is_view"); view.is_boolean() && view.get<bool>())
    if (!ours.contiguous) return fail("a transfer does not land in one run of its block");
  if (const json& allowed = optional_field(expect, "public_api_allowed");
      allowed.is_boolean() && !allowed.get<bool>()) {
    if (!ours.fills) return fail("made, although no public call there does");
    passed.note = "deviation: a tensor becomes partial there inside only; ours fills, one rank holds the value";
  }
  static const char* const known[] = {"total",           "counts",
                                      "transforms",      "cpu_fallback_counts",
                                      "backward_total",  "backward_counts",
                                      "local_sizes_src", "local_sizes_dst",
                                      "value_factor",    "local_value_factor",
                                      "unpack_is_view",  "public_api_allowed",
                                      "correct",         "flattened_groups",
                                      "allowed",         "trace_layouts",
                                      "trace_len",       "planner"};
  for (const auto& [name, value] : expect.items())
    if (v["kind"] != "equivalence" &&
        std::none_of(std::begin(known), std::end(known), [&](const char* k) { return name == k; }))
      passed.note = "the expectation '" + name + "' is not known here";
  return passed;
}

}  // namespace replay
