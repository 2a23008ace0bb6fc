// SPDX-License-Identifier: Apache-2.0
#pragma once
// The C++ type that stores an element of each `data_type`, and the way back from a run-time `data_type` to a type.
//
// The registry is one MP11 map; everything else is looked up in it. Laws: the map is one-to-one; sizeof(element_of<D>)
// == bytes_of(D). The 16-bit floats are carried as bits: kernels compute in f32, moves and arenas copy.

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>
#include <boost/mp11/map.hpp>

#include <hyperparallel/layout/tensor.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// An IEEE binary16 number, as stored.
struct f16_bits {
  std::uint16_t bits;
  friend constexpr bool operator==(const f16_bits&, const f16_bits&) = default;
};

/// The upper half of a binary32 number, as stored.
struct bf16_bits {
  std::uint16_t bits;
  friend constexpr bool operator==(const bf16_bits&, const bf16_bits&) = default;
};

namespace detail {

template <data_type D>
using data_type_constant = std::integral_constant<data_type, D>;

/// Entries in the order of `data_type`, which `visit_element_type` relies on.
using element_registry = boost::mp11::mp_list<boost::mp11::mp_list<data_type_constant<data_type::boolean>, bool>,
                                              boost::mp11::mp_list<data_type_constant<data_type::i8>, std::int8_t>,
                                              boost::mp11::mp_list<data_type_constant<data_type::i16>, std::int16_t>,
                                              boost::mp11::mp_list<data_type_constant<data_type::i32>, std::int32_t>,
                                              boost::mp11::mp_list<data_type_constant<data_type::i64>, std::int64_t>,
                                              boost::mp11::mp_list<data_type_constant<data_type::f16>, f16_bits>,
                                              boost::mp11::mp_list<data_type_constant<data_type::bf16>, bf16_bits>,
                                              boost::mp11::mp_list<data_type_constant<data_type::f32>, float>,
                                              boost::mp11::mp_list<data_type_constant<data_type::f64>, double>>;
static_assert(boost::mp11::mp_is_map<element_registry>::value, "each data_type is listed once");

using stored_types = boost::mp11::mp_transform<boost::mp11::mp_second, element_registry>;
static_assert(boost::mp11::mp_is_set<stored_types>::value, "each C++ type is listed once");

inline constexpr int data_type_count = static_cast<int>(boost::mp11::mp_size<detail::element_registry>::value);

}  // namespace detail

/// The type that stores an element of `D`.
template <data_type D>
using element_of =
    boost::mp11::mp_second<boost::mp11::mp_map_find<detail::element_registry, detail::data_type_constant<D>>>;

/// Whether `T` stores some `data_type`.
template <class T>
concept element_type = boost::mp11::mp_contains<detail::stored_types, T>::value;

namespace detail {

/// The `data_type` that `T` stores.
template <element_type T>
inline constexpr data_type data_type_of = static_cast<data_type>(boost::mp11::mp_find<detail::stored_types, T>::value);

/// Calls `f(std::type_identity<T>{})` with the type that stores `type` and returns what it returns. O(1).
template <class Function>
constexpr decltype(auto) visit_element_type(data_type type, Function&& f) {
  return boost::mp11::mp_with_index<static_cast<std::size_t>(data_type_count)>(
      static_cast<std::size_t>(type), [&](auto index) -> decltype(auto) {
        return std::forward<Function>(f)(
            std::type_identity<boost::mp11::mp_at_c<detail::stored_types, decltype(index)::value>>{});
      });
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
