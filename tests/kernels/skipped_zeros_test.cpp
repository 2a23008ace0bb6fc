// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/skipped_zeros.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include <hyperparallel/kernels/narrow_float.hpp>

namespace {

namespace mk = hyperparallel::kernels;
using hyperparallel::extent_t;

struct every_third {
  extent_t operator()(extent_t i) const { return 3 * i; }
};
struct in_order {
  extent_t operator()(extent_t i) const { return i; }
};

/// Runs of every length that begin anywhere in a line, with one element of `x` in each place or in none, beside others that
/// must not be looked at.
template <class X, class Steps, class Ask>
void check(X fill, X x, bool with_x, const Ask& ask, bool side_by_side) {
  const Steps at;
  for (const extent_t first : {0, 1, 5})
    for (extent_t count = 0; count <= 150; count += count < 40 ? 1 : 11)
      for (extent_t place = -1; place < count; ++place) {
        std::vector<X> data(static_cast<std::size_t>(at(first + count) + 3),
                            mk::store<X>(std::numeric_limits<float>::quiet_NaN()));
        for (extent_t i = 0; i < count; ++i) data[static_cast<std::size_t>(at(first + i))] = i == place ? x : fill;
        ASSERT_EQ(ask(mk::detail::operand_run{data.data(), at, first, count, side_by_side}), place < 0 || with_x)
            << first << ", " << count << ", " << place;
      }
}

template <class X>
void check_type() {
  const auto zeros = [](const auto& run) { return mk::detail::are_zeros(run); };
  const auto finite = [](const auto& run) { return mk::detail::are_finite(run); };
  const X zero = mk::store<X>(0.0F), minus_zero = mk::store<X>(-0.0F), one = mk::store<X>(1.0F),
          large = mk::store<X>(-65504.0F);
  const X infinity = mk::store<X>(-std::numeric_limits<float>::infinity());
  const X not_a_number = mk::store<X>(std::numeric_limits<float>::quiet_NaN());
  const X tiny = mk::store<X>(1e-7F);
  for (const bool side_by_side : {false, true}) {
    check<X, in_order>(zero, minus_zero, true, zeros, side_by_side);
    for (const X& x : {one, tiny, infinity, not_a_number})
      check<X, in_order>(minus_zero, x, false, zeros, side_by_side);
    for (const X& x : {zero, tiny, large}) check<X, in_order>(one, x, true, finite, side_by_side);
    for (const X& x : {infinity, not_a_number}) check<X, in_order>(large, x, false, finite, side_by_side);
  }
  check<X, every_third>(zero, minus_zero, true, zeros, false);
  check<X, every_third>(zero, tiny, false, zeros, false);
  check<X, every_third>(one, large, true, finite, false);
  check<X, every_third>(one, infinity, false, finite, false);
}

TEST(SkippedZeros, AreFoundInFloats) { check_type<float>(); }
TEST(SkippedZeros, AreFoundInDoubles) { check_type<double>(); }
TEST(SkippedZeros, AreFoundInBfloat16) { check_type<hyperparallel::bf16_bits>(); }
TEST(SkippedZeros, AreFoundInFloat16) { check_type<hyperparallel::f16_bits>(); }

}  // namespace
