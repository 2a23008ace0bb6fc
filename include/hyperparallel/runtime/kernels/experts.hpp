// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moving rows to experts and back: slots by capacity, dispatch, and the weighted combine.
//
// Each expert has `capacity` slots, filled in the order of tokens and, for one token, of its choices; a row that finds
// its expert full is dropped. Laws: `used` carries over, so the parts of a batch routed in turn get the slots of the
// whole; combine adds a token's rows in the order of its choices, so its result depends on neither the split of tokens
// nor the rank of an expert. The experts' own products are a batched matmul over [experts, capacity, width].

#include <cstdint>

#include <hyperparallel/runtime/kernels/exact.hpp>
#include <hyperparallel/runtime/kernels/indexing.hpp>
#include <hyperparallel/runtime/kernels/rows.hpp>
#include <hyperparallel/runtime/kernels/tensor_view.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel::inline v0_2::kernels {

/// slot[t, j] = expert[t, j] · capacity + place, or `no_row` where the expert is full. `used`, one count an expert, is
/// how many rows chose it before, dropped ones included, and is brought up to date; zeros at the start of a batch.
template <class I>
void assign_slots(tensor_view<I> expert, extent_t capacity, tensor_view<std::int64_t> slot, std::int64_t* used) {
  const extent_t n = volume(expert);
  for (extent_t i = 0; i < n; ++i) {
    const auto e = static_cast<extent_t>(expert.data[i]);
    const std::int64_t place = used[e]++;
    slot.data[i] = place < capacity ? e * capacity + place : no_row;
  }
}

/// rows[slot[t, j] − begin, :] = x[t, :], all other rows 0. `rows` holds the slots [begin, begin + its rows), whole
/// experts of one device for instance; slots outside are another's. Domain: begin ≥ 0, here and below.
template <class X, class T>
void dispatch_rows(tensor_view<X> x, const_view<std::int64_t> slot, tensor_view<T> rows, extent_t begin = 0) {
  const extent_t width = x.extents.extent[x.extents.rank - 1];
  const extent_t chosen = slot.extents.extent[slot.extents.rank - 1];
  const extent_t held = width == 0 ? 0 : volume(rows) / width;
  detail::copy_or_zero<T>(false, nullptr, rows.data, held * width);
  for (extent_t i = 0; i < volume(slot); ++i) {
    const extent_t row = slot.data[i] - begin;
    if (row < 0 || row >= held) continue;  // no_row lies before every window
    detail::copy_or_zero<T>(true, x.data + i / chosen * width, rows.data + row * width, width);
  }
}

/// out[t, :] = Σ over j, in order, of weight[t, j] · rows[slot[t, j] − begin, :]; slots outside the window and dropped
/// rows add nothing, so the devices' results are a partial sum.
template <class X, class W, class R>
HYPERPARALLEL_EXACT void combine_experts(tensor_view<X> rows, const_view<std::int64_t> slot, tensor_view<W> weight,
                                         tensor_view<R> out, extent_t begin = 0) {
  HYPERPARALLEL_EXACT_BODY
  using C = computing<R>;
  const extent_t width = out.extents.extent[out.extents.rank - 1];
  const extent_t chosen = slot.extents.extent[slot.extents.rank - 1];
  const extent_t held = width == 0 ? 0 : volume(rows) / width;
  const extent_t tokens = chosen == 0 ? 0 : volume(slot) / chosen;
  constexpr extent_t most = 64;
  C sum[most];
  for (extent_t t = 0; t < tokens; ++t)
    for (extent_t first = 0; first < width; first += most) {
      const extent_t lanes = smaller(most, width - first);
      for (extent_t c = 0; c < lanes; ++c) sum[c] = C{};
      for (extent_t j = t * chosen; j < (t + 1) * chosen; ++j) {
        const extent_t row = slot.data[j] - begin;
        if (row < 0 || row >= held) continue;
        const C by = static_cast<C>(load(weight.data[j]));
        const X* const from = rows.data + row * width + first;
        for (extent_t c = 0; c < lanes; ++c) sum[c] = static_cast<C>(sum[c] + by * static_cast<C>(load(from[c])));
      }
      for (extent_t c = 0; c < lanes; ++c) out.data[t * width + first + c] = store<R>(sum[c]);
    }
}

}  // namespace hyperparallel::inline v0_2::kernels

HYPERPARALLEL_EXACT_END
