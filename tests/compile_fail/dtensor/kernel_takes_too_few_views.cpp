// SPDX-License-Identifier: Apache-2.0
// The kernel of a user's operator has no view of the result.
// expect: diag::kernel_does_not_take_its_operator<
// expect: matmul
// expect: operands<2>
// expect: tensors_made<1>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using tensor = hp::dtensor<float, hp::extents<8, 8>, hp::layout<mesh, hp::none, hp::none>>;

static_assert(hp::takes<hp::ops::matmul, tensor, tensor>);

#ifdef NEGATIVE
constexpr auto kernel = [](hp::const_view<float>, hp::const_view<float>) {};
#else
constexpr auto kernel = [](hp::const_view<float>, hp::const_view<float>, hp::tensor_view<float>) {};
#endif

auto once(const tensor& x) { return hp::apply<hp::ops::matmul>(kernel, x, x); }
auto again(const tensor& x) { return hp::apply<hp::ops::matmul>(kernel, x, x).full_tensor(); }
