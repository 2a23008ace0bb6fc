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

/// `Fold` has the name of the rule, the kernel, and whether results are truth values.
template <class Fold>
struct reduction {
  rules::dim_list dims{};  ///< none: all
  bool keep_dims = false;

  template <class X, class...>
  using results = std::tuple<std::conditional_t<Fold::is_truth, bool, X>>;
  constexpr rule_result rule(const shape* x, int) const {
    return rules::reduce(Fold::name, x[0].rank, dims, keep_dims);
  }
  template <class X, class R>
    requires(!Fold::needs_floats || std::floating_point<kernels::computing<X>>)
  void run(const local_operation&, const_view<X> x, tensor_view<R> out) const {
    const int rank = x.extents.rank;
    Fold::run(x, out, rules::choose(dims.count == 0 ? rules::all_dims(rank) : dims, rank).mask);
  }
};

struct fold_traits {
  static constexpr bool is_truth = false;
  static constexpr bool needs_floats = false;
};
struct fold_by_sum : fold_traits {
  static constexpr const char* name = "sum";
  static void run(auto x, auto out, unsigned dims) { kernels::sum(x, out, dims); }
};
struct fold_by_mean : fold_traits {
  static constexpr const char* name = "mean";
  static constexpr bool needs_floats = true;
  static void run(auto x, auto out, unsigned dims) { kernels::mean(x, out, dims); }
};
struct fold_by_prod : fold_traits {
  static constexpr const char* name = "prod";
  static void run(auto x, auto out, unsigned dims) { kernels::prod(x, out, dims); }
};
struct fold_by_max : fold_traits {
  static constexpr const char* name = "max";
  static void run(auto x, auto out, unsigned dims) { kernels::max(x, out, dims); }
};
struct fold_by_min : fold_traits {
  static constexpr const char* name = "min";
  static void run(auto x, auto out, unsigned dims) { kernels::min(x, out, dims); }
};
struct fold_by_all : fold_traits {
  static constexpr const char* name = "all";
  static constexpr bool is_truth = true;
  static void run(auto x, auto out, unsigned dims) { kernels::all(x, out, dims); }
};
struct fold_by_any : fold_traits {
  static constexpr const char* name = "any";
  static constexpr bool is_truth = true;
  static void run(auto x, auto out, unsigned dims) { kernels::any(x, out, dims); }
};

using sum = reduction<fold_by_sum>;
using mean = reduction<fold_by_mean>;
using prod = reduction<fold_by_prod>;
using max = reduction<fold_by_max>;
using min = reduction<fold_by_min>;
using all = reduction<fold_by_all>;
using any = reduction<fold_by_any>;

/// The place of the largest element along a dim, which is whole; the lowest among equals.
struct argmax {
  int dim = -1;
  bool keep_dims = false;
  template <class...>
  using results = std::tuple<std::int64_t>;
  constexpr rule_result rule(const shape* x, int) const { return rules::index_of("argmax", x[0].rank, dim, keep_dims); }
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
