// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolutions on dtensors. Channels may be sharded: those that are summed over leave a partial sum, and the bias is
// added once.

#include <concepts>

#include <hyperparallel/dtensor/operation.hpp>
#include <hyperparallel/kernels/convolution.hpp>
#include <hyperparallel/operators/rules/convolution.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace operations {

/// x is batch × channels × space, weights are out × in of a group × window; a third operand is the bias.
struct convolution {
  static constexpr bool whole_extents = true;
  rules::convolution_options options{};
  constexpr rule_result rule(const shape* x, int count) const {
    if (count < 2) return no_rule("convolution", rule_code::too_many_operands, count);
    rules::convolution_options o = options;
    o.bias = count == 3;
    return rules::convolution(x[0], x[1], o);
  }
  template <class X>
    requires(!std::same_as<X, bool>)
  void run(const local_operation& at, const_view<X> x, const_view<X> weights, tensor_view<X> out) const {
    run(at, x, weights, {}, out);
  }
  template <class X>
    requires(!std::same_as<X, bool>)
  void run(const local_operation&, const_view<X> x, const_view<X> weights, const_view<X> bias,
           tensor_view<X> out) const {
    kernels::convolution_options o;
    // A device that holds some of the groups works on those alone.
    o.groups = weights.extents.extent[1] == 0 ? 1 : x.extents.extent[1] / weights.extents.extent[1];
    for (int d = 0; d < 3; ++d) {
      o.stride[d] = options.window[d].stride;
      o.padding[d] = options.window[d].before;
      o.dilation[d] = options.window[d].dilation;
    }
    kernels::convolution(x, weights, bias, out, o);
  }
};

}  // namespace operations

template <rules::convolution_options Options = rules::convolution_options{}, dtensor_type X, dtensor_type... Weights>
auto convolution(const X& x, const Weights&... weights) {
  return apply<operations::convolution{Options}>(x, weights...);
}

}}  // namespace hyperparallel::v0_2
