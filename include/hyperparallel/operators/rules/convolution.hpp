// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolutions of one to three spatial dims: x is batch × channels × space, weights are out × in of a group × window.
//
// Groups are the major factor of both channel dims. Channels that are summed over are a reduction. Along space a device
// needs a halo of its neighbours' elements, so the dim is refused where it is sharded, unless windows lie side by side
// without overlap or margin: then it is (place, offset in the window), places pass through, and the window is one more
// reduction. Linear in each of x and weights. Compare Shardy's rule, which treats all windows as the latter.

#include <hyperparallel/operators/rules/attributes.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace rules {

/// Along one spatial dim.
struct convolution_window {
  extent_t stride = 1;
  extent_t before = 0;
  extent_t after = 0;
  extent_t dilation = 1;
  friend constexpr bool operator==(const convolution_window&, const convolution_window&) = default;
};

struct convolution_options {
  convolution_window window[3] = {};
  extent_t groups = 1;
  bool bias = false;
};

/// Places of a window of `size` along a dim of `n` elements; below 1 where it does not fit once.
constexpr extent_t places_of(const convolution_window& w, extent_t n, extent_t size) {
  const extent_t room = n + w.before + w.after - w.dilation * (size - 1) - 1;
  return room < 0 ? 0 : room / w.stride + 1;
}

/// Whether windows of `size` cover a dim of `n` elements side by side.
constexpr bool tiles(const convolution_window& w, extent_t n, extent_t size) {
  return w.before == 0 && w.after == 0 && w.dilation == 1 && w.stride == size && n % size == 0;
}

namespace parts {

/// One spatial dim of x, weights and result. False where no window fits.
constexpr bool add_space(factor_rule& r, const convolution_window& w, extent_t n, extent_t size) {
  if (w.stride < 1 || w.dilation < 1 || w.before < 0 || w.after < 0 || size < 1) return false;
  const extent_t places = places_of(w, n, size);
  if (places < 1) return false;
  tensor_factors &x = r.operand[0], &weights = r.operand[1], &y = r.result[0];
  const bool side_by_side = tiles(w, n, size);
  const int place = add_factor(r, side_by_side ? factor_kind::pass_through : factor_kind::permutation, places);
  add_dim(x, place);
  add_dim(y, place);
  if (side_by_side && size > 1) {
    const int offset = add_factor(r, factor_kind::reduction, size, reduce_op::sum);
    extend_dim(x, offset);
    add_dim(weights, offset);
  } else if (size == 1) {
    add_dim(weights);
  } else {
    add_dim(weights, add_whole(r, size));
  }
  if (!side_by_side) x.extent[x.rank - 1] = n;
  return true;
}

}  // namespace parts

/// Operands: x, weights, and the bias where there is one, which joins by a fill where the result is a partial sum.
/// Fails with too_many_dims (not 1 to 3 spatial dims), axes_differ_from_rank, sizes_do_not_fit (channels and groups),
/// and attribute_is_invalid, naming the spatial dim.
constexpr rule_result convolution(const shape& x, const shape& weights, const convolution_options& o = {}) {
  const char* const name = "convolution";
  if (x.rank < 3 || x.rank > 5) return no_rule(name, rule_code::too_many_dims, x.rank);
  if (weights.rank != x.rank) return no_rule(name, rule_code::axes_differ_from_rank, weights.rank);
  if (o.groups < 1 || weights.extent[0] % o.groups != 0 || weights.extent[1] * o.groups != x.extent[1])
    return no_rule(name, rule_code::sizes_do_not_fit, 1);
  factor_rule r = rule_called(name, linear_in_each(0b11u), 2);
  const int batch = add_factor(r), group = o.groups > 1 ? add_factor(r, factor_kind::pass_through, o.groups) : -1;
  const int in = add_factor(r, factor_kind::reduction, 0, reduce_op::sum), out = add_factor(r);
  tensor_factors &image = add_operand(r), &kernel = add_operand(r), &y = add_result(r);
  add_dim(image, batch);
  add_dim(y, batch);
  if (group < 0) {
    add_dim(image, in);
    add_dim(kernel, out);
    add_dim(y, out);
  } else {
    add_dim(image, group);
    extend_dim(image, in);
    add_dim(kernel, group);
    extend_dim(kernel, out);
    add_dim(y, group);
    extend_dim(y, out);
  }
  add_dim(kernel, in);
  for (int d = 2; d < x.rank; ++d)
    if (!parts::add_space(r, o.window[d - 2], x.extent[d], weights.extent[d]))
      return no_rule(name, rule_code::attribute_is_invalid, d - 2);
  if (!o.bias) return checked_rule(r);
  tensor_factors& bias = add_operand(r);
  add_dim(bias, group < 0 ? out : group);
  if (group >= 0) extend_dim(bias, out);
  stand_outside(r, 2);
  return checked_rule(r);
}

}}}  // namespace hyperparallel::v0_2::rules
