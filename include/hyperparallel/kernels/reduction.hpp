// SPDX-License-Identifier: Apache-2.0
#pragma once
// Folding dims away: sum, mean, prod, max, min, all, any over a set of dims, and the place of the largest element.
//
// Law: a result is the left-to-right fold, from the identity and in row-major order, of the elements that it stands
// for, in the computing type of the result; sums of floats are taken in double, over 256 terms at a time, and rounded to
// that type. So a result depends on its elements alone, and any split of the dims that stay gives bit-equal parts. Extents of the result may keep the folded dims as 1 or drop them: the elements are the same.

#include <concepts>
#include <limits>
#include <type_traits>

#include <hyperparallel/kernels/elementwise_functions.hpp>
#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/tensor_view.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels {

/// Bit d is dim d.
using dim_set = unsigned;

namespace detail {

/// Elements folded into one result.
constexpr extent_t folded_count(const shape& s, dim_set dims) {
  extent_t n = 1;
  for (int d = 0; d < s.rank; ++d) n *= (dims >> d & 1u) != 0 ? s.extent[d] : 1;
  return n;
}

/// The largest and smallest values, infinities where there are any: identities of min and max.
template <class T>
constexpr T highest =
    std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
template <class T>
constexpr T lowest =
    std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();

struct fold_sum : functions::add {
  template <class T>
  static constexpr T identity = T(0);
};
struct fold_product : functions::mul {
  template <class T>
  static constexpr T identity = T(1);
};
struct fold_maximum : functions::maximum {
  template <class T>
  static constexpr T identity = lowest<T>;
};
struct fold_minimum : functions::minimum {
  template <class T>
  static constexpr T identity = highest<T>;
};
struct fold_all : functions::logical_and {
  template <class T>
  static constexpr T identity = T(1);
};
struct fold_any : functions::logical_or {
  template <class T>
  static constexpr T identity = T(0);
};

/// The dims of `s` inside `dims` as loops over the block.
constexpr loop_nest<1> loops_along(const shape& s, dim_set dims) {
  const steps whole = row_major_steps(s);
  shape part;
  steps array[1] = {};
  for (int d = 0; d < s.rank; ++d)
    if ((dims >> d & 1u) != 0) {
      array[0].along[part.rank] = whole.along[d];
      part.extent[part.rank++] = s.extent[d];
    }
  return loops_over(part, array);
}

/// Folds `lanes` results whose elements lie `across` apart, each over the loops of `folded`.
template <class Fold, class C, class X>
HYPERPARALLEL_EXACT void fold_lanes(const loop_nest<1>& folded, extent_t lanes, extent_t across, const X* x, C* sum) {
  for (extent_t lane = 0; lane < lanes; ++lane) sum[lane] = Fold::template identity<C>;
  for_each_run(folded, [&](const auto& offset, extent_t n, const auto& step) {
    const X* row = x + offset[0];
    for (extent_t i = 0; i < n; ++i, row += step[0]) {
      if (across == 1)
        for (extent_t lane = 0; lane < lanes; ++lane)
          sum[lane] = static_cast<C>(Fold::of(sum[lane], static_cast<C>(load(row[lane]))));
      else
        for (extent_t lane = 0; lane < lanes; ++lane)
          sum[lane] = static_cast<C>(Fold::of(sum[lane], static_cast<C>(load(row[lane * across]))));
    }
  });
}

/// The same of sums of floats: in double, sums over 256 terms added up.
template <class C, class X>
HYPERPARALLEL_EXACT void sum_lanes(const loop_nest<1>& folded, extent_t lanes, extent_t across, const X* x, C* sum) {
  HYPERPARALLEL_EXACT_BODY
  constexpr extent_t most = 64, block = 256;
  double part[most] = {}, total[most] = {};
  extent_t terms = 0;
  bool first = true;
  const auto end_block = [&] {
    for (extent_t lane = 0; lane < lanes; ++lane) {
      total[lane] = first ? part[lane] : total[lane] + part[lane];
      part[lane] = 0;
    }
    terms = 0;
    first = false;
  };
  for_each_run(folded, [&](const auto& offset, extent_t n, const auto& step) {
    const X* row = x + offset[0];
    for (extent_t i = 0; i < n; ++i, row += step[0]) {
      if (across == 1)
        for (extent_t lane = 0; lane < lanes; ++lane) part[lane] += static_cast<double>(load(row[lane]));
      else
        for (extent_t lane = 0; lane < lanes; ++lane) part[lane] += static_cast<double>(load(row[lane * across]));
      if (++terms == block) end_block();
    }
  });
  if (terms > 0) end_block();
  for (extent_t lane = 0; lane < lanes; ++lane) sum[lane] = static_cast<C>(total[lane]);
}

/// `finish` turns a fold into its result, before it is stored.
template <class Fold, class X, class R, class Finish>
void fold(tensor_view<X> x, tensor_view<R> out, dim_set dims, Finish finish) {
  // Contiguous lanes fill vectors; strided ones hide the latency of each other's chain, and few keep their lines
  // cached.
  constexpr extent_t most_contiguous = 64, most_strided = 8;
  computing<R> sum[most_contiguous];
  const std::remove_const_t<X>* const from = x.data;
  const loop_nest<1> folded = loops_along(x.extents, dims);
  R* to = out.data;
  for_each_run(loops_along(x.extents, ~dims), [&](const auto& offset, extent_t n, const auto& step) {
    const extent_t most = step[0] == 1 ? most_contiguous : most_strided;
    for (extent_t first = 0; first < n; first += most) {
      const extent_t lanes = smaller(most, n - first);
      if constexpr (std::is_same_v<Fold, fold_sum> && std::floating_point<computing<R>>)
        sum_lanes(folded, lanes, step[0], from + offset[0] + first * step[0], sum);
      else
        fold_lanes<Fold>(folded, lanes, step[0], from + offset[0] + first * step[0], sum);
      for (extent_t lane = 0; lane < lanes; ++lane) *to++ = store<R>(finish(sum[lane]));
    }
  });
}

template <class Fold, class X, class R>
void fold(tensor_view<X> x, tensor_view<R> out, dim_set dims) {
  fold<Fold>(x, out, dims, [](auto sum) { return sum; });
}

}  // namespace detail

/// Domain, here and below: out has the dims of x but `dims`, which are gone or 1.
template <class X, class R>
void sum(tensor_view<X> x, tensor_view<R> out, dim_set dims) {
  detail::fold<detail::fold_sum>(x, out, dims);
}

/// The sum divided once by the count; NaN where nothing is folded.
template <class X, class R>
  requires std::floating_point<computing<R>>
void mean(tensor_view<X> x, tensor_view<R> out, dim_set dims) {
  const auto count = static_cast<computing<R>>(detail::folded_count(x.extents, dims));
  detail::fold<detail::fold_sum>(x, out, dims, [count](auto sum) { return sum / count; });
}

template <class X, class R>
void prod(tensor_view<X> x, tensor_view<R> out, dim_set dims) {
  detail::fold<detail::fold_product>(x, out, dims);
}

/// NaN where an element is NaN; the lowest value (-∞) where nothing is folded.
template <class X, class R>
void max(tensor_view<X> x, tensor_view<R> out, dim_set dims) {
  detail::fold<detail::fold_maximum>(x, out, dims);
}

/// NaN where an element is NaN; the highest value (∞) where nothing is folded.
template <class X, class R>
void min(tensor_view<X> x, tensor_view<R> out, dim_set dims) {
  detail::fold<detail::fold_minimum>(x, out, dims);
}

/// Whether every element is not 0.
template <class X>
void all(tensor_view<X> x, tensor_view<bool> out, dim_set dims) {
  detail::fold<detail::fold_all>(x, out, dims);
}

/// Whether some element is not 0.
template <class X>
void any(tensor_view<X> x, tensor_view<bool> out, dim_set dims) {
  detail::fold<detail::fold_any>(x, out, dims);
}

/// The largest element along `axis` and its place, counted from `first`: the lowest place among equals, and the first
/// NaN where there is one. `value.data` may be null. Domain: the axis is not empty.
template <class X, class V, class I>
void max_with_index(tensor_view<X> x, tensor_view<V> value, tensor_view<I> index, int axis, extent_t first = 0) {
  const detail::axis_split s = detail::split_at(x.extents, axis);
  for (extent_t o = 0; o < s.outer; ++o)
    for (extent_t i = 0; i < s.inner; ++i) {
      const std::remove_const_t<X>* const row = x.data + o * s.middle * s.inner + i;
      extent_t place = 0;
      auto best = load(row[0]);
      for (extent_t m = 1; m < s.middle && best == best; ++m) {
        const auto candidate = load(row[m * s.inner]);
        if (best < candidate || candidate != candidate) {
          best = candidate;
          place = m;
        }
      }
      if (value.data != nullptr) value.data[o * s.inner + i] = store<V>(best);
      index.data[o * s.inner + i] = static_cast<I>(first + place);
    }
}

template <class X, class I>
void argmax(tensor_view<X> x, tensor_view<I> index, int axis, extent_t first = 0) {
  max_with_index(x, tensor_view<std::remove_const_t<X>>{}, index, axis, first);
}

}}}  // namespace hyperparallel::v0_2::kernels

HYPERPARALLEL_EXACT_END
