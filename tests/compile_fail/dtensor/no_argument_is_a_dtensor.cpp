// SPDX-License-Identifier: Apache-2.0
// A local function that no argument tells the ranks of.
// expect: diag::no_argument_is_a_dtensor<
// expect: slots<1>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::layout<mesh, "dp", hp::none>;
using columns = hp::layout<mesh, hp::none, "tp">;
using tensor = hp::dtensor<float, hp::extents<8, 16>, rows>;
using good_inputs = hp::inputs<rows>;
using bad_inputs = hp::inputs<hp::unplaced>;

static_assert(hp::detail::fits_inputs<good_inputs, hp::mismatch::redistribute, tensor>);
static_assert(!hp::detail::fits_inputs<bad_inputs, hp::mismatch::redistribute, int>);

constexpr auto local = [](auto&&...) { return hp::local_tensor<float>(hp::shape(4, 16)); };

#ifdef NEGATIVE
const auto f = hp::custom_shard<bad_inputs, hp::outputs<rows>, hp::mismatch::redistribute>(local);
auto once(const tensor& x) { return f(2); }
auto again(const tensor& x) { return f(2).full_tensor(); }
auto more(const tensor& x) { return f(2).reduce_partial(); }
#else
const auto f = hp::custom_shard<good_inputs, hp::outputs<rows>, hp::mismatch::redistribute>(local);
auto once(const tensor& x) { return f(x); }
#endif
