// SPDX-License-Identifier: Apache-2.0
#pragma once
// The order of elements along a dim, on dtensors: running sums and products, sort, the k largest. The dim is whole.

#include <concepts>
#include <cstdint>
#include <tuple>

#include <hyperparallel/dtensor/operation.hpp>
#include <hyperparallel/kernels/ordering.hpp>
#include <hyperparallel/operators/rules/ordering.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace operations {

struct cumsum {
  int dim = -1;
  constexpr rule_result rule(const shape* x, int) const { return rules::cumsum(x[0].rank, dim); }
  template <class X>
    requires(!std::same_as<X, bool>)
  void run(const local_operation&, const_view<X> x, tensor_view<X> out) const {
    kernels::cumsum(x, out, rules::from_front(dim, x.extents.rank));
  }
};

struct cumprod {
  int dim = -1;
  constexpr rule_result rule(const shape* x, int) const { return rules::cumprod(x[0].rank, dim); }
  template <class X>
    requires(!std::same_as<X, bool>)
  void run(const local_operation&, const_view<X> x, tensor_view<X> out) const {
    kernels::cumprod(x, out, rules::from_front(dim, x.extents.rank));
  }
};

/// Sorted elements and where each was.
struct sort {
  int dim = -1;
  template <class X, class...>
  using results = std::tuple<X, std::int64_t>;
  constexpr rule_result rule(const shape* x, int) const { return rules::sort(x[0].rank, dim); }
  template <class X>
  void run(const local_operation&, const_view<X> x, tensor_view<X> value, tensor_view<std::int64_t> index) const {
    kernels::sort(x, value, index, rules::from_front(dim, x.extents.rank));
  }
};

struct argsort {
  int dim = -1;
  template <class...>
  using results = std::tuple<std::int64_t>;
  constexpr rule_result rule(const shape* x, int) const { return rules::argsort(x[0].rank, dim); }
  template <class X>
  void run(const local_operation&, const_view<X> x, tensor_view<std::int64_t> index) const {
    kernels::argsort(x, index, rules::from_front(dim, x.extents.rank));
  }
};

/// The `count` largest and where they were; equal ones in the order of their places.
struct topk {
  extent_t count = 1;
  int dim = -1;
  template <class X, class...>
  using results = std::tuple<X, std::int64_t>;
  constexpr rule_result rule(const shape* x, int) const { return rules::topk(x[0].rank, dim, count); }
  template <class X>
  void run(const local_operation&, const_view<X> x, tensor_view<X> value, tensor_view<std::int64_t> index) const {
    kernels::topk(x, value, index, rules::from_front(dim, x.extents.rank));
  }
};

}  // namespace operations

template <int Dim = -1, dtensor_type X>
auto cumsum(const X& x) {
  return apply<operations::cumsum{Dim}>(x);
}
template <int Dim = -1, dtensor_type X>
auto cumprod(const X& x) {
  return apply<operations::cumprod{Dim}>(x);
}
/// A tuple of sorted elements and their places.
template <int Dim = -1, dtensor_type X>
auto sort(const X& x) {
  return apply<operations::sort{Dim}>(x);
}
template <int Dim = -1, dtensor_type X>
auto argsort(const X& x) {
  return apply<operations::argsort{Dim}>(x);
}
/// A tuple of the largest elements and their places.
template <extent_t Count, int Dim = -1, dtensor_type X>
auto topk(const X& x) {
  return apply<operations::topk{Count, Dim}>(x);
}

}}  // namespace hyperparallel::v0_2
