// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an image (image.hpp) stores of a lowered program: which arrays its parts have, and the form of what has
// much room that is not used, or is the same in many places. Values name their layouts by number; rules have as many
// tensors and factors, plans of moves as many steps, as they need. What has arrays is stored without them: an image is
// trivially destructible, since g++ with -fsanitize=undefined refuses a constant array of elements that are not.
//
// Law: `restored(stored(x))` is x without its elements, which the image stores one after the other behind it.

#include <hyperparallel/lowering/lowered_program.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

// ---- the arrays of each part; what holds arrays itself is visited through its elements ----

template <class Visit, class... Arrays>
constexpr void visit_each(const Visit& visit, Arrays&... array) {
  (visit(array), ...);
}

template <class Visit>
constexpr void visit_arrays(graph& g, const Visit& visit) {
  visit_each(visit, g.text, g.dim, g.tensor, g.op, g.rule, g.segment, g.monitor);
}
template <class Visit>
constexpr void visit_arrays(move_kind& k, const Visit& visit) {
  visit(k.staged);
}
template <class Visit>
constexpr void visit_arrays(move_load& l, const Visit& visit) {
  visit(l.step);
}
template <class Visit>
constexpr void visit_arrays(move_pulls& m, const Visit& visit) {
  visit_each(visit, m.row, m.sender, m.sender_begin, m.pulled);
}
template <class Visit>
constexpr void visit_arrays(lowered_run& r, const Visit& visit) {
  visit_each(visit, r.plan.part, r.plan.row, r.plan.duration, r.plan.wait_end, r.plan.wait, r.plan.survives,
             r.plan.writes, r.reads);
}
template <class Visit>
constexpr void visit_arrays(lowered_program& l, const Visit& visit) {
  visit_arrays(l.program.graph, visit);
  visit_each(visit, l.program.value, l.program.storage, l.program.compute, l.program.move, l.program.step,
             l.program.home, l.program.whole, l.program.other_home, l.program.part, l.pulls.moves.kind,
             l.pulls.moves.of, l.pulls.moves.load, l.pulls.moves.first_staged, l.pulls.kind, l.addresses.storage,
             l.addresses.staged, l.addresses.of_part, l.run, l.duration);
}

template <class T>
concept holds_arrays = requires(T& t) { visit_arrays(t, [](auto&) {}); };

// ---- what is stored in another form ----

/// A `program_value`.
struct stored_value {
  int tensor = -1;
  int storage = -1;
  int layout = 0;  ///< place among the layouts of the image
  value_rotation rotation{};
};

/// A `move_load` without its steps.
struct stored_load {
  move_candidate candidate = move_candidate::exchange;
  cost_code code = cost_code::ok;
};

/// A `lowered_run` without its arrays.
struct stored_run {
  unsigned phases = 0;
  program_flow_status status{};
  machine_shape machine{};
  bool of_class = false;
};

/// A `graph_rule`. The tensors of operands and results, then the factors, are elements of their own.
struct stored_rule {
  operator_id kind = id_of<ops::sum>;
  reduce_op reduction = reduce_op::sum;
  int text = 0;
  int forward = -1;
  operand_ranks ranks{};
  rule_facts facts{};
};

constexpr stored_rule stored(const graph_rule& r) { return {r.kind, r.reduction, r.text, r.forward, r.ranks, r.rule}; }
constexpr graph_rule restored(const stored_rule& s) {
  graph_rule r{s.kind, s.reduction, s.text, s.forward, s.ranks, {}};
  static_cast<rule_facts&>(r.rule) = s.facts;
  return r;
}

struct stored_part {
  move_axes axes{};
  layout_status layout{};
  plan_kind kind = plan_kind::no_op;
  hyperparallel::shape shape{};
  move_padding padding{};
  int steps = 0;
};
/// The plans of `move_pulls`; their steps are elements of their own, its arrays follow.
struct stored_parts {
  int count = 0, dim = 0;
  extent_t split = 0;
  stored_part part[2] = {};
};

constexpr stored_parts stored(const move_parts& m) {
  stored_parts s{m.count, m.dim, m.split, {}};
  for (int i = 0; i < m.count; ++i)
    s.part[i] = {m.part[i], m.part[i].layout, m.part[i].kind, m.part[i].shape, m.part[i].padding, m.part[i].step_count};
  return s;
}
constexpr move_parts restored(const stored_parts& s) {
  move_parts m;
  m.count = s.count;
  m.dim = s.dim;
  m.split = s.split;
  for (int i = 0; i < s.count; ++i) {
    static_cast<move_axes&>(m.part[i]) = s.part[i].axes;
    m.part[i].layout = s.part[i].layout;
    m.part[i].kind = s.part[i].kind;
    m.part[i].shape = s.part[i].shape;
    m.part[i].padding = s.part[i].padding;
    m.part[i].step_count = s.part[i].steps;
  }
  return m;
}

}}}  // namespace hyperparallel::v0_2::detail
