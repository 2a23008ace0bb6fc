// SPDX-License-Identifier: Apache-2.0
#pragma once
// Models as Hana Structs: members that are dtensors are parameters, named as the members are.
//
//   struct mlp { BOOST_HANA_DEFINE_STRUCT(mlp, (wide, gate), (wide, up), (tall, down)); };
//   auto weights = hp::parameters(mlp{gate, up, down});                // "gate", "up", "down"; nested ones "block.up"
//   const auto [loss, d] = hp::value_and_gradient(program, weights, x);   // program(w, x) reads w["up"_n]
//   hp::adamw_update({.rate = 1e-3}, step, weights, d, states);
//
// A member is a parameter (a dtensor), a model (a Hana Struct), an array of either, whose parameters are named by their
// place ("layers.0.up"), or a setting (a trivially copyable value, a text). Any other member is one error line, since it may hold
// parameters that would not be trained.
//
// Laws: order is that of the members, depth first; a gradient is reduced to where its parameter lies before the update,
// the norm is of all of them. dtensors are handles: a set of them is copied freely. Source of the form: Boost.Hana.

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <boost/hana/accessors.hpp>
#include <boost/hana/concept/struct.hpp>
#include <boost/hana/define_struct.hpp>
#include <boost/hana/plus.hpp>
#include <boost/hana/unpack.hpp>

#include <hyperparallel/dtensor/optimizer.hpp>
#include <hyperparallel/world/named_values.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace diag {
template <class Name, class Member>
struct member_is_no_parameter_no_model_and_no_setting;
template <class Model>
struct model_has_no_parameters;
}  // namespace diag

namespace detail {

template <char... Letter>
constexpr auto text_of(boost::hana::string<Letter...>) {
  return fixed_string<static_cast<int>(sizeof...(Letter)) + 1>({Letter..., '\0'});
}

template <class Member>
inline constexpr std::size_t places_of = 0;
template <class Element, std::size_t Count>
inline constexpr std::size_t places_of<std::array<Element, Count>> = Count;
template <class Element, std::size_t Count>
inline constexpr std::size_t places_of<Element[Count]> = Count;

/// ".12" as a text of Hana.
template <std::size_t Place>
constexpr auto name_of_place() {
  if constexpr (Place < 10)
    return boost::hana::string_c<'.', static_cast<char>('0' + Place)>;
  else
    return name_of_place<Place / 10>() + boost::hana::string_c<static_cast<char>('0' + Place % 10)>;
}

/// Holds no parameters. dtensors are handles that share their blocks, so what is trivially copyable holds none.
template <class Member>
concept model_setting = std::is_trivially_copyable_v<Member> || std::is_convertible_v<const Member&, std::string_view>;

template <class Name, class Member>
constexpr auto member_verdict() {
  if constexpr (dtensor_type<Member> || boost::hana::Struct<Member>::value || model_setting<Member>)
    return std::type_identity<accepted>{};
  else
    return std::type_identity<
        diag::member_is_no_parameter_no_model_and_no_setting<spelled<alias, name_spelling<text_of(Name{})>>, Member>>{};
}

template <class Prefix, class Model>
auto flat_parameters(Prefix prefix, const Model& model);

template <class Name, class Member>
auto flat_member(Name name, const Member& member) {
  if constexpr (places_of<Member> > 0) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple_cat(flat_member(name + name_of_place<I>(), member[I])...);
    }(std::make_index_sequence<places_of<Member>>{});
  } else {
    static_assert(insist<typename decltype(member_verdict<Name, Member>())::type>::met);
    if constexpr (dtensor_type<Member>)
      return std::make_tuple(named_value<text_of(Name{}), Member>{member});
    else if constexpr (boost::hana::Struct<Member>::value)
      return flat_parameters(name + boost::hana::string_c<'.'>, member);
    else
      return std::tuple<>();
  }
}
template <class Prefix, class Model>
auto flat_parameters(Prefix prefix, const Model& model) {
  return boost::hana::unpack(boost::hana::accessors<Model>(), [&](auto... member) {
    return std::tuple_cat(flat_member(prefix + boost::hana::first(member), boost::hana::second(member)(model))...);
  });
}

template <class Prefix, class Model, class Set>
void set_members(Prefix prefix, Model& model, const Set& set);

template <class Name, class Member, class Set>
void set_member(Name name, Member& member, const Set& set) {
  if constexpr (places_of<Member> > 0)
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (set_member(name + name_of_place<I>(), member[I], set), ...);
    }(std::make_index_sequence<places_of<Member>>{});
  else if constexpr (dtensor_type<Member>)
    member = set[name_key<text_of(Name{})>{}];
  else if constexpr (boost::hana::Struct<Member>::value)
    set_members(name + boost::hana::string_c<'.'>, member, set);
}
template <class Prefix, class Model, class Set>
void set_members(Prefix prefix, Model& model, const Set& set) {
  boost::hana::unpack(boost::hana::accessors<Model>(), [&](auto... member) {
    (set_member(prefix + boost::hana::first(member), boost::hana::second(member)(model), set), ...);
  });
}

}  // namespace detail

template <class Model>
concept model_struct = boost::hana::Struct<Model>::value;

template <class Set>
inline constexpr bool is_named_values = false;
template <class... Named>
inline constexpr bool is_named_values<named_values<Named...>> = true;
template <class Set>
concept named_values_type = is_named_values<Set>;

/// The parameters of a model by name. A model without any is one error line.
template <model_struct Model>
auto parameters(const Model& model) {
  auto flat = detail::flat_parameters(boost::hana::string_c<>, model);
  constexpr bool some = std::tuple_size_v<decltype(flat)> > 0;
  static_assert(insist<std::conditional_t<some, accepted, diag::model_has_no_parameters<Model>>>::met);
  if constexpr (some) return std::apply([](auto... named) { return values(std::move(named)...); }, std::move(flat));
}

/// Puts parameters back into a model. A name that the set lacks, or that the model lacks, is one error line.
template <model_struct Model, named_values_type Set>
void set_parameters(Model& model, const Set& set) {
  using there = decltype(parameters(model));
  Set::each_name([]<fixed_string Name>(name_key<Name>) {
    using why = std::conditional_t<there::template has<Name>, std::type_identity<accepted>,
                                   typename there::template unknown_name<Name>>;
    static_assert(insist<typename why::type>::met);
  });
  detail::set_members(boost::hana::string_c<>, model, set);
}

/// The value of `program(set, others…)` and its gradients for all parameters of the set, by name.
template <class Program, named_values_type Set, class... Other>
auto value_and_gradient(const Program& program, const Set& set, const Other&... others) {
  return set.unpack([&](const auto&... parameter) {
    const auto by_place = [&](const auto&... all) {
      const auto list = std::tie(all...);
      return [&]<std::size_t... P, std::size_t... O>(std::index_sequence<P...>, std::index_sequence<O...>) {
        return program(Set::with(std::get<P>(list)...), std::get<Set::size + O>(list)...);
      }(std::make_index_sequence<Set::size>{}, std::index_sequence_for<Other...>{});
    };
    return [&]<std::size_t... P>(std::index_sequence<P...>) {
      auto made = value_and_gradient<P...>(by_place, parameter..., others...);
      auto named = std::apply([](const auto&... d) { return Set::with(d...); }, made.gradient);
      return std::pair(std::move(made.value), std::move(named));
    }(std::make_index_sequence<Set::size>{});
  });
}

/// Moments of all parameters, zeros at first.
template <named_values_type Set>
auto adamw_states(const Set& set) {
  return set.transformed([]<class Parameter>(const Parameter& p) { return adamw_state<Parameter>(p.group()); });
}

/// One step of AdamW on all parameters, from 1; the gradients are clipped to the norm `o.clip` together, 0: not.
template <named_values_type Set, named_values_type Gradients, named_values_type States>
void adamw_update(const optimizer_value& o, std::int64_t step, Set& set, const Gradients& gradients, States& states) {
  const auto reduced = Gradients::with_keys([&](auto key) {
    using parameter = std::remove_cvref_t<decltype(set[key])>;
    return detail::brought_to<parameter>(gradients[key]);
  });
  const auto update = [&](const auto& clip) {
    set.for_each([&](auto key, auto& parameter) { adamw_update(o, step, parameter, reduced[key], states[key], clip); });
  };
  reduced.unpack([&](const auto& first, const auto&... rest) {
    if (o.clip > 0)
      update(clip_factor(o.clip, first, rest...));
    else
      update(detail::no_clipping<std::remove_cvref_t<decltype(first)>>(first.group()));
  });
}

}}  // namespace hyperparallel::v0_2
