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

/// What a step keeps for its gradient.
template <class Operands, class Results>
struct operation_memory {
  std::vector<shape> operand_shapes;  ///< none where the compiler knows them
  operator_attributes attributes;
  at_step step;
  Operands read;
  Results made;
};

/// The way back through `Operator` with the rule of `Operation`. `Kinds`: of the operands' sources.
template <class Operator, class Operation, class Kinds, class Operands, class Results>
struct operation_back;
template <class Operator, class Operation, class... Kind, class... Operand, class... Made>
struct operation_back<Operator, Operation, std::tuple<Kind...>, std::tuple<Operand...>, std::tuple<Made...>> {
  using kinds = std::tuple<Kind...>;
  /// The first of the backward operators that does not fit, -1 where all do.
  static constexpr int unfit =
      unfit_backward(operator_value_of<Operator>, gradient_of_type<Operator, sizeof...(Operand)>, Operation::rule,
                     builtin_operator<Operator>);
  using reads = gradient_reads<Operator, kinds, (unfit < 0)>;
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
  using kept_operands = decltype(kept_tensors<reads, 'x', kinds>(std::declval<const Operand&>()...));
  using kept_results = decltype(kept_tensors<reads, 'y', made_here<Made...>>(std::declval<const Made&>()...));
  using memory = operation_memory<kept_operands, kept_results>;

  /// Whether the shapes of the operands are known to the compiler; otherwise they are kept.
  static constexpr bool is_static = (Operand::extents::is_static && ...);

  /// A node of the kind, with what it keeps.
  static std::shared_ptr<const gradient_node> node(const void* kind, gradient_targets operands,
                                                   const operator_attributes& attributes, at_step step,
                                                   const std::tuple<const Made&...>& made, const Operand&... x) {
    return std::apply(
        [&](const Made&... y) -> std::shared_ptr<const gradient_node> {
          memory all{is_static ? std::vector<shape>{} : shapes_of(x...), attributes, step,
                     kept_tensors<reads, 'x', kinds>(x...), kept_tensors<reads, 'y', made_here<Made...>>(y...)};
          return std::make_shared<const keeping_node<memory>>(kind, shapes_of(y...), std::move(operands),
                                                              std::move(all));
        },
        made);
  }

  /// Contributions to the operands from the gradients of the results, `nothing` where there is none.
  template <class... Gradient>
  static auto backward(const gradient_node& at, const std::tuple<Gradient...>& g, gradient_parts& to) {
    static_assert(insist<std::conditional_t<every_gradient_is_read<Gradient...>(), accepted,
                                            diag::operator_on_dtensors_has_no_gradient<Operator>>>::met);
    const memory& all = kept_memory<memory>(at);
    [[maybe_unused]] const auto x = unpacked(all.read);
    [[maybe_unused]] const auto y = unpacked(all.made);
    return [&]<int... N>(std::integer_sequence<int, N...>) {
      passed(at, g, to);
      (by_rule<N>(at, g, x, y, to), ...);
      return boost::mp11::mp_append<decltype(passed(at, g, to)), decltype(by_rule<N>(at, g, x, y, to))...>();
    }(std::make_integer_sequence<int, rules.count>{});
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
  static auto passed([[maybe_unused]] const gradient_node& at, [[maybe_unused]] const std::tuple<First, Rest...>& g,
                     [[maybe_unused]] gradient_parts& to) {
    if constexpr (std::is_same_v<First, nothing> || reads::passes == 0) {
      return boost::mp11::mp_list<>();
    } else {
      return [&]<int... I>(std::integer_sequence<int, I...>) {
        (given<is_in(reads::passes, I), I>(at, std::get<0>(g), to), ...);
        return boost::mp11::mp_append<decltype(given<is_in(reads::passes, I), I>(at, std::get<0>(g), to))...>();
      }(std::make_integer_sequence<int, static_cast<int>(sizeof...(Operand))>{});
    }
  }
  /// Where `Asked`, and the operand is a variable.
  template <bool Asked, int I, class Gradient>
  static auto given([[maybe_unused]] const gradient_node& at, [[maybe_unused]] const Gradient& g,
                    [[maybe_unused]] gradient_parts& to) {
    if constexpr (Asked && std::tuple_element_t<static_cast<std::size_t>(I), kinds>::is_variable)
      return give_gradient<I>(to, at, g);
    else
      return boost::mp11::mp_list<>();
  }

  template <int Number, class Operands, class Results, class... Gradient>
  static auto by_rule([[maybe_unused]] const gradient_node& at, [[maybe_unused]] const std::tuple<Gradient...>& g,
                      [[maybe_unused]] const Operands& x, [[maybe_unused]] const Results& y,
                      [[maybe_unused]] gradient_parts& to) {
    constexpr gradient_rule rule = rules.rule[Number];
    if constexpr (!reads::wants(rule) || !contributes<Gradient...>(rule)) {
      return boost::mp11::mp_list<>();
    } else {
      const auto made_here = [&]<std::size_t... P>(std::index_sequence<P...>) {
        using description = listed_backward<Operator, Operation, Number>;
        constexpr bool reduced =
            !applies_to<description{}, std::remove_cvref_t<decltype(part<Number, P, false>(at, g, x, y))>...>();
        return apply_as<description{}>(backward_operator<Number>(at), part<Number, P, reduced>(at, g, x, y)...);
      }(std::make_index_sequence<static_cast<std::size_t>(parts_read(rule))>{});
      return [&]<std::size_t... M>(std::index_sequence<M...>) {
        (given<true, made_for(Number, M)>(at, result_at<M>(made_here), to), ...);
        return boost::mp11::mp_append<decltype(given<true, made_for(Number, M)>(at, result_at<M>(made_here), to))...>();
      }(std::make_index_sequence<static_cast<std::size_t>(parts_made(rule))>{});
    }
  }
  template <int Number>
  static auto backward_operator(const gradient_node& at) {
    const memory& all = kept_memory<memory>(at);
    if constexpr (is_static)
      return listed_backward<Operator, Operation, Number>{all.attributes, all.step};
    else
      return listed_backward_of_shapes<Operator, Operation, Number>{{all.attributes, all.step},
                                                                    all.operand_shapes.data()};
  }
  static constexpr int made_for(int rule, std::size_t m) { return gradients_made_by(rules.rule[rule])[m] - '0'; }
  template <std::size_t M, class Results>
  static const auto& result_at(const Results& r) {
    if constexpr (dtensor_type<Results>)
      return r;
    else
      return std::get<M>(r);
  }

  /// What part `P` of a backward rule's text stands for; gradients lie as their values where `Reduced`.
  template <int Number, std::size_t P, bool Reduced, class Operands, class Results, class... Gradient>
  static auto part([[maybe_unused]] const gradient_node& at, [[maybe_unused]] const std::tuple<Gradient...>& g,
                   [[maybe_unused]] const Operands& x, [[maybe_unused]] const Results& y) {
    constexpr written_part p = part_of_gradient(rules.rule[Number].text, static_cast<int>(P));
    constexpr std::size_t n = static_cast<std::size_t>(p.number);
    if constexpr (p.letter == 'x')
      return std::get<n>(x);
    else if constexpr (p.letter == 'y')
      return std::get<n>(y);
    else if constexpr (Reduced)
      return brought_to<gradient_tensor<made_at<n>>>(gradient_of<n>(at, g));
    else
      return gradient_of<n>(at, g);
  }
  template <std::size_t R>
  using made_at = std::tuple_element_t<R, std::tuple<Made...>>;

  /// The gradient of result `R`: zeros that lie as the result where nothing reads it.
  template <std::size_t R, class... Gradient>
  static auto gradient_of(const gradient_node& at, const std::tuple<Gradient...>& g) {
    if constexpr (std::is_same_v<std::tuple_element_t<R, std::tuple<Gradient...>>, nothing>)
      return zeros<gradient_tensor<made_at<R>>>(group_of(g), at.results[R]);
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

/// A step of a program: `Operator` with the rule of `Operation`.
template <class Operator, class Operation, class Sources, class Operands, class Results>
struct operation_node;
template <class Operator, class Operation, class... Source, class Operands, class Results>
struct operation_node<Operator, Operation, std::tuple<Source...>, Operands, Results>
    : operation_back<Operator, Operation, std::tuple<source_kind<Source>...>, Operands, Results> {
  using sources = std::tuple<Source...>;
  using way_back = operation_back<Operator, Operation, std::tuple<source_kind<Source>...>, Operands, Results>;
};

}  // namespace detail

}}  // namespace hyperparallel::v0_2
