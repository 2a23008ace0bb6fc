// SPDX-License-Identifier: Apache-2.0
#pragma once
// Folding the terms of a reduction, element by element, in the order in which they are listed.
//
// Law: an element is ((t0 op t1) op t2) … in the computing type, divided at the end where it is an average, and stored
// once; any split of a block into runs, and either kind of store, gives the same bits. Hence results do not depend on
// threads or transport. Work is done a few thousand bytes at a time, so that sums stay in the first-level cache and
// every term is read once.

#include <cstddef>
#include <cstdint>

#include <hyperparallel/kernels/elementwise_functions.hpp>
#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/streaming_copy.hpp>
#include <hyperparallel/kernels/tensor_view.hpp>
#include <hyperparallel/layout/layout_value.hpp>
#include <hyperparallel/support/array_bound.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels {

/// What becomes of the terms: `op` over all of them, then divided by `divisor`.
struct term_fold {
  data_type type = data_type::f32;
  reduce_op op = reduce_op::sum;
  extent_t divisor = 1;  ///< of an average
};

namespace detail {

/// Calls `element(i)` for 0 ≤ i < n. The inner loop has a constant length, because that is what makes a compiler
/// vectorise it without being asked for size.
template <class Element>
inline void for_each_lane(std::int64_t n, const Element& element) {
  constexpr std::int64_t lanes = 64;
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (std::int64_t k = 0; k < lanes; ++k) element(i + k);
  for (; i < n; ++i) element(i);
}

/// sum[i] = term[i], in the computing type. Here and below: n elements, `sum` overlaps nothing.
template <class T>
HYPERPARALLEL_EXACT void first_term(std::int64_t n, const T* __restrict term, computing<T>* __restrict sum) {
  HYPERPARALLEL_EXACT_BODY
  detail::for_each_lane(n, [&](std::int64_t i) { sum[i] = load(term[i]); });
}

/// sum[i] = sum[i] op term[i].
template <class T>
HYPERPARALLEL_EXACT void fold_term(reduce_op op, std::int64_t n, const T* __restrict term,
                                   computing<T>* __restrict sum) {
  HYPERPARALLEL_EXACT_BODY
  namespace f = functions;
  const auto by = [&](auto function) {
    detail::for_each_lane(
        n, [&](std::int64_t i) { sum[i] = static_cast<computing<T>>(decltype(function)::of(sum[i], load(term[i]))); });
  };
  switch (op) {
    case reduce_op::max:
      return by(f::maximum{});
    case reduce_op::min:
      return by(f::minimum{});
    case reduce_op::prod:
      return by(f::mul{});
    case reduce_op::all:
      return by(f::logical_and{});
    case reduce_op::any:
      return by(f::logical_or{});
    case reduce_op::none:
    case reduce_op::sum:
    case reduce_op::avg:
      return by(f::add{});
  }
}

/// to[i] = sum[i] / divisor, rounded once.
template <class T>
HYPERPARALLEL_EXACT void store_sum(extent_t divisor, std::int64_t n, const computing<T>* __restrict sum,
                                   T* __restrict to) {
  HYPERPARALLEL_EXACT_BODY
  using C = computing<T>;
  if (divisor == 1)
    detail::for_each_lane(n, [&](std::int64_t i) { to[i] = store<T>(sum[i]); });
  else
    detail::for_each_lane(n,
                          [&](std::int64_t i) { to[i] = store<T>(static_cast<C>(sum[i] / static_cast<C>(divisor))); });
}

}  // namespace detail

/// The fold of `terms` ≥ 1 runs of n elements, run t at `term(t)`, into `to`, which is one of the terms itself or
/// overlaps none of them.
template <class T, class Term>
void fold_terms(reduce_op op, extent_t divisor, int terms, std::int64_t n, const Term& term, T* to,
                store_kind stores = store_kind::cached) {
  constexpr std::int64_t block = 4096 / static_cast<std::int64_t>(sizeof(computing<T>));
  computing<T> sum[hyperparallel::detail::array_bound(block)];
  T result[hyperparallel::detail::array_bound(block)];
  for (std::int64_t done = 0; done < n; done += block) {
    const std::int64_t count = n - done < block ? n - done : block;
    detail::first_term<T>(count, term(0) + done, sum);
    for (int t = 1; t < terms; ++t) detail::fold_term<T>(op, count, term(t) + done, sum);
    if (stores == store_kind::cached) {
      detail::store_sum<T>(divisor, count, sum, to + done);
      continue;
    }
    detail::store_sum<T>(divisor, count, sum, result);
    copy_run(reinterpret_cast<std::byte*>(to + done), reinterpret_cast<const std::byte*>(result),
             count * static_cast<std::int64_t>(sizeof(T)), stores);
  }
}

namespace detail {

/// The same on bytes: runs of `bytes` that start at `term[t] + offset`. Domain: all are aligned for the fold's type and
/// `bytes` is a multiple of its size.
inline void fold_runs(const term_fold& fold, int terms, const std::byte* const* term, std::int64_t offset,
                      std::int64_t bytes, std::byte* target, store_kind stores) {
  hyperparallel::detail::visit_element_type(fold.type, [&](auto type) {
    using T = typename decltype(type)::type;
    fold_terms<T>(
        fold.op, fold.divisor, terms, bytes / static_cast<std::int64_t>(sizeof(T)),
        [&](int t) { return reinterpret_cast<const T*>(term[t] + offset); }, reinterpret_cast<T*>(target), stores);
  });
}

}  // namespace detail

}}}  // namespace hyperparallel::v0_2::kernels

HYPERPARALLEL_EXACT_END
