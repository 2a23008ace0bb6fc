// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reductions on dtensors: `sum<-1>(x)` over the last dim, `max(x)` over all, `mean<0, 1>(x)`, `argmax<-1>(x)`.
//
// A sharded dim leaves the result partial by the reduction. Law for floats: the elements of a block are folded from
// left to right, then the blocks' results in the order of positions when the partial state is resolved.

#include <concepts>
#include <cstdint>
#include <tuple>

#include <hyperparallel/dtensor/traced_operation.hpp>
#include <hyperparallel/kernels/reduction.hpp>
#include <hyperparallel/operators/rules/reduction.hpp>
#include <hyperparallel/support/array_bound.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace operations {

/// A fold of dims by `Op`, by `avg` to their mean.
template <reduce_op Op>
struct reduction {
  rules::dim_list dims{};  ///< none: all
  bool keep_dims = false;

  static constexpr bool is_truth = Op == reduce_op::all || Op == reduce_op::any;
  template <class X, class...>
  using results = std::tuple<std::conditional_t<is_truth, bool, X>>;
  constexpr rule_result rule(const shape* x, int) const { return rules::reduce(Op, x[0].rank, dims, keep_dims); }
  template <class X, class R>
    requires(Op != reduce_op::avg || std::floating_point<kernels::computing<X>>)
  void run(const local_operation&, const_view<X> x, tensor_view<R> out) const {
    const int rank = x.extents.rank;
    const unsigned folded = rules::choose(dims.count == 0 ? rules::all_dims(rank) : dims, rank).mask;
    if constexpr (Op == reduce_op::sum) kernels::sum(x, out, folded);
    if constexpr (Op == reduce_op::avg) kernels::mean(x, out, folded);
    if constexpr (Op == reduce_op::prod) kernels::prod(x, out, folded);
    if constexpr (Op == reduce_op::max) kernels::max(x, out, folded);
    if constexpr (Op == reduce_op::min) kernels::min(x, out, folded);
    if constexpr (Op == reduce_op::all) kernels::all(x, out, folded);
    if constexpr (Op == reduce_op::any) kernels::any(x, out, folded);
  }
};
using sum = reduction<reduce_op::sum>;
using mean = reduction<reduce_op::avg>;
using prod = reduction<reduce_op::prod>;
using max = reduction<reduce_op::max>;
using min = reduction<reduce_op::min>;
using all = reduction<reduce_op::all>;
using any = reduction<reduce_op::any>;

/// The place of the largest element along a dim, which is whole; the lowest among equals.
struct argmax {
  int dim = -1;
  bool keep_dims = false;
  template <class...>
  using results = std::tuple<std::int64_t>;
  constexpr rule_result rule(const shape* x, int) const {
    return rules::reduce("argmax", x[0].rank, dim, keep_dims, reduce_op::none);
  }
  template <class X>
  void run(const local_operation&, const_view<X> x, tensor_view<std::int64_t> out) const {
    if (volume(x) > 0) kernels::argmax(x, out, rules::from_front(dim, x.extents.rank));
  }
};

/// The largest elements along a dim and their places: two results.
struct max_with_index {
  int dim = -1;
  bool keep_dims = false;
  template <class X, class...>
  using results = std::tuple<X, std::int64_t>;
  constexpr rule_result rule(const shape* x, int) const {
    return rules::indexed_reduction("max_with_index", x[0].rank, dim, keep_dims);
  }
  template <class X>
  void run(const local_operation&, const_view<X> x, tensor_view<X> value, tensor_view<std::int64_t> index) const {
    if (volume(x) > 0) kernels::max_with_index(x, value, index, rules::from_front(dim, x.extents.rank));
  }
};

}  // namespace operations

namespace detail {

/// "abc->ac" of three dims without dim 1.
template <int Rank>
constexpr fixed_string<2 * Rank + 3> text_without(const rules::dim_list& dims) {
  const rules::chosen_dims gone = rules::choose(dims, Rank);
  char text[array_bound(2 * Rank + 3)] = {};
  int at = 0;
  for (int d = 0; d < Rank; ++d) text[at++] = static_cast<char>('a' + d);
  text[at++] = '-';
  text[at++] = '>';
  for (int d = 0; d < Rank; ++d)
    if (!rules::has(gone.mask, d)) text[at++] = static_cast<char>('a' + d);
  return text;
}
template <class X, int... Dims>
inline constexpr auto text_of_reduction = text_without<X::extents::declared.rank>({Dims...});

}  // namespace detail

template <int... Dims, tensor_or_variable X>
auto sum(const X& x) {
  if constexpr (dtensor_type<X>) {
    return apply<operations::sum{.dims = {Dims...}}>(x);
  } else if constexpr (sizeof...(Dims) == 0) {
    return apply<listed<ops::reduce, "*->">{.linear = 0b1}>(x);
  } else {
    constexpr listed<ops::reduce, detail::text_of_reduction<X, Dims...>> folded{.linear = 0b1};
    return detail::remembered<folded, ops::reduce>(sum<Dims...>(x.value()), folded, x);
  }
}
template <int... Dims, tensor_or_variable X>
auto mean(const X& x) {
  if constexpr (dtensor_type<X>) {
    return apply<operations::mean{.dims = {Dims...}}>(x);
  } else if constexpr (sizeof...(Dims) == 0) {
    extent_t n = 1;
    for (int d = 0; d < x.value().shape().rank; ++d) n *= x.value().shape().extent[d];
    return apply<ops::scale>({.real = {1.0 / static_cast<double>(n)}}, sum(x));
  } else {
    constexpr listed<ops::mean, detail::text_of_reduction<X, Dims...>> folded{};
    return detail::remembered<folded, ops::mean>(mean<Dims...>(x.value()), folded, x);
  }
}
template <int... Dims, dtensor_type X>
auto prod(const X& x) {
  return apply<operations::prod{.dims = {Dims...}}>(x);
}
template <int... Dims, dtensor_type X>
auto max(const X& x) {
  return apply<operations::max{.dims = {Dims...}}>(x);
}
template <int... Dims, dtensor_type X>
auto min(const X& x) {
  return apply<operations::min{.dims = {Dims...}}>(x);
}
template <int... Dims, dtensor_type X>
auto all(const X& x) {
  return apply<operations::all{.dims = {Dims...}}>(x);
}
template <int... Dims, dtensor_type X>
auto any(const X& x) {
  return apply<operations::any{.dims = {Dims...}}>(x);
}
template <int Dim = -1, dtensor_type X>
auto argmax(const X& x) {
  return apply<operations::argmax{.dim = Dim}>(x);
}

/// A tuple of the largest elements along a dim and their places.
template <int Dim = -1, dtensor_type X>
auto max_with_index(const X& x) {
  return apply<operations::max_with_index{.dim = Dim}>(x);
}

}}  // namespace hyperparallel::v0_2
