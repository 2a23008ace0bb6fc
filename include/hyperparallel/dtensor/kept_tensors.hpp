// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which operands and results a step of a program keeps: those that a backward operator reads whose gradients are asked for.
//
// What an operator made goes through kept_dtensor; arguments of the program, which the caller holds, stay as they are.

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/kept_dtensor.hpp>
#include <hyperparallel/dtensor/variable.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// What the backward operators of `Operator` read, where these operands are variables. `Fits`: whether the gradient is
/// one of the operator at all; one that is not reads nothing.
template <class Operator, class Sources, bool Fits = true>
struct gradient_reads;
template <class Operator, class... Source, bool Fits>
struct gradient_reads<Operator, std::tuple<Source...>, Fits> {
  static constexpr const gradient_writer& rules = Fits ? gradient_of_type<Operator, sizeof...(Source)> : no_gradient;
  /// Operands that the gradient of the first result goes to as it is.
  static constexpr unsigned passes = Fits ? operator_value_of<Operator>.passes_gradient : 0u;

  static constexpr bool wants(const gradient_rule& rule) {
    const bool wanted[] = {Source::is_variable...};
    for (const char* at = gradients_made_by(rule); *at != '\0'; ++at)
      if (wanted[*at - '0']) return true;
    return false;
  }
  /// Whether a backward operator reads operand ('x') or result ('y') `number`.
  static constexpr bool of(char letter, int number) {
    bool read = false;
    for (int n = 0; n < rules.count; ++n)
      read = read || (wants(rules.rule[n]) && reads_part(rules.rule[n], letter, number));
    return read;
  }
};

/// A tensor that the caller holds.
class caller_dtensor {
 public:
  explicit caller_dtensor(const dynamic_dtensor& x) : x_(x) {}
  const dynamic_dtensor& value() const { return x_; }

 private:
  dynamic_dtensor x_;
};

/// A tensor that a backward operator reads. Arguments of the program are the caller's, and stay where they are.
template <class Tensor, bool Made>
struct kept {
  explicit kept(const Tensor& x) : held(x.dynamic()) {}
  Tensor value() const { return Tensor(held.value()); }
  std::conditional_t<Made, kept_dtensor, caller_dtensor> held;
};

template <class Source>
inline constexpr bool is_made = true;
template <>
inline constexpr bool is_made<no_source> = false;
template <int Number, class Node, int Result, class Tensor>
inline constexpr bool is_made<source<argument_node<Number, Node>, Result, Tensor>> = false;

/// What a step keeps depends on no more of a source than this, so that steps of different programs share it.
template <bool IsVariable, bool IsMade>
struct kind_of_source {
  static constexpr bool is_variable = IsVariable;
};
template <bool IsVariable>
inline constexpr bool is_made<kind_of_source<IsVariable, false>> = false;
template <class Source>
using source_kind = kind_of_source<Source::is_variable, is_made<Source>>;

/// The tensors that backward operators read, `nothing` in place of the others.
template <class Reads, char Letter, class Sources, class... Tensor>
auto kept_tensors(const Tensor&... x) {
  const auto one = []<std::size_t N, class T>(std::integral_constant<std::size_t, N>, const T& t) {
    if constexpr (Reads::of(Letter, static_cast<int>(N)))
      return kept<T, is_made<std::tuple_element_t<N, Sources>>>(t);
    else
      return nothing{};
  };
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::make_tuple(one(std::integral_constant<std::size_t, I>{}, x)...);
  }(std::index_sequence_for<Tensor...>{});
}

/// Brings them back.
template <class... Kept>
auto unpacked(const std::tuple<Kept...>& all) {
  const auto one = []<class K>(const K& k) {
    if constexpr (std::is_same_v<K, nothing>)
      return k;
    else
      return k.value();
  };
  return std::apply([&](const Kept&... k) { return std::make_tuple(one(k)...); }, all);
}

/// Every result is made.
template <class... Tensor>
using made_here = std::tuple<std::type_identity<Tensor>...>;

/// A step and what it keeps.
template <class Memory>
struct keeping_node : gradient_node {
  keeping_node(const void* of, std::vector<shape> made, gradient_targets targets, Memory all)
      : gradient_node(of, std::move(made), std::move(targets)), memory(std::move(all)) {}
  Memory memory;
};
/// Domain: the node was made as such.
template <class Memory>
const Memory& kept_memory(const gradient_node& node) {
  return static_cast<const keeping_node<Memory>&>(node).memory;
}

}}}  // namespace hyperparallel::v0_2::detail
