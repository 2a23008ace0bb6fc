// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random runs of an operation on every rank of a small mesh, against the same operation on one device.
//
// Layouts are drawn from the rule, so that most are accepted: each axis shards a factor wherever it occurs, or makes
// operands partial, or nothing; some operands are left whole, which the rule may slice, fill or refuse; one draw in
// five pads its dims. What is refused must be refused at run time with the status of the value form.

#include <hyperparallel/dtensor/operation.hpp>
#include <hyperparallel/operators/factor_terms.hpp>

#include "dtensor/worlds.hpp"

#include <rapidcheck.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace properties {

namespace hp = hyperparallel;

/// What is drawn for one run, before layouts.
template <class Description, std::size_t Count>
struct drawn {
  Description description;
  std::array<hp::shape, Count> shapes;
  std::array<hp::data_type, Count> types;
  std::array<worlds::numbers, Count> numbers{};
  double tolerance = 0;  ///< relative; not 0 where terms of inexact numbers are added in another order
};

/// The same without its types, so that what runs it is compiled once for all operations.
struct erased {
  hp::rule_result made;
  std::vector<hp::shape> shapes;
  std::vector<hp::data_type> types;
  std::vector<worlds::numbers> numbers;
  double tolerance = 0;
  std::function<std::vector<hp::dynamic_dtensor>(const std::vector<hp::dynamic_dtensor>&)> apply;
};

template <class Description, std::size_t Count>
erased erase(const drawn<Description, Count>& d) {
  const auto apply = [description = d.description](const std::vector<hp::dynamic_dtensor>& x) {
    return [&]<std::size_t... O>(std::index_sequence<O...>) {
      return hp::detail::apply_all(description, std::array<hp::dynamic_dtensor, Count>{x[O]...});
    }(std::make_index_sequence<Count>{});
  };
  return {d.description.rule(d.shapes.data(), static_cast<int>(Count)),
          {d.shapes.begin(), d.shapes.end()},
          {d.types.begin(), d.types.end()},
          {d.numbers.begin(), d.numbers.end()},
          d.tolerance,
          apply};
}

inline hp::extent_t any_extent() { return *rc::gen::element<hp::extent_t>(4, 6, 8, 12, 24); }

inline hp::shape any_dims(int rank) {
  hp::shape s;
  for (; s.rank < rank; ++s.rank) s.extent[s.rank] = any_extent();
  return s;
}

/// Groups live as long as the tests: a thread start is dearer than a run.
inline const hp::rank_group& group_of(int ranks) {
  static std::map<int, hp::rank_group> groups;
  const auto found = groups.find(ranks);
  if (found != groups.end()) return found->second;
  return groups.emplace(ranks, hp::rank_group(ranks, {.threads = 1})).first->second;
}

namespace detail {

/// Gives axis `a` a random role in the operands' layouts over their terms.
inline void draw_role(const hp::factor_rule& rule, int a, std::vector<hp::layout_value>& terms) {
  const int kind = *rc::gen::inRange(0, 6);
  if (kind == 0 || rule.factor_count == 0) return;
  const int size = terms[0].mesh.size[a];
  if (kind <= 3) {
    const int f = *rc::gen::inRange(0, rule.factor_count);
    const hp::factor_kind k = rule.factor[f].kind;
    if (k != hp::factor_kind::pass_through && k != hp::factor_kind::reduction) return;
    for (int o = 0; o < rule.operand_count; ++o) {
      if (*rc::gen::inRange(0, 8) == 0) continue;  // this one stays whole
      const hp::tensor_factors& t = rule.operand[o];
      for (int i = 0; i < t.first[t.rank]; ++i) {
        if (t.term[i] != f) continue;
        hp::layout_value grown = terms[static_cast<std::size_t>(o)];
        grown.cut_count = 0;
        const hp::layout_value& old = terms[static_cast<std::size_t>(o)];
        int c = 0;
        for (; c < old.cut_count && old.cut[c].dim <= i; ++c) hp::append_cut(grown, old.cut[c]);
        hp::append_cut(grown, {i, a, 1, size});
        for (; c < old.cut_count; ++c) hp::append_cut(grown, old.cut[c]);
        terms[static_cast<std::size_t>(o)] = grown;
      }
    }
    return;
  }
  const int o = *rc::gen::inRange(0, rule.operand_count);
  const hp::reduce_op op = static_cast<hp::reduce_op>(*rc::gen::inRange(1, hp::reduce_op_count));
  const hp::partial_mode mode = hp::detail::word_of(rule.partials, o, op).mode;
  if (mode == hp::partial_mode::refuses && *rc::gen::inRange(0, 4) != 0) return;
  terms[static_cast<std::size_t>(o)].partial[a] = op;
  for (int q = 0; q < rule.operand_count; ++q)
    if (mode == hp::partial_mode::together && hp::detail::word_of(rule.partials, q, op).mode == mode &&
        *rc::gen::inRange(0, 2))
      terms[static_cast<std::size_t>(q)].partial[a] = op;
}

/// Layouts of all operands; false where the draw fits no layout over dims.
inline bool draw_layouts(const hp::factor_rule& rule, const hp::mesh_shape& m, const hp::shape* shapes,
                         std::vector<hp::layout_value>& layouts) {
  const hp::factor_extents e = hp::extents_of(rule, shapes, rule.operand_count);
  RC_ASSERT(e.status.code == hp::extents_code::ok);
  std::vector<hp::layout_value> terms;
  for (int o = 0; o < rule.operand_count; ++o)
    terms.push_back(hp::replicated(m, rule.operand[o].first[rule.operand[o].rank]));
  for (int a = 0; a < m.axis_count; ++a) draw_role(rule, a, terms);
  layouts.clear();
  const bool padded = *rc::gen::inRange(0, 5) == 0;
  for (int o = 0; o < rule.operand_count; ++o) {
    const hp::terms_result merged = hp::merge_terms(terms[static_cast<std::size_t>(o)], rule.operand[o], e.extent);
    if (merged.code != hp::terms_code::ok) return false;
    layouts.push_back(merged.layout);
    if (padded)
      for (int i = 0; i < merged.layout.cut_count; ++i) layouts.back().padded |= 1u << merged.layout.cut[i].dim;
    if (hp::check_shape(layouts.back(), shapes[o]).code != hp::layout_code::ok) return false;
  }
  return true;
}

template <class T>
bool same_elements(const hp::dynamic_dtensor& a, const hp::dynamic_dtensor& b, double tolerance) {
  const std::vector<T> x = hp::full_tensor<T>(a), y = hp::full_tensor<T>(b);
  if (x.size() != y.size()) return false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto p = hp::kernels::load(static_cast<T>(x[i])), q = hp::kernels::load(static_cast<T>(y[i]));
    if (p == q || (p != p && q != q)) continue;
    const double x_value = static_cast<double>(p), y_value = static_cast<double>(q);
    if (!(std::fabs(x_value - y_value) <= tolerance * (1 + std::fabs(y_value)))) return false;
  }
  return true;
}

/// The operand under `l`, and the whole of it on one device.
inline std::array<hp::dynamic_dtensor, 2> draw_operand(const hp::rank_group& group, hp::data_type type,
                                                       const hp::shape& s, const hp::layout_value& l,
                                                       const worlds::numbers& of, std::uint64_t seed) {
  const hp::layout_value alone = hp::replicated({1, {1}}, s.rank);
  return hp::detail::visit_element_type(type, [&](auto t) -> std::array<hp::dynamic_dtensor, 2> {
    using T = typename decltype(t)::type;
    if constexpr (std::is_arithmetic_v<T>) {
      const worlds::sample<T> x = worlds::sampled<T>(group, s, l, seed, of);
      return {x.tensor, hp::generate<T>(group_of(1), s, alone,
                                        [&](hp::extent_t i) -> T { return x.value[static_cast<std::size_t>(i)]; })};
    } else {
      std::abort();  // samples are whole numbers of C++'s own types
    }
  });
}

inline bool run_once(const erased& d) {
  static const std::vector<hp::mesh_shape> meshes{{2, {2, 2}}, {2, {4, 2}}, {3, {2, 2, 2}}, {2, {2, 3}}};
  const hp::mesh_shape m = *rc::gen::elementOf(meshes);
  const hp::rule_result& made = d.made;
  const std::size_t count = d.shapes.size();
  RC_ASSERT(made.status.code == hp::rule_code::ok);
  std::vector<hp::layout_value> layouts;
  if (!draw_layouts(made.rule, m, d.shapes.data(), layouts)) return false;
  std::vector<const hp::layout_value*> list;
  for (const hp::layout_value& l : layouts) list.push_back(&l);
  const hp::full_propagation placed = hp::propagate_fully(made.rule, list.data(), static_cast<int>(count));
  bool truths = false;
  for (const hp::layout_value& l : layouts)
    for (int a = 0; a < m.axis_count; ++a)
      truths = truths || l.partial[a] == hp::reduce_op::all || l.partial[a] == hp::reduce_op::any;
  const auto operand = [&](std::size_t o) {
    worlds::numbers of = d.numbers[o];
    of.truths = of.truths || truths;
    return draw_operand(group_of(hp::position_count(m)), d.types[o], d.shapes[o], layouts[o], of,
                        static_cast<std::uint64_t>(*rc::gen::inRange(0, 1000)));
  };
  std::vector<hp::dynamic_dtensor> sharded, alone;
  for (std::size_t o = 0; o < count; ++o) {
    const std::array<hp::dynamic_dtensor, 2> both = operand(o);
    sharded.push_back(both[0]);
    alone.push_back(both[1]);
  }
  if (placed.status.code != hp::propagation_code::ok) {
    try {
      d.apply(sharded);
    } catch (const hp::operator_error& e) {
      RC_ASSERT(e.layouts == placed.status);
      return false;
    }
    RC_FAIL("accepted what propagation refuses");
  }
  for (int i = 0; i < made.rule.result_count; ++i) {
    const hp::shape s = hp::result_shape(made.rule, d.shapes.data(), static_cast<int>(count), i).shape;
    if (hp::check_shape(placed.result[i], s).code != hp::layout_code::ok) return false;
  }
  const std::vector<hp::dynamic_dtensor> got = d.apply(sharded);
  const std::vector<hp::dynamic_dtensor> expected = d.apply(alone);
  RC_ASSERT(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    RC_ASSERT(got[i].layout() == placed.result[i]);
    RC_ASSERT(got[i].shape() == expected[i].shape());
    RC_ASSERT(hp::replicas_agree(got[i]));
    RC_ASSERT(hp::detail::visit_element_type(got[i].type(), [&](auto t) {
      return same_elements<typename decltype(t)::type>(got[i], expected[i], d.tolerance);
    }));
  }
  return true;
}

}  // namespace detail

/// Runs what `draw()` draws until enough draws were accepted; true when all were right. At least 200 by default.
inline bool holds_erased(const std::string& name, const std::function<erased()>& draw) {
  const int each = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 1 : 3;
  int accepted = 0;
  const bool right = rc::check(name, [&] {
    for (int run = 0, tries = 0; run < each; ++tries) {
      if (tries > 400) RC_FAIL("400 draws without one that the rule accepts");
      if (!detail::run_once(draw())) continue;
      ++run;
      ++accepted;
      tries = 0;
    }
  });
  return right && accepted >= 200;
}

template <class Draw>
bool holds(const std::string& name, const Draw& draw) {
  return holds_erased(name, [&] { return erase(draw()); });
}

}  // namespace properties
