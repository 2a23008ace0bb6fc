// SPDX-License-Identifier: Apache-2.0
#pragma once
// Zeros of an operand that a matrix product need not multiply: rows of slots that no token took.
//
// Law: a sum that starts at +0 and is rounded to nearest keeps its bits when terms 0 · x are left out, with zeros of either
// sign and x finite: such a term is +0 or −0, +0 plus either is +0, and no later sum is −0. 0 · ∞ and 0 · NaN are NaN, so
// what zeros are multiplied by is looked at before they are left out.
// The ends of a run are looked at first, so one that is not zero mostly costs the element that is read next anyway.
// O(elements).

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/tensor_view.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels { namespace detail {

/// Elements data[at(first)] … data[at(first + count − 1)] of an operand.
template <class X, class Steps>
struct operand_run {
  const X* data;
  const Steps& at;
  extent_t first, count;
  bool side_by_side;  ///< the elements lie so, in order

  extent_t place(extent_t i) const { return at(first + i); }
};

template <class X, class Steps>
operand_run(const X*, const Steps&, extent_t, extent_t, bool) -> operand_run<X, Steps>;

/// Four vectors of 16 bytes that follow each other.
template <class Element>
struct four_vectors {
  typedef Element lanes __attribute__((vector_size(16)));
  lanes a{}, b{}, c{}, d{};

  explicit four_vectors(const void* from) {
    const char* const bytes = static_cast<const char*>(from);
    std::memcpy(&a, bytes, sizeof a);
    std::memcpy(&b, bytes + sizeof a, sizeof b);
    std::memcpy(&c, bytes + 2 * sizeof a, sizeof c);
    std::memcpy(&d, bytes + 3 * sizeof a, sizeof d);
  }
};

/// Elements of 64 bytes; how many of a run are looked at so, from its beginning.
template <class X>
inline constexpr extent_t per_line = 64 / static_cast<extent_t>(sizeof(X));
template <class X, class Steps>
extent_t in_lines(const operand_run<X, Steps>& run) {
  return run.side_by_side ? run.count / per_line<X> * per_line<X> : 0;
}

/// Whether all elements are zeros, of either sign.
template <class X, class Steps>
bool are_zeros(const operand_run<X, Steps>& run) {
  constexpr int bits = 8 * static_cast<int>(sizeof(X));
  constexpr std::uint64_t lowest = ~std::uint64_t{0} / ((std::uint64_t{1} << (bits - 1) << 1) - 1);
  constexpr std::uint64_t not_sign = ~(lowest << (bits - 1));
  if (run.count > 0 && (load(run.data[run.place(0)]) != 0 || load(run.data[run.place(run.count - 1)]) != 0))
    return false;
  const extent_t lines = in_lines(run);
  for (extent_t i = 0; i < lines; i += per_line<X>) {
    const four_vectors<std::uint64_t> x(run.data + run.place(0) + i);
    const auto any = x.a | x.b | x.c | x.d;
    if (((any[0] | any[1]) & not_sign) != 0) return false;
  }
  for (extent_t i = lines; i < run.count; ++i)
    if (load(run.data[run.place(i)]) != 0) return false;
  return true;
}

/// Whether all elements are finite.
template <class X, class Steps>
bool are_finite(const operand_run<X, Steps>& run) {
  extent_t lines = 0;
  if constexpr (std::is_floating_point_v<X>) {
    lines = in_lines(run);
    typename four_vectors<X>::lanes a{}, b{}, c{}, d{};  // x · 0 is zero or not a number, which a sum keeps
    for (extent_t i = 0; i < lines; i += per_line<X>) {
      const four_vectors<X> x(run.data + run.place(0) + i);
      a += x.a * X(0);
      b += x.b * X(0);
      c += x.c * X(0);
      d += x.d * X(0);
    }
    const auto all = a + b + c + d;
    for (extent_t i = 0; i < 16 / static_cast<extent_t>(sizeof(X)); ++i)
      if (!(all[i] == X(0))) return false;
  }
  for (extent_t i = lines; i < run.count; ++i) {
    const auto x = load(run.data[run.place(i)]);
    if (!(x - x == 0)) return false;
  }
  return true;
}

}}}}  // namespace hyperparallel::v0_2::kernels::detail

HYPERPARALLEL_EXACT_END
