// SPDX-License-Identifier: Apache-2.0
// A local function with two input slots, given one argument.
// expect: diag::argument_count_differs_from_inputs<
// expect: arguments<1>
// expect: slots<2>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::layout<mesh, "dp", hp::none>;
using columns = hp::layout<mesh, hp::none, "tp">;
using tensor = hp::dtensor<float, hp::extents<8, 16>, rows>;
using good_inputs = hp::inputs<rows>;
using bad_inputs = hp::inputs<rows, rows>;

static_assert(hp::detail::fits_inputs<good_inputs, hp::mismatch::redistribute, tensor>);
static_assert(!hp::detail::fits_inputs<bad_inputs, hp::mismatch::redistribute, tensor>);

constexpr auto local = [](auto&&...) { return hp::local_tensor<float>(hp::shape(4, 16)); };

#ifdef NEGATIVE
const auto f = hp::custom_shard<bad_inputs, hp::outputs<rows>, hp::mismatch::redistribute>(local);
auto once(const tensor& x) { return f(x); }
auto again(const tensor& x) { return f(x).full_tensor(); }
auto more(const tensor& x) { return f(x).reduce_partial(); }
#else
const auto f = hp::custom_shard<good_inputs, hp::outputs<rows>, hp::mismatch::redistribute>(local);
auto once(const tensor& x) { return f(x); }
#endif
