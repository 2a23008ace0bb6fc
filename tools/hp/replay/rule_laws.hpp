// SPDX-License-Identifier: Apache-2.0
#pragma once
// Propagation held against slice arithmetic, on layouts of small meshes: what it accepts and refuses, the results that
// it derives, and what it does to operands on the way.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "../../../tests/operators/numeric_world.hpp"
#include "rule_cells.hpp"

namespace replay {

/// Whether two roles of one axis meet: two cuts by the same part of it, or a cut beside a partial state.
inline bool uses_an_axis_twice(const hp::layout_value& l) {
  for (int i = 0; i < l.cut_count; ++i) {
    const hp::cut& x = l.cut[i];
    if (l.partial[x.axis] != hp::reduce_op::none) return true;
    for (int k = 0; k < i; ++k) {
      const hp::cut& y = l.cut[k];
      if (x.axis == y.axis && x.pre < y.pre * y.size && y.pre < x.pre * x.size) return true;
    }
  }
  return false;
}

inline bool is_sliced_as(const hp::layout_value& l, const hp::shape& s, const std::vector<hp::box>& expected) {
  if (hp::check_shape(l, s).code != hp::layout_code::ok) return false;
  for (std::size_t p = 0; p < expected.size(); ++p)
    if (!(hp::slice_at(l, s, hp::coordinates_of(l.mesh, static_cast<int>(p))) == expected[p])) return false;
  return true;
}

/// One tuple of operand layouts: the verdict of propagation, and what it derives.
inline verdict hold_layouts(const read_rule& r, const std::vector<hp::extent_t>& size,
                            const std::vector<hp::shape>& operand_shape, const std::vector<hp::shape>& result_shape,
                            const std::vector<const hp::layout_value*>& l, const hp::mesh_shape& mesh, long& accepted) {
  const int count = static_cast<int>(l.size());
  const std::optional<expectation> e = expect(r, size, operand_shape, l, mesh);
  const hp::full_propagation p = hp::propagate_fully(r.rule, l.data(), count);
  std::string at;
  for (const hp::layout_value* x : l) at += " " + text_of(*x);
  const bool accepts = p.status.code == hp::propagation_code::ok;
  if (accepts != e.has_value())
    return fail((accepts ? "accepts operands that do not meet:" : "refuses operands that meet:") + at);
  if (!accepts) return pass();
  ++accepted;
  if (!(hp::propagate(r.rule, l.data(), count).layout == p.result[0])) return fail("two faces differ:" + at);
  for (std::size_t o = 0; o < l.size(); ++o) {
    if (!is_sliced_as(p.operand[o], operand_shape[o], e->operand[o]))
      return fail("an operand is not sliced right:" + at);
    if ((p.notes.sliced >> o & 1u) != (p.operand[o] == *l[o] ? 0u : 1u)) return fail("slices go unnoticed:" + at);
  }
  if (p.notes.filled != 0) return fail("fills an operand where nothing is partial:" + at);
  for (std::size_t i = 0; i < e->result.size(); ++i) {
    const hp::layout_value& y = p.result[i];
    if (uses_an_axis_twice(y)) return fail("a result uses an axis twice:" + at);
    if (!is_sliced_as(y, result_shape[i], e->result[i]))
      return fail("a result is sliced elsewhere, " + text_of(y) + ":" + at);
    for (int a = 0; a < mesh.axis_count; ++a)
      if (y.partial[a] != (e->partial[a] ? hp::reduce_op::sum : hp::reduce_op::none))
        return fail("a result has a wrong partial state:" + at);
  }
  return pass();
}

/// Every way to give each axis to a factor or to none, first axis outermost where two share one: operands that mostly
/// meet.
inline std::vector<std::vector<hp::layout_value>> meeting_layouts(const read_rule& r, const hp::mesh_shape& mesh) {
  std::vector<std::vector<hp::layout_value>> found;
  const int factors = static_cast<int>(r.size.size());
  std::vector<int> role(static_cast<std::size_t>(mesh.axis_count), -1);
  const auto visit = [&](const auto& self, int axis) -> void {
    if (axis == mesh.axis_count) {
      std::vector<hp::layout_value> tuple;
      for (const dim_list& dims : r.operand) {
        hp::layout_value l = hp::replicated(mesh, static_cast<int>(dims.size()));
        for (std::size_t d = 0; d < dims.size(); ++d)
          for (const int f : dims[d])
            for (int a = 0; a < mesh.axis_count; ++a)
              if (role[static_cast<std::size_t>(a)] == f) hp::append_cut(l, {static_cast<int>(d), a, 1, mesh.size[a]});
        tuple.push_back(l);
      }
      found.push_back(tuple);
      return;
    }
    for (int f = -1; f < factors; ++f) {
      role[static_cast<std::size_t>(axis)] = f;
      self(self, axis + 1);
    }
  };
  visit(visit, 0);
  return found;
}

/// The laws on one mesh: every tuple of layouts where these are few, else those that meet and those in which one
/// operand differs.
inline verdict hold_on_mesh(const read_rule& r, const hp::mesh_shape& mesh, long& accepted) {
  std::vector<hp::extent_t> size = r.size;
  std::vector<hp::shape> operand_shape = r.operand_shape, result_shape = r.result_shape;
  for (hp::extent_t& n : size) n = hp::larger(n, 1);  // nothing is cut there: one element stands for none
  for (std::vector<hp::shape>* list : {&operand_shape, &result_shape})
    for (hp::shape& s : *list)
      for (int d = 0; d < s.rank; ++d) s.extent[d] = hp::larger(s.extent[d], 1);
  const auto fits = [&](std::size_t o, const hp::layout_value& l) {
    return hp::check_shape(l, operand_shape[o]).code == hp::layout_code::ok;
  };
  constexpr std::size_t most = 3000;
  std::vector<std::vector<hp::layout_value>> choices(r.operand.size());
  std::size_t tuples = 1;
  for (std::size_t o = 0; o < choices.size(); ++o) {
    for (const hp::layout_value& l : numeric::all_layouts(mesh, operand_shape[o].rank))
      if (!hp::is_partial(l) && fits(o, l)) choices[o].push_back(l);
    tuples = std::min(most + 1, tuples * choices[o].size());
  }
  std::vector<const hp::layout_value*> tuple(choices.size());
  verdict v;
  const auto hold = [&] {
    for (std::size_t o = 0; o < tuple.size(); ++o)
      if (!fits(o, *tuple[o])) return true;
    v = hold_layouts(r, size, operand_shape, result_shape, tuple, mesh, accepted);
    return v.outcome == outcome::passed;
  };
  if (tuples <= most) {
    const auto visit = [&](const auto& self, std::size_t o) -> bool {
      if (o == tuple.size()) return hold();
      for (const hp::layout_value& l : choices[o]) {
        tuple[o] = &l;
        if (!self(self, o + 1)) return false;
      }
      return true;
    };
    visit(visit, 0);
    return v;
  }
  std::size_t turn = 0;
  for (const std::vector<hp::layout_value>& meeting : meeting_layouts(r, mesh)) {
    for (std::size_t o = 0; o < tuple.size(); ++o) tuple[o] = &meeting[o];
    if (!hold()) return v;
    for (std::size_t o = 0; o < tuple.size(); ++o) {
      for (std::size_t k = turn++ % 7; k < choices[o].size(); k += 7) {
        tuple[o] = &choices[o][k];
        if (!hold()) return v;
      }
      tuple[o] = &meeting[o];
    }
  }
  return v;
}

/// A rule of a vector says nothing about partial operands, so each is refused, for that reason.
inline verdict hold_partials(const read_rule& r) {
  const hp::mesh_shape mesh = numeric::mesh_of({2});
  std::vector<hp::layout_value> l;
  std::vector<const hp::layout_value*> at;
  for (const hp::shape& s : r.operand_shape) l.push_back(hp::replicated(mesh, s.rank));
  for (const hp::layout_value& x : l) at.push_back(&x);
  for (hp::layout_value& x : l) {
    x.partial[0] = hp::reduce_op::sum;
    if (hp::propagate(r.rule, at.data(), static_cast<int>(at.size())).status.code !=
        hp::propagation_code::rule_says_nothing_about_partial_operands)
      return fail("a partial operand is not refused for the rule's silence");
    x.partial[0] = hp::reduce_op::none;
  }
  return pass();
}

/// All laws on small meshes, for the rule as it is and with factors that yield. `accepted` counts tuples that meet.
inline verdict hold_laws(read_rule r, long& accepted) {
  if (r.operand.empty()) return pass();  // propagation starts from operands
  for (const bool yields : {false, true}) {
    for (int f = 0; f < r.rule.factor_count; ++f)
      r.rule.factor[f].yields = yields && r.rule.factor[f].kind == hp::factor_kind::pass_through;
    for (const std::vector<int>& sizes : {std::vector<int>{2}, {4}, {2, 2}, {2, 3}}) {
      const verdict v = hold_on_mesh(r, numeric::mesh_of(sizes), accepted);
      if (v.outcome != outcome::passed) return v;
    }
  }
  return hold_partials(r);
}

}  // namespace replay
