// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators of a program's list on distributed tensors: the built-in ones, and a user's, by the rule and the kernel that
// models have.
//
//   auto y = hp::apply<squared_relu>(x);                                   // mine
//   auto n = hp::apply<hp::ops::rms_norm>({.real = {1e-6}}, x, weight);    // the library's, with attributes
//   auto p = hp::apply<hp::ops::contract, "bsk,kn->bsn">(x, w);            // an instance's own text
//   auto m = hp::apply(hp::listed<hp::ops::reduce, "ab->a">{{.reduction = hp::reduce_op::max}}, dynamic);
//
// Law: at every position the kernel of models runs on the box that the layouts give, so a model and a program of
// distributed tensors with the same layouts have the same bits. bf16 and f16 are computed in float (widened_kernel.hpp).
// Texts of groups and digits are refused: kernels run over one loop a dim.

#include <concepts>
#include <tuple>
#include <type_traits>

#include <hyperparallel/dtensor/index_check.hpp>
#include <hyperparallel/dtensor/operation.hpp>
#include <hyperparallel/kernels/operator_kernels.hpp>
#include <hyperparallel/kernels/reduction.hpp>
#include <hyperparallel/kernels/widened_kernel.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Extents of dims that results alone have, by letter: the experts and the capacity of a dispatch.
struct created_extents {
  char letter[2] = {};
  extent_t extent[2] = {};
};

/// The step of training that an operator belongs to, from 1: Adam corrects its moments by it, dropout drops others.
struct at_step {
  std::int64_t number = 1;
};

namespace detail {

constexpr bool runs_over_one_loop_a_dim(const factor_rule& r) {
  bool plain = true;
  for (int i = 0; i < r.operand_count; ++i) plain = plain && r.operand[i].plain;
  for (int i = 0; i < r.result_count; ++i) plain = plain && r.result[i].plain;
  return plain;
}

/// The box that the blocks at one position are of.
inline operator_call call_at(const local_operation& at, const operator_attributes& attributes) {
  operator_call c;
  c.attributes = &attributes;
  c.rule = at.rule;
  const auto add = [&c](const tensor_factors& t, const box& place, const shape& whole) {
    for (int d = 0; d < t.rank; ++d)
      c.loop[t.term[d]] = {place.dim[d].begin, place.dim[d].end - place.dim[d].begin, whole.extent[d]};
  };
  for (std::size_t i = 0; i < at.operand.size(); ++i) {
    add(at.rule->operand[i], at.operand[i].place, at.operand[i].whole);
    c.operand[i] = at.operand[i].data;
  }
  for (std::size_t r = 0; r < at.result.size(); ++r) {
    add(at.rule->result[r], at.result[r].place, at.result[r].whole);
    c.result[r] = at.result[r].data;
  }
  return c;
}

/// Numbers are below the extent of the factor that the operator names; negative ones where it takes them for none. Throws
/// dtensor_error.
inline void check_numbers(const local_operation& at, const operator_call& c, const operator_value& o) {
  if (o.index_below == '\0') return;
  extent_t limit = -1;
  for (int f = 0; f < c.rule->factor_count; ++f)
    if (c.rule->factor[f].letter == o.index_below) limit = c.loop[f].whole;
  for (std::size_t i = 0; i < at.operand.size() && limit >= 0; ++i) {
    if (!is_in(o.indices, static_cast<int>(i))) continue;
    const const_view<std::int32_t> number = at.operand[i].view<std::int32_t>();
    for (extent_t e = 0; e < volume(number); ++e)
      if (number.data[e] >= limit || (number.data[e] < 0 && !o.index_or_negative))
        refuse_index(at.operand[i], e, number.data[e], limit);
  }
}

/// What a reduction over nothing gives, in the type that the result is stored in: the least value for a maximum, the
/// largest for a minimum (infinities of floats), 1 for a product and for `all`. Results read as zero, which is what a
/// sum and `any` give. O(elements of the results).
inline void fill_empty(const local_operation& at) {
  for (std::size_t r = 0; r < at.result.size(); ++r)
    for (int f = 0; f < at.rule->factor_count; ++f) {
      if (has_factor(at.rule->result[r], f)) continue;
      visit_element_type(at.result[r].type, [&]<class Stored>(std::type_identity<Stored>) {
        using computed = kernels::computing<Stored>;
        const auto fill = [&](computed value) {
          const tensor_view<Stored> out = at.result[r].template view<Stored>();
          for (extent_t i = 0; i < volume(out); ++i) out.data[i] = kernels::store<Stored>(value);
        };
        const reduce_op op = at.rule->factor[f].op;
        if (op == reduce_op::max) fill(kernels::detail::lowest<computed>);
        if (op == reduce_op::min) fill(kernels::detail::highest<computed>);
        if (op == reduce_op::prod || op == reduce_op::all) fill(computed(1));
      });
    }
}

/// Runs a kernel that computes in T at one position. Throws dtensor_error, and what the kernel throws.
template <class T>
void run_at(const local_operation& at, const operator_value& o, operator_kernel function,
            const operator_attributes& attributes, at_step step = {}) {
  operator_call c = call_at(at, attributes);
  c.step = step.number;
  for (int f = 0; f < c.rule->factor_count; ++f)
    if (c.loop[f].extent == 0) return fill_empty(at);
  check_numbers(at, c, o);
  block_types types;
  for (std::size_t i = 0; i < at.operand.size(); ++i) types.operand[i] = at.operand[i].type;
  for (std::size_t r = 0; r < at.result.size(); ++r) types.result[r] = at.result[r].type;
  run_widened<T>(function, c, types);
}

/// The element type of all operands outside the mask `Indices`, float where there is none. `ok`: they are alike and
/// computed in float or double, and those of the mask hold std::int32_t.
template <unsigned Indices, int Index, class Lead, class... X>
struct lead_element {
  using type = std::conditional_t<std::is_void_v<Lead>, float, Lead>;
  static constexpr bool ok = std::same_as<kernels::computing<type>, float> || std::same_as<type, double>;
};
template <unsigned Indices, int Index, class Lead, class First, class... Rest>
struct lead_element<Indices, Index, Lead, First, Rest...> {
  static constexpr bool holds_numbers = is_in(Indices, Index);
  using next = lead_element<Indices, Index + 1, std::conditional_t<holds_numbers || !std::is_void_v<Lead>, Lead, First>,
                            Rest...>;
  using type = typename next::type;
  static constexpr bool ok = next::ok && (holds_numbers ? std::same_as<First, std::int32_t>
                                                        : std::is_void_v<Lead> || std::same_as<First, Lead>);
};

/// The same of the views that a kernel is called with: those of const elements are the operands'.
template <unsigned Indices, class Operands>
struct lead_element_of;
template <unsigned Indices, class... X>
struct lead_element_of<Indices, boost::mp11::mp_list<X...>>
    : lead_element<Indices, 0, void, std::remove_const_t<X>...> {};
template <unsigned Indices, class... T>
using element_of_views = lead_element_of<Indices, boost::mp11::mp_copy_if<boost::mp11::mp_list<T...>, std::is_const>>;

/// Whether there is a kernel for elements of type T.
template <class Operator, class T>
concept computes_elements = builtin_operator<Operator> || has_own_kernel<kernels::computing<T>, Operator>;

template <class Operator, class T, class Results>
struct listed_results;
template <class Operator, class T, std::size_t... R>
struct listed_results<Operator, T, std::index_sequence<R...>> {
  using type = std::tuple<
      std::conditional_t<is_in(operator_value_of<Operator>.index_results, static_cast<int>(R)), std::int32_t, T>...>;
};

}  // namespace detail

/// A listed operator as a description (operation.hpp). `Text` stands in for the text of an operator that has none.
template <named_operator_type Operator, fixed_string Text = "">
struct listed {
  operator_attributes attributes{};
  created_extents created{};
  at_step step{};
  /// Operands in which it is linear with the others fixed, as a mask: a pending sum passes there. 0: what the operator
  /// says, which for products and sums of models is to reduce first.
  unsigned linear = 0;

  static constexpr unsigned indices = operator_value_of<Operator>.indices;

  constexpr rule_result rule(const shape* x, int count) const {
    const operator_value& o = operator_value_of<Operator>;
    operand_ranks ranks{count};
    for (int i = 0; i < count && i < max_operands; ++i) ranks.rank[i] = x[i].rank;
    const partial_words words = linear != 0 ? linear_in_each(linear) : o.partials;
    rule_result r = rule_from(o.name, Text.text[0] != '\0' ? Text.text : o.text,
                              {attributes.reduction, words, o.flops_per_point}, ranks);
    if (r.status.code != rule_code::ok) return r;
    if (!detail::runs_over_one_loop_a_dim(r.rule)) return no_rule(o.name, rule_code::text_is_malformed);
    for (int f = 0; f < r.rule.factor_count; ++f)
      for (int i = 0; i < 2; ++i)
        if (created.letter[i] != '\0' && created.letter[i] == r.rule.factor[f].letter)
          r.rule.factor[f].extent = created.extent[i];
    if constexpr (requires { &Operator::fits; }) {
      const factor_extents known = extents_of(r.rule, x, count);
      bool all = known.status.code == extents_code::ok;
      for (int f = 0; f < r.rule.factor_count; ++f) all = all && known.extent[f] >= 0;
      const instance_fit fit = all ? o.fits(r.rule, known.extent, attributes) : instance_fit{};
      if (fit.is == instance_fit::verdict::not_a_multiple)
        return no_rule(o.name, rule_code::last_dim_is_no_multiple, static_cast<int>(fit.made));
      if (fit.is != instance_fit::verdict::fits) return no_rule(o.name, rule_code::sizes_do_not_fit);
    }
    return checked_rule(r.rule);
  }

  static constexpr const char* text = Text.text[0] != '\0' ? Text.text : Operator::text;
  template <class... X>
  using results = typename detail::listed_results<Operator, typename detail::lead_element<indices, 0, void, X...>::type,
                                                  std::make_index_sequence<detail::parts_written(text, true)>>::type;

  /// Views of the operands, then of the results.
  template <class... T>
    requires(detail::element_of_views<indices, T...>::ok &&
             detail::computes_elements<Operator, typename detail::element_of_views<indices, T...>::type>)
  void run(const local_operation& at, tensor_view<T>...) const {
    using computed = kernels::computing<typename detail::element_of_views<indices, T...>::type>;
    detail::run_at<computed>(at, operator_value_of<Operator>, kernel_of<computed, Operator>(), attributes, step);
  }
};

/// The operator on dtensors. `attributes` are known when it runs; an instance whose rule depends on them (a reduction that
/// is no sum, created dims) is `apply<listed<…>{…}>(x…)`.
template <named_operator_type Operator, fixed_string Text = "", dtensor_type First, dtensor_type... Rest>
auto apply(at_step step, const operator_attributes& attributes, const First& first, const Rest&... rest) {
  return apply_as<listed<Operator, Text>{}>(listed<Operator, Text>{attributes, {}, step}, first, rest...);
}
template <named_operator_type Operator, fixed_string Text = "", dtensor_type First, dtensor_type... Rest>
auto apply(const operator_attributes& attributes, const First& first, const Rest&... rest) {
  return apply<Operator, Text>(at_step{}, attributes, first, rest...);
}
template <named_operator_type Operator, fixed_string Text = "", dtensor_type First, dtensor_type... Rest>
auto apply(const First& first, const Rest&... rest) {
  return apply<Operator, Text>(operator_attributes{}, first, rest...);
}

}}  // namespace hyperparallel::v0_2
