// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels of the operators of a list (operator_list.hpp): what a program of it is run with.
//
//   hp::model_run<float> run(graph, strategy, {.program = {.kernels = hp::kernels_of<float, mine>}});
//
// A user's operator has a static member template `run(const_view<T>…, tensor_view<T>…)` that takes the blocks of its
// operands, then of its results; one that wants attributes, or to know where the box lies, takes the `operator_call`
// before them. Operands of the mask `indices` hold numbers, `const_view<std::int32_t>`, results of `index_results`
// make them, `tensor_view<std::int32_t>`.
// Laws: as ops/builtin_kernels.hpp; a kernel gets the extents of its box and works on that alone. Operators without a kernel
// have none (nullptr), and a program that runs one is refused.

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <hyperparallel/kernels/ops/builtin_kernels.hpp>
#include <hyperparallel/kernels/tensor_view.hpp>
#include <hyperparallel/operators/derive.hpp>
#include <hyperparallel/operators/operator_list.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// How many operands a rule's text writes, or results.
constexpr std::size_t parts_written(const char* text, bool results) {
  std::size_t parts[2] = {1, 1};
  int side = 0;
  for (const char* at = text; *at != '\0'; ++at) {
    if (*at == '-') side = 1;
    if (*at == ',') ++parts[side];
  }
  return parts[results ? 1 : 0];
}

/// The block of a tensor: its extents are those of the box.
inline shape block_shape(const operator_call& c, const tensor_factors& t) {
  shape s;
  s.rank = t.rank;
  for (int d = 0; d < t.rank; ++d) s.extent[d] = c.loop[t.term[d]].extent;
  return s;
}

template <class Operator, class T, class... Arguments>
concept runs_on = requires(const Arguments&... arguments) { Operator::template run<T>(arguments...); };

template <class T, class Operator, class Operands, class Results>
struct view_kernel;
template <class T, class Operator, std::size_t... O, std::size_t... R>
struct view_kernel<T, Operator, std::index_sequence<O...>, std::index_sequence<R...>> {
  template <unsigned Numbers, std::size_t I>
  using element_in = std::conditional_t<is_in(Numbers, static_cast<int>(I)), std::int32_t, T>;
  template <std::size_t I>
  using element = element_in<operator_value_of<Operator>.indices, I>;
  template <std::size_t I>
  using made = element_in<operator_value_of<Operator>.index_results, I>;

  static void run(const operator_call& c) {
    run_on(c,
           const_view<element<O>>{static_cast<const element<O>*>(c.operand[O]), block_shape(c, c.rule->operand[O])}...,
           tensor_view<made<R>>{static_cast<made<R>*>(c.result[R]), block_shape(c, c.rule->result[R])}...);
  }

 private:
  template <class... Views>
  static void run_on(const operator_call& c, const Views&... views) {
    if constexpr (runs_on<Operator, T, const operator_call&, Views...>)
      Operator::template run<T>(c, views...);
    else if constexpr (runs_on<Operator, T, Views...>)
      Operator::template run<T>(views...);
    else
      static_assert(insist<diag::kernel_does_not_take_its_operator<Operator, operands<static_cast<int>(sizeof...(O))>,
                                                                   tensors_made<static_cast<int>(sizeof...(R))>>>::met);
  }
};

template <class T, class Operator>
concept has_own_kernel = requires { &Operator::template run<T>; };

template <class T, class Operator>
constexpr operator_kernel kernel_of_type() {
  if constexpr (has_own_kernel<T, Operator>)
    return &view_kernel<T, Operator, std::make_index_sequence<parts_written(Operator::text, false)>,
                        std::make_index_sequence<parts_written(Operator::text, true)>>::run;
  else
    return nullptr;
}

template <class T, class List>
struct kernels_after_builtin;
template <class T, class... All>
struct kernels_after_builtin<T, boost::mp11::mp_list<All...>> {
  static constexpr operator_kernel item[sizeof...(All) + 1] = {kernel_of_type<T, All>()...};
};

}  // namespace detail

/// The kernel of an operator type that computes in T, float or double; none where a user's operator has no `run`.
template <class T, named_operator_type Operator>
constexpr operator_kernel kernel_of() {
  if constexpr (!builtin_operator<Operator>)
    return detail::kernel_of_type<T, Operator>();
  else if constexpr (is_compiled)
    return kernel_of<T>(id_of<Operator>);
  else
    return kernel_for<T, Operator>;
}

/// The kernel of each operator of a list, for `program_options::kernels`. T is float or double.
template <class T, class Operators>
operator_kernel kernels_of(operator_id op) {
  using own = boost::mp11::mp_drop_c<typename Operators::types, static_cast<std::size_t>(builtin_operator_count)>;
  const int number = static_cast<int>(op) - builtin_operator_count;
  if (number < 0) return kernel_of<T>(op);
  return number < Operators::list.count - builtin_operator_count ? detail::kernels_after_builtin<T, own>::item[number]
                                                                 : nullptr;
}

}}  // namespace hyperparallel::v0_2
