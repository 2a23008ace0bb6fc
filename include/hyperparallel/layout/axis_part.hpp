// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts of a mesh axis: when the value of one tells nothing of the value of another.
//
// The part [stride, size] of an axis is coordinate / stride % size; it ends at stride · size. Two parts of one axis are
// independent if the end of one divides the stride of the other: then they are digits of one number, so each can be set
// without touching the other. Being apart is not enough: in an axis of 12 the part [1, 3] ends at 3 and [4, 3] begins
// at 4, yet to set one changes the other. Law: independent parts take every pair of values equally often, and setting
// one keeps the other.

namespace hyperparallel { inline namespace v0_2 {

struct axis_part {
  int axis;
  int stride;
  int size;
  friend constexpr bool operator==(const axis_part&, const axis_part&) = default;
};

namespace detail {

constexpr int end_of(const axis_part& p) { return p.stride * p.size; }

}  // namespace detail

/// Whether each part can be set without touching the other.
constexpr bool are_independent(const axis_part& a, const axis_part& b) {
  return a.axis != b.axis || a.size == 1 || b.size == 1 || b.stride % detail::end_of(a) == 0 ||
         a.stride % detail::end_of(b) == 0;
}

/// Whether two parts have digits in common. Domain: they nest.
constexpr bool overlap(const axis_part& a, const axis_part& b) {
  return a.axis == b.axis && a.stride < detail::end_of(b) && b.stride < detail::end_of(a);
}

namespace detail {

constexpr bool divides_either_way(int a, int b) { return a % b == 0 || b % a == 0; }

}  // namespace detail

/// Whether strides and ends of two parts form one chain of divisors, so that what they share is whole digits of both.
constexpr bool nest(const axis_part& a, const axis_part& b) {
  if (a.axis != b.axis || a.size == 1 || b.size == 1) return true;
  return detail::divides_either_way(a.stride, b.stride) && detail::divides_either_way(a.stride, detail::end_of(b)) &&
         detail::divides_either_way(detail::end_of(a), b.stride) &&
         detail::divides_either_way(detail::end_of(a), detail::end_of(b));
}

}}  // namespace hyperparallel::v0_2
