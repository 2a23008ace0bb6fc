// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rotary position embedding (Su et al., arXiv:2104.09864): pair i of a row at position p turns by p · base^(−2i / n),
// n the dims that turn.
//
// Laws: lengths of pairs stay; the product of a turned query and a turned key depends on the distance of their
// positions alone; a row depends on itself and its position, so slices at their `first_position` are the whole's.
// Angles, sines and cosines are taken in double, whatever the element type. Results may be the operand.

#include <cmath>
#include <type_traits>

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/tensor_view.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels {

/// Which elements of a row make pair i: (i, i + n/2), or (2i, 2i + 1).
enum class rope_pairing { half_split, interleaved };

struct rope_options {
  double base = 10000;
  extent_t first_position = 0;  ///< position of index 0
  extent_t dims = 0;            ///< even; leading elements of each row that turn; 0 stands for all
  rope_pairing pairing = rope_pairing::half_split;
};

namespace detail {

/// Turns pairs [first, first + count) of `dims` turning elements in `rows` rows, `pitch` elements apart.
template <class X, class R, class C>
HYPERPARALLEL_EXACT void turn_pairs(extent_t rows, extent_t pitch, extent_t dims, extent_t first, extent_t count,
                                    rope_pairing pairing, const C* cosine, const C* sine, const X* x, R* out) {
  HYPERPARALLEL_EXACT_BODY
  const extent_t apart = pairing == rope_pairing::half_split ? dims / 2 : 1;
  const extent_t step = pairing == rope_pairing::half_split ? 1 : 2;
  for (extent_t r = 0; r < rows; ++r)
    for (extent_t i = 0; i < count; ++i) {
      const extent_t at = r * pitch + (first + i) * step;
      const C a = static_cast<C>(load(x[at])), b = static_cast<C>(load(x[at + apart]));
      out[at] = store<R>(a * cosine[i] - b * sine[i]);
      out[at + apart] = store<R>(b * cosine[i] + a * sine[i]);
    }
}

/// Calls turn(position, first row) for each position of each outer block, and copies what does not turn.
template <class X, class R, class Turn>
void for_each_position(tensor_view<X> x, tensor_view<R> out, int position_axis, extent_t dims, Turn turn) {
  const axis_split s = split_at(x.extents, position_axis);
  for (extent_t p = 0; p < s.middle; ++p)
    for (extent_t o = 0; o < s.outer; ++o) turn(p, (o * s.middle + p) * s.inner, s.inner);
  const extent_t width = x.extents.extent[x.extents.rank - 1];
  if (dims == width || static_cast<const void*>(x.data) == out.data) return;
  for (extent_t row = 0; row < volume(x); row += width)
    for (extent_t i = dims; i < width; ++i) out.data[row + i] = store<R>(load(x.data[row + i]));
}

}  // namespace detail

/// Turns the rows of x, its last dim, by their index along `position_axis`. Domain: position_axis < rank − 1.
template <class X, class R>
void rope(tensor_view<X> x, tensor_view<R> out, int position_axis, const rope_options& options = {}) {
  using C = computing<R>;
  const std::remove_const_t<X>* const from = x.data;
  const extent_t width = x.extents.extent[x.extents.rank - 1];
  const extent_t dims = options.dims == 0 ? width : options.dims;
  constexpr extent_t most = 64;
  C cosine[most], sine[most];
  for (extent_t first = 0; first < dims / 2; first += most) {
    const extent_t count = smaller(most, dims / 2 - first);
    double frequency[most];
    for (extent_t i = 0; i < count; ++i)
      frequency[i] = std::pow(options.base, -2.0 * static_cast<double>(first + i) / static_cast<double>(dims));
    extent_t held = -1;
    // Blocks of one position follow each other, so its sines are taken once.
    detail::for_each_position(
        x, out, position_axis, first == 0 ? dims : width, [&](extent_t position, extent_t start, extent_t inner) {
          for (extent_t i = 0; position != held && i < count; ++i) {
            const double angle = static_cast<double>(options.first_position + position) * frequency[i];
            cosine[i] = static_cast<C>(std::cos(angle));
            sine[i] = static_cast<C>(std::sin(angle));
          }
          held = position;
          detail::turn_pairs(inner / width, width, dims, first, count, options.pairing, cosine, sine, from + start,
                             out.data + start);
        });
  }
}

/// The same with given tables of [positions, pairs]: the dims that turn are twice their last extent.
template <class X, class C, class R>
void rotate_pairs(tensor_view<X> x, tensor_view<C> cosine, tensor_view<C> sine, tensor_view<R> out, int position_axis,
                  rope_pairing pairing = rope_pairing::half_split) {
  static_assert(std::is_same_v<std::remove_const_t<C>, computing<R>>, "tables are of the computing type");
  const std::remove_const_t<X>* const from = x.data;
  const extent_t width = x.extents.extent[x.extents.rank - 1];
  const extent_t pairs = cosine.extents.extent[1];
  detail::for_each_position(x, out, position_axis, 2 * pairs, [&](extent_t position, extent_t start, extent_t inner) {
    detail::turn_pairs(inner / width, width, 2 * pairs, 0, pairs, pairing,
                       static_cast<const computing<R>*>(cosine.data) + position * pairs,
                       static_cast<const computing<R>*>(sine.data) + position * pairs, from + start, out.data + start);
  });
}

}}}  // namespace hyperparallel::v0_2::kernels

HYPERPARALLEL_EXACT_END
