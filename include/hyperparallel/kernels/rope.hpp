// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rotary position embedding (Su et al., arXiv:2104.09864): the pair (i, i + D/2) of a row at position p turns by
// p · base^(−2i / D), forward or back.
//
// Laws: lengths of pairs stay; the product of a turned query and a turned key depends on the distance of their
// positions alone; a row depends on itself and its position, so slices at their `first_position` are the whole's.
// Angles, sines and cosines are taken in double, whatever the element type. Results may be the operand. O(elements).

#include <cmath>
#include <type_traits>
#include <vector>

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/tensor_view.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels {

namespace detail {

/// Cosines and sines of one span of positions, kept by a thread from layer to layer.
template <class T>
struct rotation_table {
  double base = 0;
  extent_t pairs = 0, begin = 0, count = 0;
  std::vector<T> turn;  ///< [position][cosines, then sines]

  const T* at(double new_base, extent_t new_pairs, extent_t new_begin, extent_t new_count) {
    if (base == new_base && pairs == new_pairs && begin == new_begin && count >= new_count) return turn.data();
    base = new_base, pairs = new_pairs, begin = new_begin, count = new_count;
    turn.resize(static_cast<std::size_t>(2 * pairs * count));
    for (extent_t i = 0; i < pairs; ++i) {
      const double frequency = std::pow(base, -static_cast<double>(i) / static_cast<double>(pairs));
      for (extent_t p = 0; p < count; ++p) {
        const double angle = static_cast<double>(begin + p) * frequency;
        turn[static_cast<std::size_t>(2 * p * pairs + i)] = static_cast<T>(std::cos(angle));
        turn[static_cast<std::size_t>((2 * p + 1) * pairs + i)] = static_cast<T>(std::sin(angle));
      }
    }
    return turn.data();
  }
};

}  // namespace detail

struct rope_options {
  double base = 10000;
  extent_t first_position = 0;  ///< position of index 0
  bool back = false;            ///< turns the other way round: what undoes it, and its gradient
};

/// Turns the rows of x, its last dim, by their index along `position_axis`. Domain: the last dim is even, position_axis <
/// rank − 1.
template <class X, class R>
void rope(tensor_view<X> x, tensor_view<R> out, int position_axis, const rope_options& options = {}) {
  using C = computing<R>;
  const detail::axis_split s = detail::split_at(x.extents, position_axis);
  const extent_t width = x.extents.extent[x.extents.rank - 1], pairs = width / 2;
  if (volume(x) == 0) return;
  static thread_local detail::rotation_table<C> table;
  const C* const turn = table.at(options.base, pairs, options.first_position, s.middle);
  const C sign = options.back ? C(-1) : C(1);
  const std::remove_const_t<X>* from = x.data;
  R* to = out.data;
  for (extent_t o = 0; o < s.outer; ++o)
    for (extent_t p = 0; p < s.middle; ++p) {
      const C *cosine = turn + 2 * p * pairs, *sine = cosine + pairs;
      for (extent_t rows = s.inner / width; rows > 0; --rows, from += width, to += width)
        for (extent_t i = 0; i < pairs; ++i) {
          const C a = static_cast<C>(load(from[i])), b = static_cast<C>(load(from[i + pairs])), c = sign * sine[i];
          to[i] = store<R>(a * cosine[i] - b * c);
          to[i + pairs] = store<R>(b * cosine[i] + a * c);
        }
    }
}

}}}  // namespace hyperparallel::v0_2::kernels

HYPERPARALLEL_EXACT_END
