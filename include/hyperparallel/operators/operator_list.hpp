// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operators of a program as a type: the built-in ones, and a user's.
//
//   struct squared_relu_gradient {
//     static constexpr const char *name = "squared_relu_gradient", *text = "*,*->*";
//     template <class T> static void run(hp::const_view<T> dy, hp::const_view<T> x, hp::tensor_view<T> dx) { … }
//   };
//   struct squared_relu {
//     static constexpr const char *name = "squared_relu", *text = "*->*";
//     static constexpr int flops_per_point = 2;
//     template <class Builder>
//     static constexpr void gradient(Builder& b) { b.template backward<squared_relu_gradient>("g0,x0>0"); }
//     template <class T> static void run(hp::const_view<T> x, hp::tensor_view<T> y) { … }
//   };
//   using mine = hp::operators<hp::builtin, squared_relu, squared_relu_gradient>;
//
// `text` is the operator's factor rule (rule_text.hpp), and all that strategies ask. `gradient` names the backward
// operators (gradient_writer.hpp); an operator without one is refused where a gradient reaches it, unless it says
// `not_differentiable`. Further members, all optional, are those of operator_value.hpp under the same names. Three more:
//   flops          a function of `local_work`: the cost, where `flops_per_point` (1) does not tell it
//   scratch_bytes  another: memory that a call reads and writes beside its operands
//   linear         operands in which a function of elements is linear, the others fixed: on distributed tensors their pending
//                  sums pass, models reduce them first
// Kernels are the business of those who run the graph (operator_kernels.hpp). The library's operators are such structs, one
// file a family in ops/.
// Laws: no operator and no name stands twice in a list; built-in operators come first, in one order, in every list.

#include <type_traits>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <hyperparallel/operators/gradient_writer.hpp>
#include <hyperparallel/operators/operator_rule.hpp>
#include <hyperparallel/operators/ops/activations.hpp>
#include <hyperparallel/operators/ops/add_bias.hpp>
#include <hyperparallel/operators/ops/arithmetic.hpp>
#include <hyperparallel/operators/ops/attention_block.hpp>
#include <hyperparallel/operators/ops/contract.hpp>
#include <hyperparallel/operators/ops/convolution.hpp>
#include <hyperparallel/operators/ops/cross_entropy.hpp>
#include <hyperparallel/operators/ops/dispatch.hpp>
#include <hyperparallel/operators/ops/dropout.hpp>
#include <hyperparallel/operators/ops/embed.hpp>
#include <hyperparallel/operators/ops/latent_attention.hpp>
#include <hyperparallel/operators/ops/layer_norm.hpp>
#include <hyperparallel/operators/ops/linear_attention.hpp>
#include <hyperparallel/operators/ops/movement.hpp>
#include <hyperparallel/operators/ops/optimizer_steps.hpp>
#include <hyperparallel/operators/ops/reduce.hpp>
#include <hyperparallel/operators/ops/rms_norm.hpp>
#include <hyperparallel/operators/ops/rope.hpp>
#include <hyperparallel/operators/ops/scale.hpp>
#include <hyperparallel/operators/ops/short_convolution.hpp>
#include <hyperparallel/operators/ops/softmax.hpp>
#include <hyperparallel/operators/ops/sum.hpp>
#include <hyperparallel/operators/ops/top_k.hpp>
#include <hyperparallel/support/diagnostic.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The operators of the library.
struct builtin {};
using builtin_operators = boost::mp11::mp_list<
    ops::contract, ops::reduce, ops::broadcast, ops::sum, ops::scale, ops::multiply, ops::embed, ops::embed_gradient,
    ops::rms_norm, ops::rms_norm_gradient, ops::rope, ops::attention, ops::attention_gradient, ops::latent_attention,
    ops::latent_attention_gradient, ops::attention_block, ops::attention_merge, ops::attention_block_gradient,
    ops::swiglu, ops::swiglu_gradient, ops::silu, ops::silu_gradient, ops::sigmoid, ops::sigmoid_gradient, ops::softmax,
    ops::softmax_gradient, ops::top_k, ops::biased_top_k, ops::top_k_gradient, ops::count_experts, ops::dispatch,
    ops::undispatch, ops::combine, ops::dispatch_weighted, ops::combine_weight_gradient, ops::exp_sum, ops::pick,
    ops::token_loss, ops::cross_entropy_gradient, ops::sum_of_squares, ops::clip_factor, ops::fill, ops::accumulate,
    ops::sgd, ops::sgd_master, ops::adamw, ops::adamw_master, ops::muon, ops::muon_master, ops::update_bias, ops::gelu,
    ops::gelu_gradient, ops::layer_norm, ops::layer_norm_gradient, ops::group_norm, ops::group_norm_gradient,
    ops::dropout, ops::convolution, ops::convolution_input_gradient, ops::convolution_weight_gradient, ops::add_bias,
    // Arithmetic of elements.
    ops::relu, ops::relu_gradient, ops::tanh, ops::tanh_gradient, ops::exp, ops::log, ops::sqrt, ops::sqrt_gradient,
    ops::divide, ops::divide_gradient, ops::maximum, ops::maximum_gradient, ops::negate, ops::subtract, ops::shift,
    // Means, and elements moved.
    ops::mean, ops::mean_gradient, ops::transpose, ops::reshape, ops::concat, ops::split, ops::slice,
    ops::slice_gradient,
    // Feed-forward layers and attention of later families.
    ops::gelu_tanh, ops::gelu_tanh_gradient, ops::geglu, ops::geglu_gradient, ops::clamped_swiglu,
    ops::clamped_swiglu_gradient, ops::attention_with_sinks, ops::attention_sink_gradient,
    // Linear attention.
    ops::softplus, ops::softplus_gradient, ops::short_convolution, ops::short_convolution_gradient,
    ops::linear_attention, ops::linear_attention_gradient, ops::biased_short_convolution,
    ops::biased_short_convolution_gradient, ops::squared_relu, ops::squared_relu_gradient>;
inline constexpr int builtin_operator_count = static_cast<int>(boost::mp11::mp_size<builtin_operators>::value);

namespace detail {

template <class Operator, int Number>
struct numbered_operator {};
template <class List, class Numbers>
struct numbered_operators;
template <class... All, int... Number>
struct numbered_operators<boost::mp11::mp_list<All...>, boost::mp11::integer_sequence<int, Number...>>
    : numbered_operator<All, Number>... {};
using numbered_builtin_operators =
    numbered_operators<builtin_operators, boost::mp11::make_integer_sequence<int, builtin_operator_count>>;

/// Overload resolution finds the base of a type, without an instantiation for each operator of the list.
template <class Operator, int Number>
constexpr int number_of(const numbered_operator<Operator, Number>&) {
  return Number;
}

}  // namespace detail

template <class Operator>
concept builtin_operator =
    requires(const detail::numbered_builtin_operators& all) { detail::number_of<Operator>(all); };

/// The place of a built-in operator in every list.
template <builtin_operator Operator>
inline constexpr operator_id id_of =
    static_cast<operator_id>(detail::number_of<Operator>(detail::numbered_builtin_operators{}));

namespace detail {

constexpr bool is_builtin(operator_id op) { return static_cast<int>(op) < builtin_operator_count; }

}  // namespace detail

namespace diag {
template <class Operator>
struct operator_stands_twice_in_the_list;
template <class Operator>
struct operator_has_no_name_or_no_rule;
}  // namespace diag

namespace detail {

/// What a compiler calls a type, with what stands about it for every type.
template <class Operator>
constexpr const char* text_with_type() {
  return __PRETTY_FUNCTION__;
}

/// Characters before the type's name in `text_with_type`.
inline constexpr int text_before_type = [] {
  const char *a = text_with_type<int>(), *b = text_with_type<bool>();
  int same = 0;
  while (a[same] == b[same]) ++same;
  return same;
}();

/// A number of the type's name. Addresses would do, but to compare them is no constant expression where code is sanitized.
template <class Operator>
constexpr std::uint64_t key_of_type() {
  return hash_of_text(text_with_type<Operator>() + text_before_type);
}

template <class Operator>
constexpr void write_gradient(gradient_writer& b) {
  Operator::gradient(b);
}

template <class Operator>
constexpr operator_value operator_value_from() {
  operator_value o{Operator::name, Operator::text, compute_unit::vector, 1};
  o.key = key_of_type<Operator>();
  if constexpr (requires { Operator::unit; }) o.unit = Operator::unit;
  if constexpr (requires { Operator::flops_per_point; }) o.flops_per_point = Operator::flops_per_point;
  if constexpr (requires { Operator::partials; }) o.partials = Operator::partials;
  if constexpr (requires { Operator::indices; }) o.indices = Operator::indices;
  if constexpr (requires { Operator::index_below; }) o.index_below = Operator::index_below;
  if constexpr (requires { Operator::index_or_negative; }) o.index_or_negative = Operator::index_or_negative;
  if constexpr (requires { Operator::gathered; }) o.gathered = Operator::gathered;
  if constexpr (requires { Operator::index_results; }) o.index_results = Operator::index_results;
  if constexpr (requires { Operator::statistics; }) o.statistics = Operator::statistics;
  if constexpr (requires { Operator::constant; }) o.constant = Operator::constant;
  if constexpr (requires { Operator::starts_at_one; }) o.starts_at_one = Operator::starts_at_one;
  if constexpr (requires { Operator::starts_at_zero; }) o.starts_at_zero = Operator::starts_at_zero;
  if constexpr (requires { Operator::passes_gradient; }) o.passes_gradient = Operator::passes_gradient;
  if constexpr (requires { Operator::without_gradient; }) o.without_gradient = Operator::without_gradient;
  if constexpr (requires { Operator::is_product; }) o.is_product = Operator::is_product;
  if constexpr (requires { Operator::accumulates; }) o.accumulates = Operator::accumulates;
  if constexpr (requires { Operator::attends; }) o.attends = Operator::attends;
  if constexpr (requires { Operator::adds; }) o.adds = Operator::adds;
  if constexpr (requires { Operator::adds_bias; }) o.adds_bias = Operator::adds_bias;
  if constexpr (requires { Operator::is_norm_term; }) o.is_norm_term = Operator::is_norm_term;
  if constexpr (requires { Operator::counts_choices; }) o.counts_choices = Operator::counts_choices;
  if constexpr (requires { Operator::balanced_by; }) o.balanced_by = Operator::balanced_by;
  if constexpr (requires { Operator::states; }) o.states = Operator::states;
  if constexpr (requires { typename Operator::ring_block; })
    o.ring.block = key_of_type<typename Operator::ring_block>();
  if constexpr (requires { typename Operator::ring_merge; })
    o.ring.merge = key_of_type<typename Operator::ring_merge>();
  if constexpr (requires { typename Operator::logits_gradient; })
    o.logits = {key_of_type<typename Operator::largest>(), key_of_type<typename Operator::exponentials>(),
                key_of_type<typename Operator::picked>(), key_of_type<typename Operator::logits_gradient>()};
  if constexpr (requires { Operator::not_differentiable; }) o.constant = Operator::not_differentiable ? ~0u : 0u;
  if constexpr (requires(const local_work& w) { Operator::flops(w); }) {
    o.has_flops = true;
    o.flops = &Operator::flops;
  }
  if constexpr (requires { &Operator::scratch_bytes; }) {
    o.has_scratch = true;
    o.scratch_bytes = &Operator::scratch_bytes;
  }
  if constexpr (requires(gradient_writer& b) { Operator::gradient(b); }) o.gradient = &write_gradient<Operator>;
  if constexpr (requires(const factor_rule& r) { Operator::has_gradient_for(r); })
    o.has_gradient_for = &Operator::has_gradient_for;
  if constexpr (requires { &Operator::fits; }) o.fits = &Operator::fits;
  return o;
}

}  // namespace detail

/// An operator as a value.
template <named_operator_type Operator>
inline constexpr operator_value operator_value_of = detail::operator_value_from<Operator>();

template <class Backward>
constexpr gradient_rule& gradient_writer::backward(const char* text) {
  gradient_rule* r = nullptr;
  if constexpr (builtin_operator<Backward>)
    r = &backward(id_of<Backward>, text);
  else
    r = &backward(operators_.id_of(operator_value_of<Backward>), text);
  r->value = &operator_value_of<Backward>;
  r->is_named = true;
  return *r;
}

namespace detail {

template <class List>
struct listed_names;
template <class... All>
struct listed_names<boost::mp11::mp_list<All...>> {
  /// How many operators of the list have this name.
  static constexpr int count(const char* name) { return (0 + ... + (same_text(All::name, name) ? 1 : 0)); }
};

template <class Operator, class... Own>
constexpr bool stands_twice() {
  if constexpr ((named_operator_type<Own> && ...))
    return listed_names<boost::mp11::mp_append<builtin_operators, boost::mp11::mp_list<Own...>>>::count(
               Operator::name) > 1;
  else
    return false;
}

template <bool Named, bool Twice, class Operator>
struct listed_verdict {
  using type = accepted;
};
template <bool Twice, class Operator>
struct listed_verdict<false, Twice, Operator> {
  using type = diag::operator_has_no_name_or_no_rule<Operator>;
};
template <class Operator>
struct listed_verdict<true, true, Operator> {
  using type = diag::operator_stands_twice_in_the_list<Operator>;
};

template <class List>
struct listed_operators;
template <class... All>
struct listed_operators<boost::mp11::mp_list<All...>> {
  static constexpr const operator_value* item[] = {&operator_value_of<All>...};
  static constexpr operator_list value{item, static_cast<int>(sizeof...(All))};
};

template <bool Named, class... Own>
struct list_of_named : listed_operators<boost::mp11::mp_append<builtin_operators, boost::mp11::mp_list<Own...>>> {};
template <class... Own>
struct list_of_named<false, Own...> : listed_operators<builtin_operators> {};

}  // namespace detail

/// The built-in operators and these. An option of `train_step`; `list` is for `build_options::operators`.
template <class... Own>
struct operators {
  static_assert((insist<typename detail::listed_verdict<named_operator_type<Own>, detail::stands_twice<Own, Own...>(),
                                                        Own>::type>::met &&
                 ...));
  using types = boost::mp11::mp_append<builtin_operators, boost::mp11::mp_list<Own...>>;
  static constexpr const auto& list = detail::list_of_named<(named_operator_type<Own> && ...), Own...>::value;

  template <class Settings>
  static constexpr void apply(Settings& s) {
    s.build.operators = list;
  }
};
template <class... Own>
struct operators<builtin, Own...> : operators<Own...> {};

/// The list of a graph that names no operators of its own.
inline constexpr const operator_list& builtin_list = operators<>::list;

/// Of a built-in operator.
constexpr const char* name_of(operator_id op) { return builtin_list[op].name; }

}}  // namespace hyperparallel::v0_2
