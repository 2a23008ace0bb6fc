// SPDX-License-Identifier: Apache-2.0
// A distributed tensor where none is declared.
// expect: diag::dtensor_at_an_unplaced_slot<
// expect: argument<1>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::layout<mesh, "dp", hp::none>;
using columns = hp::layout<mesh, hp::none, "tp">;
using tensor = hp::dtensor<float, hp::extents<8, 16>, rows>;
using good_inputs = hp::inputs<rows, rows>;
using bad_inputs = hp::inputs<rows, hp::unplaced>;

static_assert(hp::detail::fits_inputs<good_inputs, hp::mismatch::redistribute, tensor, tensor>);
static_assert(!hp::detail::fits_inputs<bad_inputs, hp::mismatch::redistribute, tensor, tensor>);

constexpr auto local = [](auto&&...) { return hp::local_tensor<float>(hp::shape(4, 16)); };

#ifdef NEGATIVE
const auto f = hp::custom_shard<bad_inputs, hp::outputs<rows>, hp::mismatch::redistribute>(local);
auto once(const tensor& x) { return f(x, x); }
auto again(const tensor& x) { return f(x, x).full_tensor(); }
auto more(const tensor& x) { return f(x, x).reduce_partial(); }
#else
const auto f = hp::custom_shard<good_inputs, hp::outputs<rows>, hp::mismatch::redistribute>(local);
auto once(const tensor& x) { return f(x, x); }
#endif
