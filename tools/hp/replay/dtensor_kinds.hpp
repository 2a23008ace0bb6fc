// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kinds of dtensor_redistribution.jsonl. Placements are held against the layouts beside them, so that both ways of
// stating a layout are read.

#include <string>

#include "dtensor_expectations.hpp"

namespace replay {

/// The layout of `src_placements` or `dst_placements`, axes of one dim in the order of `beside`, against `beside`.
/// Words other than R, S<dim> and P:<op>, and sub-axes, have no placement of the core.
inline verdict same_as_placements(const json& stated, const read_side& beside, int rank) {
  const hp::layout_value& l = beside.layout;
  if (!stated.is_array() || static_cast<int>(stated.size()) != l.mesh.axis_count) return pass();
  for (int i = 0; i < l.cut_count; ++i)
    if (l.cut[i].size != l.mesh.size[l.cut[i].axis]) return pass();
  const hp::placement_list ours = hp::placements_of(l);
  std::vector<hp::placement> list;
  for (std::size_t a = 0; a < stated.size(); ++a) {
    const std::string word = stated[a].get<std::string>();
    if (word == "R")
      list.push_back(hp::replicate());
    else if (word.rfind("P:", 0) == 0)
      list.push_back(
          hp::partial_of(hp::reduction_called(partial_from({{"axis", ""}, {"op", word.substr(2)}}).op.c_str())));
    else if (word.size() > 1 && word[0] == 'S' && word.find_first_not_of("-0123456789", 1) == std::string::npos)
      list.push_back(hp::shard(int_in(word.substr(1)), ours.at[a].order));
    else
      return pass();
  }
  hp::layout_result read = hp::layout_from_placements(l.mesh, list.data(), static_cast<int>(list.size()), rank);
  read.layout.padded = l.padded;
  return pass_if(read.status.code == hp::layout_code::ok && read.layout == l,
                 "the placements are another layout than the one beside them");
}

inline verdict same_as_both_placements(const json& v, const stated_move& m) {
  const verdict from = same_as_placements(optional_field(v, "src_placements"), m.from, m.from_shape.rank);
  if (from.outcome != outcome::passed) return from;
  return same_as_placements(optional_field(v, "dst_placements"), m.to, m.to_shape.rank);
}

/// The cost of a stated trace of layouts.
inline stated_cost cost_of_trace(const json& v, const stated_move& m) {
  const json& trace = optional_field(optional_field(v, "expect"), "trace_layouts");
  if (!trace.is_array()) return {};
  std::vector<read_side> states;
  for (const json& dims : trace) {
    states.push_back(side_of_axes(member(v, "mesh"), dims, {}, m.from_shape.rank));
    if (states.back().why) throw malformed_vector("a state of the trace is no layout: " + states.back().why.text);
    pad_uneven_dims(states.back().layout, m.from_shape);
  }
  stated_cost c = cost_of_states(states, m.from_shape);
  const json& length = optional_field(optional_field(v, "expect"), "trace_len");
  if (states.empty() || !same_boxes(states.front(), m.from, m.from_shape) ||
      !same_boxes(states.back(), m.to, m.from_shape))
    c.trouble = "the trace does not lead from the source to the target";
  else if (length.is_number() && count_of(length) + 1 != states.size())
    c.trouble = "the trace has another number of transitions";
  return c;
}

/// `count`, `correctness` and `trace`: a move, with what its test states of it.
inline verdict replay_dtensor_move(const json& v) {
  const stated_move m = move_of(v);
  if (m.from.why || m.to.why) return fail(m.from.why.text + m.to.why.text);
  move_figures ours;
  verdict r = judge_move(m, ours);
  if (r.outcome != outcome::passed) return r;
  const stated_cost theirs = cost_of_trace(v, m);
  if (!theirs.trouble.empty()) return fail(theirs.trouble);
  if (theirs.known && (ours.collectives > theirs.steps || ours.received_sum > theirs.total))
    return fail("ours takes " + std::to_string(ours.collectives) + " steps and " + std::to_string(ours.received_sum) +
                " elements, the trace " + std::to_string(theirs.steps) + " and " + std::to_string(theirs.total));
  const verdict placed = same_as_both_placements(v, m);
  if (placed.outcome != outcome::passed) return placed;
  r = held_to_derived(optional_field(v, "derived"), m, ours, theirs);
  if (r.outcome != outcome::passed) return r;
  const verdict expected = check_expectations(v, m, ours);
  if (expected.outcome != outcome::passed) return expected;
  if (!expected.note.empty()) r.note = expected.note;
  r.bytes = figures_of(v, ours, theirs);
  return r;
}

/// What is allowed there must be right in ours. What is not: ours refuses too, or does what is a matter of their public
/// calls and not of mathematics, which is to put a tensor into a partial state.
inline verdict replay_legality(const json& v) {
  const bool allowed = member(member(v, "expect"), "allowed").get<bool>();
  const stated_move m = move_of(v);
  if (m.from.why || m.to.why) return allowed ? fail(m.from.why.text + m.to.why.text) : pass();
  if (const verdict placed = same_as_both_placements(v, m); placed.outcome != outcome::passed) return placed;
  const hp::layout_value &from = m.from.layout, &to = m.to.layout;
  const bool refused = from.mesh == to.mesh && hp::plan_move(from, to, m.from_shape).code != hp::move_code::ok;
  if (refused) return allowed ? fail("refused, although it is allowed there") : pass();
  move_figures ours;
  verdict r = judge_move(m, ours);
  if (r.outcome != outcome::passed) return r;
  r.bytes = figures_of(v, ours, {});
  if (allowed) return r;
  if (!ours.fills) return fail("made, although it is not allowed there");
  r.note = ours.reduces ? "deviation: one partial state becomes another, reduced and filled; refused there"
                        : "deviation: a tensor becomes partial, filled with the identity; refused there";
  return r;
}

/// Layouts that are two names of one: every rank holds the same, and nothing is to be done. A false expectation: not.
inline verdict replay_equivalence(const json& v) {
  bool same = true;
  for (const auto& [name, value] : optional_field(v, "expect").items())
    same = same && (!value.is_boolean() || value.get<bool>());
  const verdict r = replay_dtensor_move(v);
  if (r.outcome != outcome::passed) return r;
  const stated_move m = move_of(v);
  const bool equal = same_boxes(m.from, m.to, m.from_shape) && r.bytes.ours.total == 0;
  return equal == same ? r : fail(same ? "the local data differ" : "the local data are the same");
}

namespace detail {

/// Puts the axes from `axis` on at every place of every dim's list, and visits each layout that is full.
template <class Visit>
void for_each_order(std::vector<std::vector<int>>& dims, int axis, int axes, Visit visit) {
  if (axis == axes) return visit(dims);
  for (std::vector<int>& list : dims)
    for (std::size_t at = 0; at <= list.size(); ++at) {
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), axis);
      for_each_order(dims, axis + 1, axes, visit);
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
    }
}

}  // namespace detail

/// `state_count`: all layouts in which every axis shards a dim, each a layout of its own, and each told by placements.
inline verdict replay_state_count(const json& v) {
  const json& mesh = member(v, "mesh");
  const read_mesh m =
      mesh_from(member(mesh, "shape"), optional_field(mesh, "axes"), optional_field(mesh, "device_ids"));
  if (m.why) return fail(m.why.text);
  const hp::mesh_shape& shape = m.mesh.shape;
  std::vector<std::vector<int>> dims(count_of(member(v, "tensor_rank")));
  if (dims.size() > static_cast<std::size_t>(hp::max_dims)) throw malformed_vector("more dims than the core holds");
  hp::extent_t all_orders = 1;  // of the axes, one after the other, at every place of every dim
  for (int a = 0; a < shape.axis_count; ++a) all_orders *= static_cast<hp::extent_t>(dims.size()) + a;
  if (all_orders > 100'000) throw malformed_vector("key 'tensor_rank': more layouts than can be counted");
  std::vector<hp::layout_value> seen;
  std::string trouble;
  hp::extent_t orders = 0;
  detail::for_each_order(dims, 0, shape.axis_count, [&](const std::vector<std::vector<int>>& order) {
    ++orders;
    hp::layout_value l = hp::replicated(shape, static_cast<int>(order.size()));
    std::vector<hp::placement> placed(static_cast<std::size_t>(shape.axis_count));
    for (std::size_t d = 0; d < order.size(); ++d)
      for (std::size_t i = 0; i < order[d].size(); ++i) {
        const int a = order[d][i];
        hp::append_cut(l, {static_cast<int>(d), a, 1, shape.size[a]});
        placed[static_cast<std::size_t>(a)] = hp::shard(static_cast<int>(d), static_cast<int>(i));
      }
    const hp::layout_result told = hp::layout_from_placements(shape, placed.data(), shape.axis_count, l.rank);
    if (told.status.code != hp::layout_code::ok || !(told.layout == l)) trouble = "an order is lost in placements";
    if (std::find(seen.begin(), seen.end(), l) == seen.end()) seen.push_back(l);
  });
  if (!trouble.empty()) return fail(trouble);
  bool ones = false;
  for (int a = 0; a < shape.axis_count; ++a) ones = ones || shape.size[a] == 1;
  if (!ones && static_cast<hp::extent_t>(seen.size()) != orders) return fail("two orders are one layout");
  return equals_stated(member(v, "expect"), "fully_sharded_ordered_layouts", orders);
}

}  // namespace replay
