// SPDX-License-Identifier: Apache-2.0
#pragma once
// Making typed tensors: from data, from numbers, at random.
//
//   auto w = hp::randn<weight>(ranks, {.seed = 7});
//   auto x = hp::zeros<hp::dtensor<float, hp::extents<hp::dyn, 64>, rows>>(ranks, hp::shape{32, 64});
//
// Every function comes twice: with a shape, and without one where the type knows all extents; where it does not that is
// one error line. Law: the numbers depend on seed, stream and the element's row-major number in the whole, and on nothing
// else; so every layout of a tensor holds the same ones. With a shape all throw dtensor_error where it is not of the
// declared extents, and layout_error where the layout does not divide it.

#include <cmath>
#include <concepts>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include <hyperparallel/dtensor/dtensor.hpp>
#include <hyperparallel/kernels/keyed_random.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Which random numbers: tensors of one seed and different streams are independent.
struct random_key {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
};

namespace detail {

template <dtensor_type Tensor>
const shape& checked_shape(const shape& s) {
  if (!matches(Tensor::extents::declared, s)) throw dtensor_error("extents_differ_from_the_declared_ones");
  return s;
}

/// Uniform in [0, 1): a multiple of 2^-24.
constexpr double unit_uniform(const random_key& key, std::uint64_t index) {
  return 0.5 * (static_cast<double>(keyed_uniform(key.seed, key.stream, index)) + 1.0);
}

/// Normal by the transform of Box and Muller (Ann. Math. Stat. 29, 1958), from two numbers of two streams.
double keyed_normal(const random_key& key, std::uint64_t index);

}  // namespace detail

/// Element number i (row-major in the whole) is f(i).
template <dtensor_type Tensor, class Function>
Tensor generate(const rank_group& group, const shape& s, const Function& f) {
  return Tensor(generate<typename Tensor::element>(group, detail::checked_shape<Tensor>(s), Tensor::layout::value, f));
}

/// Each rank's slice of a whole tensor, row-major.
template <dtensor_type Tensor>
Tensor distribute(const rank_group& group, const shape& s, std::span<const typename Tensor::element> whole) {
  return Tensor(
      distribute<typename Tensor::element>(group, detail::checked_shape<Tensor>(s), Tensor::layout::value, whole));
}

/// What the positions have, `blocks[p]` of position p. Throws dtensor_error where a count is wrong.
template <dtensor_type Tensor>
Tensor from_local(const rank_group& group, const shape& s,
                  const std::vector<std::vector<typename Tensor::element>>& blocks) {
  std::vector<std::span<const typename Tensor::element>> spans(blocks.begin(), blocks.end());
  return Tensor(
      from_local<typename Tensor::element>(group, detail::checked_shape<Tensor>(s), Tensor::layout::value, spans));
}

template <dtensor_type Tensor>
Tensor full(const rank_group& group, const shape& s, typename Tensor::element value) {
  return generate<Tensor>(group, s, [value](extent_t) { return value; });
}

template <dtensor_type Tensor>
Tensor zeros(const rank_group& group, const shape& s) {
  return full<Tensor>(group, s, kernels::store<typename Tensor::element>(0));
}

template <dtensor_type Tensor>
Tensor ones(const rank_group& group, const shape& s) {
  return full<Tensor>(group, s, kernels::store<typename Tensor::element>(1));
}

/// start, start + step, … in row-major order.
template <dtensor_type Tensor>
Tensor arange(const rank_group& group, const shape& s, extent_t start = 0, extent_t step = 1) {
  return generate<Tensor>(group, s,
                          [=](extent_t i) { return kernels::store<typename Tensor::element>(start + step * i); });
}

/// Uniform in [0, 1).
template <dtensor_type Tensor>
Tensor rand(const rank_group& group, const shape& s, const random_key& key) {
  return generate<Tensor>(group, s, [key](extent_t i) {
    return kernels::store<typename Tensor::element>(detail::unit_uniform(key, static_cast<std::uint64_t>(i)));
  });
}

/// Normal with mean 0 and variance 1.
template <dtensor_type Tensor>
Tensor randn(const rank_group& group, const shape& s, const random_key& key) {
  return generate<Tensor>(group, s, [key](extent_t i) {
    return kernels::store<typename Tensor::element>(detail::keyed_normal(key, static_cast<std::uint64_t>(i)));
  });
}

/// A dtensor type that knows all extents.
template <class Tensor>
concept static_dtensor = dtensor_type<Tensor> && Tensor::extents::is_static;

namespace diag {
template <class Dim, class Extent>
struct extent_is_known_at_run_time_alone;
}  // namespace diag

namespace detail {

/// The first dim whose extent the type does not know, or the rank.
constexpr int first_dynamic(const shape& s) {
  int d = 0;
  while (d < s.rank && !is_dynamic(s.extent[d])) ++d;
  return d;
}

template <class Extents, int Dim = first_dynamic(Extents::declared)>
struct static_verdict {
  using type = diag::extent_is_known_at_run_time_alone<dim<Dim>, extent<Extents::declared.extent[Dim]>>;
};
template <class Extents, int Dim>
  requires(Dim == Extents::rank || is_refused_extents<Extents>)
struct static_verdict<Extents, Dim> {
  using type = accepted;
};

/// One error line where the type does not know it.
template <class Tensor>
const shape& known_shape() {
  static_assert(insist<typename static_verdict<typename Tensor::extents>::type>::met);
  return Tensor::extents::declared;
}

}  // namespace detail

template <dtensor_type Tensor, class Function>
Tensor generate(const rank_group& group, const Function& f) {
  return generate<Tensor>(group, detail::known_shape<Tensor>(), f);
}
template <dtensor_type Tensor>
Tensor distribute(const rank_group& group, std::span<const typename Tensor::element> whole) {
  return distribute<Tensor>(group, detail::known_shape<Tensor>(), whole);
}
template <dtensor_type Tensor>
Tensor from_local(const rank_group& group, const std::vector<std::vector<typename Tensor::element>>& blocks) {
  return from_local<Tensor>(group, detail::known_shape<Tensor>(), blocks);
}
template <dtensor_type Tensor>
Tensor full(const rank_group& group, typename Tensor::element value) {
  return full<Tensor>(group, detail::known_shape<Tensor>(), value);
}
template <dtensor_type Tensor>
Tensor zeros(const rank_group& group) {
  return zeros<Tensor>(group, detail::known_shape<Tensor>());
}
template <dtensor_type Tensor>
Tensor ones(const rank_group& group) {
  return ones<Tensor>(group, detail::known_shape<Tensor>());
}
template <dtensor_type Tensor, std::convertible_to<extent_t>... Numbers>
  requires(sizeof...(Numbers) <= 2)
Tensor arange(const rank_group& group, Numbers... start_and_step) {
  return arange<Tensor>(group, detail::known_shape<Tensor>(), start_and_step...);
}
template <dtensor_type Tensor>
Tensor rand(const rank_group& group, const random_key& key) {
  return rand<Tensor>(group, detail::known_shape<Tensor>(), key);
}
template <dtensor_type Tensor>
Tensor randn(const rank_group& group, const random_key& key) {
  return randn<Tensor>(group, detail::known_shape<Tensor>(), key);
}

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/dtensor/creation.ipp>
#endif
