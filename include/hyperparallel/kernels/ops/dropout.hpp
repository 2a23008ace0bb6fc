// SPDX-License-Identifier: Apache-2.0
#pragma once
// Dropout by keyed random numbers: O(elements), nothing is kept between forward and backward.

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/keyed_random.hpp>
#include <hyperparallel/kernels/ops/block_steps.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels { namespace detail {

/// x -> y.
template <class T>
void dropout_kernel(const operator_call& c) {
  const tensor_factors& t = c.rule->operand[0];
  const double rate = c.attributes->real[0];
  expect(rate >= 0 && rate < 1, c, "the rate is not in [0, 1)");
  const std::uint64_t key = hyperparallel::detail::mix_bits(static_cast<std::uint64_t>(c.attributes->integer[0]));
  const std::uint64_t seed = static_cast<std::uint64_t>(c.attributes->integer[1]) ^ key;
  const T by = static_cast<T>(1 / (1 - rate));
  const T* const x = operand<T>(c, 0);
  T* const y = result<T>(c, 0);
  loop_steps in_block = steps_of(c, t), in_whole;
  extent_t step = 1, origin = 0;
  for (int d = t.rank - 1; d >= 0; --d) {
    in_whole.of[t.term[d]] = step;
    origin += c.loop[t.term[d]].begin * step;
    step *= c.loop[t.term[d]].whole;
  }
  const loop_steps steps[2] = {in_block, in_whole};
  for_each_point(c, loops_of(t), steps, [&](const extent_t(&at)[2]) {
    const float drawn =
        keyed_uniform(seed, static_cast<std::uint64_t>(c.step), static_cast<std::uint64_t>(origin + at[1]));
    y[at[0]] = (static_cast<double>(drawn) + 1) / 2 < rate ? T(0) : by * x[at[0]];
  });
}

}}}}  // namespace hyperparallel::v0_2::kernels::detail

namespace hyperparallel { inline namespace v0_2 {

template <class T>
inline constexpr operator_kernel kernel_for<T, ops::dropout> = kernels::detail::dropout_kernel<T>;

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
