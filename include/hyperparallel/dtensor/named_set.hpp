// SPDX-License-Identifier: Apache-2.0
#pragma once
// Named tensors and functions, and the entries of a plan for them.
//
//   auto mlp = hp::named_set(hp::parameter<"up.weight">(up), hp::parameter<"down.weight">(down),
//                            hp::function<"ffn">([](const auto& set, const auto& x) { … }));
//   mlp["up.weight"_n];   mlp.get<"up.weight">();   mlp.call<"ffn">(x);
//
// A function takes the set and its arguments. Under a plan, arguments and results of a call are redistributed to the
// slots of their entries; a slot is a layout, or `as_it_is`. A name that is not there and counts that differ are one
// error line.

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/slots.hpp>
#include <hyperparallel/graph/sharding_plan.hpp>
#include <hyperparallel/support/name_key.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A slot that changes nothing.
struct as_it_is {};

template <fixed_string Pattern, layout_type Layout>
struct plan_parameter {
  static constexpr plan_entry entry{plan_subject::parameter, Pattern.text};
  using layout = Layout;
};
/// Layouts of the arguments ("name.input") or results ("name.output") of a function, in order.
template <fixed_string Key, class... Slots>
struct plan_activations {
  static constexpr plan_entry entry{plan_subject::activations, Key.text};
  using as_inputs = inputs<Slots...>;
  using as_outputs = outputs<Slots...>;
};
/// The function's results come as what each position holds, row-major.
template <fixed_string Name>
struct plan_local_results {
  static constexpr plan_entry entry{plan_subject::local, Name.text};
};

template <class... Entries>
struct sharding_plan {
  static constexpr int count = static_cast<int>(sizeof...(Entries));
  static constexpr plan_entry entry[sizeof...(Entries) + 1] = {Entries::entry..., {}};
  template <int Index>
  using at = std::tuple_element_t<static_cast<std::size_t>(Index), std::tuple<Entries...>>;
};

template <fixed_string Name, dtensor_type Tensor>
struct named_parameter {
  static constexpr bool is_parameter = true;
  static constexpr auto name = Name;
  Tensor value;
};
template <fixed_string Name, class Function>
struct named_function {
  static constexpr bool is_parameter = false;
  static constexpr auto name = Name;
  Function value;
};

template <fixed_string Name, dtensor_type Tensor>
named_parameter<Name, Tensor> parameter(Tensor x) {
  return {std::move(x)};
}
template <fixed_string Name, class Function>
named_function<Name, Function> function(Function f) {
  return {std::move(f)};
}

namespace detail {

template <class... Members>
struct member_names {
  static constexpr int parameters = (0 + ... + (Members::is_parameter ? 1 : 0));
  static constexpr int functions = static_cast<int>(sizeof...(Members)) - parameters;
  struct table {
    const char* parameter[sizeof...(Members) + 1] = {};
    const char* function[sizeof...(Members) + 1] = {};
  };
  static constexpr table names = [] {
    table t;
    int p = 0, f = 0;
    ((Members::is_parameter ? t.parameter[p++] = Members::name.text : t.function[f++] = Members::name.text), ...);
    return t;
  }();
  template <bool Parameter>
  struct of {
    static constexpr const char* const* texts = Parameter ? names.parameter : names.function;
    static constexpr int count = Parameter ? parameters : functions;
  };
  static constexpr planned_names all{names.parameter, parameters, names.function, functions};

  /// Number of the member called `name` of the kind asked for, or -1.
  static constexpr int find(const char* name, bool parameter) {
    int index = 0, found = -1;
    ((found = Members::is_parameter == parameter && same_text(Members::name.text, name) ? index : found, ++index), ...);
    return found;
  }
};

/// A slot of a plan as custom_shard judges it, `as_it_is` apart.
template <int Index, class Slot, class Argument>
struct plan_slot_verdict : argument_verdict<Index, Slot, Argument, mismatch::redistribute> {};
template <int Index, class Argument>
struct plan_slot_verdict<Index, as_it_is, Argument> {
  using type = accepted;
};
template <class Slots, class Values, class Indices>
struct plan_slots_verdict;
template <template <class...> class List, class... Slot, class... Value, int... I>
struct plan_slots_verdict<List<Slot...>, std::tuple<Value...>, indices<I...>> {
  using type = typename first_refusal<typename plan_slot_verdict<I, Slot, Value>::type...>::type;
};
template <class Slots, class Values, bool SameCount>
struct plan_values_verdict : slots_verdict<Slots, Values, false> {};
template <class Slots, class... Value>
struct plan_values_verdict<Slots, std::tuple<Value...>, true>
    : plan_slots_verdict<Slots, std::tuple<Value...>, typename make_indices<static_cast<int>(sizeof...(Value))>::type> {
};

template <class Slots>
inline constexpr std::size_t slot_count = 0;
template <template <class...> class List, class... Slot>
inline constexpr std::size_t slot_count<List<Slot...>> = sizeof...(Slot);

template <class Slot, class Value>
decltype(auto) into_slot(const Value& x) {
  if constexpr (std::is_same_v<Slot, as_it_is>)
    return (x);
  else
    return x.template redistribute<Slot>();
}

template <class Value>
auto local_blocks(const Value& x) {
  if constexpr (is_dtensor<Value>) {
    std::vector<std::vector<typename Value::element>> blocks;
    for (int p = 0; p < x.group().ranks(); ++p) {
      const auto held = x.dynamic().template to_local<typename Value::element>(p);
      blocks.emplace_back(held.begin(), held.end());
    }
    return blocks;
  } else {
    return x;
  }
}

}  // namespace detail

template <class Plan, class... Members>
class basic_named_set {
 public:
  using names = detail::member_names<Members...>;
  explicit basic_named_set(Members... members) : members_(std::move(members)...) {}
  const std::tuple<Members...>& members() const { return members_; }

  /// The parameter of that name.
  template <fixed_string Name>
  const auto& get() const {
    return find<Name, true>();
  }

  /// The same: `set["up.weight"_n]`.
  template <fixed_string Name>
  const auto& operator[](name_key<Name>) const {
    return find<Name, true>();
  }

  /// The function of that name on the set and the arguments, these and the results in the layouts of the plan.
  template <fixed_string Name, class... Arguments>
  auto call(const Arguments&... x) const {
    constexpr int in = detail::entry_of_activations(Plan::entry, Plan::count, Name.text, ".input");
    if constexpr (in < 0)
      return results<Name>(find<Name, false>()(*this, x...));
    else
      return call_planned<Name>(static_cast<typename Plan::template at<in>::as_inputs*>(nullptr), x...);
  }

 private:
  template <fixed_string Name, bool Parameter>
  const auto& find() const {
    constexpr int index = names::find(Name.text, Parameter);
    using unknown = detail::unknown_name_refusal<Name, typename names::template of<Parameter>>;
    using why = std::conditional_t<index >= 0, std::type_identity<accepted>, unknown>;
    static_assert(insist<typename why::type>::met);
    return std::get<static_cast<std::size_t>(index < 0 ? 0 : index)>(members_).value;
  }

  template <fixed_string Name, class... Slot, class... Arguments>
  auto call_planned(inputs<Slot...>*, const Arguments&... x) const {
    using verdict =
        detail::plan_values_verdict<inputs<Slot...>, std::tuple<Arguments...>, sizeof...(Slot) == sizeof...(Arguments)>;
    static_assert(insist<typename verdict::type>::met);
    if constexpr (std::is_same_v<typename verdict::type, accepted>)
      return results<Name>(find<Name, false>()(*this, detail::into_slot<Slot>(x)...));
    else
      return std::get<0>(std::tie(x..., *this));  // already refused
  }

  template <fixed_string Name, class... Value>
  auto results(const std::tuple<Value...>& made) const {
    constexpr int out = detail::entry_of_activations(Plan::entry, Plan::count, Name.text, ".output");
    if constexpr (out < 0)
      return finish<Name>(made);
    else
      return move_results<Name>(static_cast<typename Plan::template at<out>::as_outputs*>(nullptr), made);
  }
  template <fixed_string Name, class Value>
  auto results(const Value& made) const {
    return std::get<0>(results<Name>(std::tuple<Value>(made)));
  }

  template <fixed_string Name, class... Slot, class... Value>
  auto move_results(outputs<Slot...>*, const std::tuple<Value...>& made) const {
    using verdict =
        detail::plan_values_verdict<outputs<Slot...>, std::tuple<Value...>, sizeof...(Slot) == sizeof...(Value)>;
    static_assert(insist<typename verdict::type>::met);
    if constexpr (std::is_same_v<typename verdict::type, accepted>)
      return std::apply(
          [](const auto&... one) { return finish<Name>(std::make_tuple(detail::into_slot<Slot>(one)...)); }, made);
    else
      return made;  // already refused
  }

  template <fixed_string Name, class... Value>
  static auto finish(const std::tuple<Value...>& made) {
    if constexpr (detail::has_local_results(Plan::entry, Plan::count, Name.text))
      return std::apply([](const auto&... one) { return std::make_tuple(detail::local_blocks(one)...); }, made);
    else
      return made;
  }

  std::tuple<Members...> members_;
};

/// Named tensors and functions without a plan.
template <class... Members>
auto named_set(Members... members) {
  return basic_named_set<sharding_plan<>, Members...>(std::move(members)...);
}

}}  // namespace hyperparallel::v0_2
