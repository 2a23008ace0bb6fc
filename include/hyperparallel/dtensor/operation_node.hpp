// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a listed operator on variables leaves behind: the step of a program that gradients come back through.
//
// Gradients that a backward operator takes as they come stay pending sums; where its rule refuses them they are reduced
// to the layout of the value they belong to. A backward operator that reads the gradients of several results runs where
// one of these is there; the gradient of a result that nothing reads is zeros. What hands no gradient back says why:
// a gradient that does not fit its operator (gradient_fit.hpp), none at all, or none with a kernel.

#include <concepts>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/creation.hpp>
#include <hyperparallel/dtensor/kept_tensors.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// In an error line: what a gradient says of one of its backward operators.
template <char...>
struct gradient_text {};

namespace diag {
template <class Operator>
struct operator_on_dtensors_has_no_gradient;
template <class Operator>
struct backward_operator_has_no_kernel;
template <class Operator, class Text>
struct gradient_does_not_fit_its_operator;
}  // namespace diag

namespace detail {

/// No error line: an operation of the program has its own already.
struct refused_before {};

/// `applies` of a pack that is never empty.
template <auto Description, class... Tensor>
constexpr bool applies_to() {
  return []<class First, class... Rest>(std::tuple<First, Rest...>*) {
    return applies<Description, First, Rest...>;
  }(static_cast<std::tuple<Tensor...>*>(nullptr));
}

template <class Operator, int Operands, int Number>
struct text_of_rule {
  static constexpr const char* text = gradient_of_type<Operator, Operands>.rule[Number].text;
  static constexpr int length = text_length(text);
};

template <class Operator, class Operation, class Sources, class Operands, class Results>
struct operation_node;

/// A step of a program: `Operator` with the rule of `Operation`.
template <class Operator, class Operation, class... Source, class... Operand, class... Made>
struct operation_node<Operator, Operation, std::tuple<Source...>, std::tuple<Operand...>, std::tuple<Made...>>
    : gradient_node {
  using sources = std::tuple<Source...>;
  /// The first of the backward operators that does not fit, -1 where all do.
  static constexpr int unfit =
      unfit_backward(operator_value_of<Operator>, gradient_of_type<Operator, sizeof...(Operand)>, Operation::rule,
                     builtin_operator<Operator>);
  using reads = gradient_reads<Operator, sources, (unfit < 0)>;
  static constexpr const gradient_writer& rules = reads::rules;
  static constexpr int result_count = static_cast<int>(sizeof...(Made));

  /// Why no gradient comes back from here: `accepted` where one does.
  static constexpr auto refusal() {
    if constexpr (Operation::status.code != rule_code::ok)
      return std::type_identity<refused_before>{};
    else if constexpr (unfit >= 0)
      return std::type_identity<diag::gradient_does_not_fit_its_operator<
          Operator, spelled<gradient_text, text_of_rule<Operator, sizeof...(Operand), unfit>>>>{};
    else if constexpr (!has_gradient())
      return std::type_identity<diag::operator_on_dtensors_has_no_gradient<Operator>>{};
    else if constexpr (!has_kernels())
      return std::type_identity<diag::backward_operator_has_no_kernel<Operator>>{};
    else
      return std::type_identity<accepted>{};
  }
  using kept_operands = decltype(kept_tensors<reads, 'x', sources>(std::declval<const Operand&>()...));
  using kept_results = decltype(kept_tensors<reads, 'y', made_here<Made...>>(std::declval<const Made&>()...));

  /// Whether the shapes of the operands are known to the compiler; otherwise they are kept.
  static constexpr bool is_static = (Operand::extents::is_static && ...);

  operation_node(const operator_attributes& given, at_step when, sources from, kept_operands x, kept_results y,
                 std::vector<shape> taken, std::vector<shape> shapes)
      : gradient_node(&kind_of_node<operation_node>, std::move(shapes)),
        operand_shapes(std::move(taken)),
        attributes(given),
        step(when),
        operand(std::move(from)),
        read(std::move(x)),
        made(std::move(y)) {}

  std::vector<shape> operand_shapes;  ///< none where the compiler knows them
  operator_attributes attributes;
  at_step step;
  sources operand;
  kept_operands read;
  kept_results made;

  /// Contributions to the operands from the gradients of the results, `nothing` where there is none.
  template <class... Gradient>
  auto backward(const std::tuple<Gradient...>& g) const {
    static_assert(insist<std::conditional_t<every_gradient_is_read<Gradient...>(), accepted,
                                            diag::operator_on_dtensors_has_no_gradient<Operator>>>::met);
    [[maybe_unused]] const auto x = unpacked(read);
    [[maybe_unused]] const auto y = unpacked(made);
    return [&]<std::size_t... N>(std::index_sequence<N...>) {
      return std::tuple_cat(passed(g), by_rule<static_cast<int>(N)>(g, x, y)...);
    }(std::make_index_sequence<static_cast<std::size_t>(rules.count)>{});
  }

 private:
  static constexpr bool has_gradient() {
    return (reads::passes != 0 || rules.count > 0) && operator_value_of<Operator>.has_gradient_for(Operation::rule);
  }
  /// Whether all backward operators that are asked for can run.
  static constexpr bool has_kernels() {
    bool all = true;
    if constexpr (rules.count > 0) {
      using element =
          typename lead_element<operator_value_of<Operator>.indices, 0, void, typename Operand::element...>::type;
      for (int n = 0; n < rules.count; ++n)
        all = all && (!reads::wants(rules.rule[n]) || has_backward_kernel<element, Operator>(n));
    }
    return all;
  }
  template <class... Gradient>
  static constexpr bool every_gradient_is_read() {
    const bool there[] = {!std::is_same_v<Gradient, nothing>...};
    for (int r = 0; r < result_count; ++r) {
      bool read = !there[r] || (r == 0 && reads::passes != 0);
      for (int n = 0; n < rules.count; ++n) read = read || reads_gradient(rules.rule[n], r);
      if (!read) return false;
    }
    return true;
  }
  /// Whether the rule makes something that is not zero: a gradient that it reads is there, or it reads none.
  template <class... Gradient>
  static constexpr bool contributes(const gradient_rule& rule) {
    const bool there[] = {!std::is_same_v<Gradient, nothing>...};
    bool reads_some = false, reads_one_that_is_there = false;
    for (int r = 0; r < result_count; ++r) {
      if (!reads_gradient(rule, r)) continue;
      reads_some = true;
      reads_one_that_is_there = reads_one_that_is_there || there[r];
    }
    return reads_one_that_is_there || !reads_some;
  }

  /// The gradient of the first result, for each operand that it goes to as it is.
  template <class First, class... Rest>
  auto passed([[maybe_unused]] const std::tuple<First, Rest...>& g) const {
    if constexpr (std::is_same_v<First, nothing>) {
      return std::tuple<>();
    } else {
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::tuple_cat(passed_to<I>(std::get<0>(g))...);
      }(std::index_sequence_for<Source...>{});
    }
  }
  template <std::size_t I, class Gradient>
  auto passed_to([[maybe_unused]] const Gradient& g) const {
    if constexpr (is_in(reads::passes, static_cast<int>(I)))
      return contributed(std::get<I>(operand), g);
    else
      return std::tuple<>();
  }

  template <int Number, class Operands, class Results, class... Gradient>
  auto by_rule(const std::tuple<Gradient...>& g, const Operands& x, const Results& y) const {
    constexpr gradient_rule rule = rules.rule[Number];
    if constexpr (!reads::wants(rule) || !contributes<Gradient...>(rule)) {
      return std::tuple<>();
    } else {
      const auto made_here = [&]<std::size_t... P>(std::index_sequence<P...>) {
        using description = listed_backward<Operator, Operation, Number>;
        if constexpr (applies_to<description{}, std::remove_cvref_t<decltype(part<Number, P, false>(g, x, y))>...>())
          return apply_as<description{}>(backward_operator<Number>(), part<Number, P, false>(g, x, y)...);
        else
          return apply_as<description{}>(backward_operator<Number>(), part<Number, P, true>(g, x, y)...);
      }(std::make_index_sequence<static_cast<std::size_t>(parts_read(rule))>{});
      return [&]<std::size_t... M>(std::index_sequence<M...>) {
        return std::tuple_cat(contributed(std::get<made_for(Number, M)>(operand), result_at<M>(made_here))...);
      }(std::make_index_sequence<static_cast<std::size_t>(parts_made(rule))>{});
    }
  }
  template <int Number>
  auto backward_operator() const {
    if constexpr (is_static)
      return listed_backward<Operator, Operation, Number>{attributes, step};
    else
      return listed_backward_of_shapes<Operator, Operation, Number>{{attributes, step}, operand_shapes.data()};
  }
  static constexpr std::size_t made_for(int rule, std::size_t m) {
    return static_cast<std::size_t>(gradients_made_by(rules.rule[rule])[m] - '0');
  }
  template <std::size_t M, class Results>
  static const auto& result_at(const Results& r) {
    if constexpr (dtensor_type<Results>)
      return r;
    else
      return std::get<M>(r);
  }

  /// What part `P` of a backward rule's text stands for; gradients lie as their values where `Reduced`.
  template <int Number, std::size_t P, bool Reduced, class Operands, class Results, class... Gradient>
  auto part(const std::tuple<Gradient...>& g, const Operands& x, const Results& y) const {
    constexpr written_part p = part_of_gradient(rules.rule[Number].text, static_cast<int>(P));
    constexpr std::size_t n = static_cast<std::size_t>(p.number);
    if constexpr (p.letter == 'x')
      return std::get<n>(x);
    else if constexpr (p.letter == 'y')
      return std::get<n>(y);
    else if constexpr (Reduced)
      return brought_to<gradient_tensor<made_at<n>>>(gradient_of<n>(g));
    else
      return gradient_of<n>(g);
  }
  template <std::size_t R>
  using made_at = std::tuple_element_t<R, std::tuple<Made...>>;

  /// The gradient of result `R`: zeros that lie as the result where nothing reads it.
  template <std::size_t R, class... Gradient>
  auto gradient_of(const std::tuple<Gradient...>& g) const {
    if constexpr (std::is_same_v<std::tuple_element_t<R, std::tuple<Gradient...>>, nothing>)
      return zeros<gradient_tensor<made_at<R>>>(group_of(g), results[R]);
    else
      return std::get<R>(g);
  }
  /// Domain: one of the gradients is there.
  template <std::size_t First = 0, class... Gradient>
  static const rank_group& group_of(const std::tuple<Gradient...>& g) {
    if constexpr (std::is_same_v<std::tuple_element_t<First, std::tuple<Gradient...>>, nothing>)
      return group_of<First + 1>(g);
    else
      return std::get<First>(g).group();
  }
};

}  // namespace detail

}}  // namespace hyperparallel::v0_2
