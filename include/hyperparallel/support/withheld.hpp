// SPDX-License-Identifier: Apache-2.0
#pragma once
// What stands for the numbers of a plan that is refused, so that no assertion about them adds an error to the one line
// that says why.
//
//   static_assert(move::bytes_received == 280);   // of a refused move: no line of its own
//
// Laws: every comparison with it holds, in either order; what is calculated from it is withheld too; it converts to any
// number or enumerator. No program holds one, since none with a refused type compiles.

namespace hyperparallel { inline namespace v0_2 {

struct withheld;

namespace detail {

template <class T>
inline constexpr bool is_withheld = false;
template <>
inline constexpr bool is_withheld<withheld> = true;

template <bool Kept>
struct kept_type {
  template <class, class Instead>
  using type = Instead;
};
template <>
struct kept_type<true> {
  template <class T, class>
  using type = T;
};

}  // namespace detail

// Operators are found by the type of an operand alone, or they would compete for every enumerator of the namespace.
struct withheld {
  constexpr withheld() = default;
  /// In place of a value.
  template <class T>
  constexpr withheld(const T&) {}  // NOLINT: an initializer that would have been the number's

  template <class T>
    requires(!__is_class(T)) && requires { static_cast<T>(1); }
  constexpr operator T() const {  // NOLINT: takes the number's place
    return static_cast<T>(1);
  }

  template <class T>
  friend constexpr bool operator==(const withheld&, const T&) {
    return true;
  }
  template <class T>
    requires(!detail::is_withheld<T>)
  friend constexpr bool operator==(const T&, const withheld&) {
    return true;
  }
  template <class T>
  friend constexpr bool operator!=(const withheld&, const T&) {
    return true;
  }
  template <class T>
    requires(!detail::is_withheld<T>)
  friend constexpr bool operator!=(const T&, const withheld&) {
    return true;
  }
  template <class T>
  friend constexpr bool operator<(const withheld&, const T&) {
    return true;
  }
  template <class T>
    requires(!detail::is_withheld<T>)
  friend constexpr bool operator<(const T&, const withheld&) {
    return true;
  }
  template <class T>
  friend constexpr bool operator<=(const withheld&, const T&) {
    return true;
  }
  template <class T>
    requires(!detail::is_withheld<T>)
  friend constexpr bool operator<=(const T&, const withheld&) {
    return true;
  }
  template <class T>
  friend constexpr bool operator>(const withheld&, const T&) {
    return true;
  }
  template <class T>
    requires(!detail::is_withheld<T>)
  friend constexpr bool operator>(const T&, const withheld&) {
    return true;
  }
  template <class T>
  friend constexpr bool operator>=(const withheld&, const T&) {
    return true;
  }
  template <class T>
    requires(!detail::is_withheld<T>)
  friend constexpr bool operator>=(const T&, const withheld&) {
    return true;
  }
  template <class T>
  friend constexpr withheld operator+(const withheld&, const T&) {
    return {};
  }
  template <class T>
    requires(!detail::is_withheld<T>)
  friend constexpr withheld operator+(const T&, const withheld&) {
    return {};
  }
  template <class T>
  friend constexpr withheld operator-(const withheld&, const T&) {
    return {};
  }
  template <class T>
    requires(!detail::is_withheld<T>)
  friend constexpr withheld operator-(const T&, const withheld&) {
    return {};
  }
  template <class T>
  friend constexpr withheld operator*(const withheld&, const T&) {
    return {};
  }
  template <class T>
    requires(!detail::is_withheld<T>)
  friend constexpr withheld operator*(const T&, const withheld&) {
    return {};
  }
  template <class T>
  friend constexpr withheld operator/(const withheld&, const T&) {
    return {};
  }
  template <class T>
    requires(!detail::is_withheld<T>)
  friend constexpr withheld operator/(const T&, const withheld&) {
    return {};
  }
  template <class T>
  friend constexpr withheld operator%(const withheld&, const T&) {
    return {};
  }
  template <class T>
    requires(!detail::is_withheld<T>)
  friend constexpr withheld operator%(const T&, const withheld&) {
    return {};
  }
};

/// The type of a number, or of several: `T` of what is accepted.
template <bool Accepted, class T, class Instead = withheld>
using kept_if = typename detail::kept_type<Accepted>::template type<T, Instead>;

}}  // namespace hyperparallel::v0_2
