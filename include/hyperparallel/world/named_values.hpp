// SPDX-License-Identifier: Apache-2.0
#pragma once
// Named values in a map of the compiler (Boost.Hana).
//
//   auto v = hp::values("rate"_n = 0.1, "steps"_n = 50);    v["steps"_n] += 1;
//
// Laws: names are distinct, and one that stands twice or is not there is one error line; the order is that in which they
// were given. O(1) a value, by the compiler.

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <boost/hana/at_key.hpp>
#include <boost/hana/map.hpp>
#include <boost/hana/pair.hpp>
#include <boost/hana/string.hpp>

#include <hyperparallel/support/diagnostic.hpp>
#include <hyperparallel/support/name_key.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace diag {
template <class... Value>
struct value_has_no_name;
}  // namespace diag

namespace detail {

template <fixed_string Name, class Index>
struct hana_key_of;
template <fixed_string Name, std::size_t... I>
struct hana_key_of<Name, std::index_sequence<I...>> {
  using type = boost::hana::string<Name.text[I]...>;
};
template <fixed_string Name>
using hana_key = typename hana_key_of<Name, std::make_index_sequence<static_cast<std::size_t>(Name.size())>>::type;

/// The first name that stands twice among `Named`; the last name where none does.
template <class First, class... Rest>
constexpr auto repeated_name() {
  if constexpr (sizeof...(Rest) == 0 || (std::is_same_v<hana_key<First::name>, hana_key<Rest::name>> || ...))
    return std::type_identity<name_spelling<First::name>>{};
  else
    return repeated_name<Rest...>();
}
template <class First, class... Rest>
constexpr bool names_are_distinct() {
  if constexpr (sizeof...(Rest) == 0)
    return true;
  else
    return !(std::is_same_v<hana_key<First::name>, hana_key<Rest::name>> || ...) && names_are_distinct<Rest...>();
}

}  // namespace detail

/// Values by name. `Named…` are named_value types.
template <class... Named>
class named_values {
 public:
  static constexpr std::size_t size = sizeof...(Named);
  struct names {
    static constexpr const char* texts[sizeof...(Named)] = {Named::name.text...};
    static constexpr int count = static_cast<int>(sizeof...(Named));
  };
  using map_type = decltype(boost::hana::make_map(
      boost::hana::make_pair(detail::hana_key<Named::name>{}, std::declval<decltype(Named::value)>())...));

  constexpr explicit named_values(Named... named)
      : map_(
            boost::hana::make_map(boost::hana::make_pair(detail::hana_key<Named::name>{}, std::move(named.value))...)) {
  }

  /// The refusal of a name that is not there, with the nearest that is.
  template <fixed_string Name>
  using unknown_name = detail::unknown_name_refusal<Name, names>;

  template <fixed_string Name>
  static constexpr bool has = (std::is_same_v<detail::hana_key<Name>, detail::hana_key<Named::name>> || ...);

  template <fixed_string Name>
  constexpr auto& operator[](name_key<Name>) {
    return *find<Name>(map_);
  }
  template <fixed_string Name>
  constexpr const auto& operator[](name_key<Name>) const {
    return *find<Name>(map_);
  }
  /// The map with keys of Hana: `hana::for_each` and its like take it.
  constexpr const map_type& map() const { return map_; }

  /// f(key) in the order of the names.
  template <class F>
  static constexpr void each_name(const F& f) {
    (f(name_key<Named::name>{}), ...);
  }
  /// f(key, value) in the order of the names.
  template <class F>
  constexpr void for_each(const F& f) {
    (f(name_key<Named::name>{}, (*this)[name_key<Named::name>{}]), ...);
  }
  template <class F>
  constexpr void for_each(const F& f) const {
    (f(name_key<Named::name>{}, (*this)[name_key<Named::name>{}]), ...);
  }
  /// The same names with the values f(value).
  template <class F>
  constexpr auto transformed(const F& f) const {
    return make((name_key<Named::name>{} = f((*this)[name_key<Named::name>{}]))...);
  }
  /// The same names with the values f(key).
  template <class F>
  static constexpr auto with_keys(const F& f) {
    return make((name_key<Named::name>{} = f(name_key<Named::name>{}))...);
  }
  /// f(value…), in the order of the names.
  template <class F>
  constexpr auto unpack(const F& f) const {
    return f((*this)[name_key<Named::name>{}]...);
  }
  /// The same names with other values.
  template <class... Value>
    requires(sizeof...(Value) == size)
  static constexpr auto with(Value... values) {
    return make((name_key<Named::name>{} = std::move(values))...);
  }

 private:
  using first_key = std::tuple_element_t<0, std::tuple<detail::hana_key<Named::name>...>>;
  template <class... Other>
  static constexpr named_values<Other...> make(Other... named) {
    return named_values<Other...>(std::move(named)...);
  }
  template <fixed_string Name, class Map>
  static constexpr auto* find(Map& map) {
    using why = std::conditional_t<has<Name>, std::type_identity<accepted>, unknown_name<Name>>;
    static_assert(insist<typename why::type>::met);
    if constexpr (has<Name>)
      return &boost::hana::at_key(map, detail::hana_key<Name>{});
    else
      return &boost::hana::at_key(map, first_key{});  // already refused
  }

  map_type map_;
};

/// `values("x"_n = x, "y"_n = y)`. A name that stands twice is one error line, and so are values without names.
template <fixed_string... Name, class... Value>
  requires(sizeof...(Name) > 0)
constexpr auto values(named_value<Name, Value>... named) {
  constexpr bool distinct = detail::names_are_distinct<named_value<Name, Value>...>();
  using repeated = typename decltype(detail::repeated_name<named_value<Name, Value>...>())::type;
  static_assert(
      insist<std::conditional_t<distinct, accepted, diag::name_stands_twice<detail::spelled<alias, repeated>>>>::met);
  if constexpr (distinct) return named_values<named_value<Name, Value>...>(std::move(named)...);
}

template <class... Value>
constexpr void values(const Value&...) {
  static_assert(insist<diag::value_has_no_name<Value...>>::met);
}

}}  // namespace hyperparallel::v0_2
