// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cross entropy in pieces that compose over a vocabulary split between devices, none of which holds a whole row.
//
//   row_max         M = max over devices of the largest logit of each one's window
//   row_sum_exp     S = Σ over devices of Σ e^(x − M)
//   picked_logit    P = Σ over devices of x[label], 0 outside the window
//   cross_entropy_of_rows    log S + M − P
// as in Megatron-LM (Shoeybi et al., arXiv:1909.08053 §3). Law: over windows that tile the classes the pieces give the
// loss of the whole row, exactly but for the order of the sum S. Rows are all dims but the last; results have one
// element a row, in the computing type.

#include <cmath>
#include <concepts>

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/indexing.hpp>
#include <hyperparallel/kernels/reduction.hpp>
#include <hyperparallel/kernels/row_arithmetic.hpp>
#include <hyperparallel/kernels/tensor_view.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels {

/// Labels of this value have no loss.
inline constexpr extent_t ignored_label = -100;

namespace detail {

template <class X, std::floating_point C>
void row_max(tensor_view<X> logits, tensor_view<C> largest) {
  max(logits, largest, 1u << (logits.extents.rank - 1));
}

/// Σ over the row of e^(x − largest).
template <class X, class L, std::floating_point C>
HYPERPARALLEL_EXACT void row_sum_exp(tensor_view<X> logits, tensor_view<L> largest, tensor_view<C> total) {
  HYPERPARALLEL_EXACT_BODY
  const extent_t classes = logits.extents.extent[logits.extents.rank - 1];
  const extent_t rows = volume(total);
  for (extent_t r = 0; r < rows; ++r) {
    const X* const row = logits.data + r * classes;
    total.data[r] = lane_sum<C>(
        classes, [&](extent_t c) { return std::exp(static_cast<C>(load(row[c])) - static_cast<C>(largest.data[r])); });
  }
}

/// x[label − begin] of each row; 0 where the label is outside [begin, begin + classes).
template <class X, class I, std::floating_point C>
void picked_logit(tensor_view<X> logits, tensor_view<I> labels, tensor_view<C> picked, extent_t begin = 0) {
  const extent_t classes = logits.extents.extent[logits.extents.rank - 1];
  const extent_t rows = volume(labels);
  for (extent_t r = 0; r < rows; ++r) {
    const extent_t c = static_cast<extent_t>(labels.data[r]) - begin;
    picked.data[r] = c >= 0 && c < classes ? static_cast<C>(load(logits.data[r * classes + c])) : C(0);
  }
}

/// The loss of each row from its pieces; 0 where the label is `ignored`. loss may be any of the pieces.
template <class L, class S, class P, class I, class R>
HYPERPARALLEL_EXACT void cross_entropy_of_rows(tensor_view<L> largest, tensor_view<S> total, tensor_view<P> picked,
                                               tensor_view<I> labels, tensor_view<R> loss,
                                               extent_t ignored = ignored_label) {
  const extent_t rows = volume(labels);
  for (extent_t r = 0; r < rows; ++r)
    loss.data[r] = static_cast<extent_t>(labels.data[r]) == ignored
                       ? R{}
                       : store<R>(std::log(total.data[r]) + (largest.data[r] - picked.data[r]));
}

}  // namespace detail

/// The loss of each row of a vocabulary in one piece, with the bits of the pieces above.
template <class X, class I, class R>
void cross_entropy(tensor_view<X> logits, tensor_view<I> labels, tensor_view<R> loss,
                   extent_t ignored = ignored_label) {
  using C = computing<X>;
  const extent_t classes = logits.extents.extent[logits.extents.rank - 1];
  const extent_t rows = volume(labels);
  for (extent_t r = 0; r < rows; ++r) {
    C largest = C(0), total = C(0), picked = C(0);
    const shape one{};
    const tensor_view<X> row{logits.data + r * classes, shape{classes}};
    const tensor_view<I> label{labels.data + r, one};
    detail::row_max(row, tensor_view<C>{&largest, one});
    detail::row_sum_exp(row, tensor_view<C>{&largest, one}, tensor_view<C>{&total, one});
    detail::picked_logit(row, label, tensor_view<C>{&picked, one});
    detail::cross_entropy_of_rows(tensor_view<C>{&largest, one}, tensor_view<C>{&total, one},
                                  tensor_view<C>{&picked, one}, label, tensor_view<R>{loss.data + r, one}, ignored);
  }
}

}}}  // namespace hyperparallel::v0_2::kernels

HYPERPARALLEL_EXACT_END
