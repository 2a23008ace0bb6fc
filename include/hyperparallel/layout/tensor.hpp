// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element types and static tensor descriptions: `tensor<bf16, 8, 4096, 7168>`.

#include <hyperparallel/layout/shape.hpp>
#include <hyperparallel/support/diagnostic.hpp>
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class data_type : unsigned char { boolean, i8, i16, i32, i64, f16, bf16, f32, f64 };

inline constexpr data_type boolean = data_type::boolean;
inline constexpr data_type i8 = data_type::i8;
inline constexpr data_type i16 = data_type::i16;
inline constexpr data_type i32 = data_type::i32;
inline constexpr data_type i64 = data_type::i64;
inline constexpr data_type f16 = data_type::f16;
inline constexpr data_type bf16 = data_type::bf16;
inline constexpr data_type f32 = data_type::f32;
inline constexpr data_type f64 = data_type::f64;

namespace detail {

constexpr bool is_float(data_type type) { return type >= data_type::f16; }

}  // namespace detail
/// Bytes of one element as it is stored and sent.
constexpr int bytes_of(data_type type) {
  switch (type) {
    case data_type::boolean:
    case data_type::i8:
      return 1;
    case data_type::i16:
    case data_type::f16:
    case data_type::bf16:
      return 2;
    case data_type::i32:
    case data_type::f32:
      return 4;
    case data_type::i64:
    case data_type::f64:
      return 8;
  }
  return 0;
}

namespace detail {

/// What masters, statistics and sums of floats of `type` are held in.
constexpr data_type at_least_f32(data_type type) { return bytes_of(type) < 4 ? data_type::f32 : type; }

}  // namespace detail

constexpr const char* name_of(data_type type) {
  return detail::enum_name("boolean\0i8\0i16\0i32\0i64\0f16\0bf16\0f32\0f64", type);
}

namespace diag {
template <class Dim, class Extent>
struct extent_is_negative;
template <class Entries, class Most>
struct too_many_dims;
}  // namespace diag

namespace detail {

template <extent_t... Extents>
constexpr int first_negative() {
  int d = 0;
  static_cast<void>((... || (Extents < 0 || (++d, false))));
  return d;
}

/// `accepted`, or why no tensor has these extents.
template <bool Negative, extent_t... Extents>
struct sign_verdict {
  using type = accepted;
};
template <extent_t... Extents>
struct sign_verdict<true, Extents...> {
  static constexpr int dim = first_negative<Extents...>();
  using type = diag::extent_is_negative<hyperparallel::dim<dim>, extent<shape(Extents...).extent[dim]>>;
};

}  // namespace detail

/// A tensor's element type and global extents as a type. Law: its bytes fit 64 bits.
template <data_type Type, extent_t... Extents>
struct tensor {
  static constexpr data_type type = Type;
  static constexpr hyperparallel::shape shape{Extents...};
  static constexpr int element_bytes = bytes_of(Type);
  static constexpr extent_t elements = element_count(shape).value;
  static constexpr extent_t bytes = checked_multiply(elements, element_bytes).value;
  static_assert(insist<typename detail::sign_verdict<((Extents < 0) || ...), Extents...>::type>::met);
  static_assert(!element_count(shape).overflow, "the tensor's element count fits 64 bits");
  static_assert(!checked_multiply(elements, element_bytes).overflow, "the tensor's bytes fit 64 bits");
};

/// A scalar: rank 0, one element.
template <data_type Type>
struct tensor<Type> {
  static constexpr data_type type = Type;
  static constexpr hyperparallel::shape shape{};
  static constexpr int element_bytes = bytes_of(Type);
  static constexpr extent_t elements = 1;
  static constexpr extent_t bytes = element_bytes;
};

/// More dims than `shape` has: one error line.
template <data_type Type, extent_t... Extents>
  requires(sizeof...(Extents) > max_dims)
struct tensor<Type, Extents...> : tensor<Type> {
  static_assert(insist<diag::too_many_dims<map_entries<sizeof...(Extents)>, tensor_dims<max_dims>>>::met);
};

/// Any type with the members of a `tensor`.
template <class Tensor>
concept tensor_type = requires {
  Tensor::shape.rank;
  Tensor::element_bytes;
};

}}  // namespace hyperparallel::v0_2
