// SPDX-License-Identifier: Apache-2.0
// An argument in another layout, where that is to be refused.
// expect: diag::layout_of_argument_differs_from_input<
// expect: argument<0>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::layout<mesh, "dp", hp::none>;
using columns = hp::layout<mesh, hp::none, "tp">;
using tensor = hp::dtensor<float, hp::extents<8, 16>, rows>;
using good_inputs = hp::inputs<rows>;
using bad_inputs = hp::inputs<columns>;

static_assert(hp::detail::fits_inputs<good_inputs, hp::mismatch::refuse, tensor>);
static_assert(!hp::detail::fits_inputs<bad_inputs, hp::mismatch::refuse, tensor>);

constexpr auto local = [](auto&&...) { return hp::local_tensor<float>(hp::shape(4, 16)); };

#ifdef NEGATIVE
const auto f = hp::custom_shard<bad_inputs, hp::outputs<rows>, hp::mismatch::refuse>(local);
auto once(const tensor& x) { return f(x); }
auto again(const tensor& x) { return f(x).full_tensor(); }
auto more(const tensor& x) { return f(x).reduce_partial(); }
#else
const auto f = hp::custom_shard<good_inputs, hp::outputs<rows>, hp::mismatch::refuse>(local);
auto once(const tensor& x) { return f(x); }
#endif
