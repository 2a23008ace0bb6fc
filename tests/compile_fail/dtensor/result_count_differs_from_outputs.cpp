// SPDX-License-Identifier: Apache-2.0
// A local function with one result and two output slots.
// expect: diag::result_count_differs_from_outputs<
// expect: results<1>
// expect: slots<2>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::layout<mesh, "dp", hp::none>;
using columns = hp::layout<mesh, hp::none, "tp">;
using tensor = hp::dtensor<float, hp::extents<8, 16>, rows>;

#ifdef NEGATIVE
const auto f = hp::custom_shard<hp::inputs<rows>, hp::outputs<rows, rows>>(
    [](hp::const_view<float> x) { return hp::local_tensor<float>(x.extents); });
#else
const auto f = hp::custom_shard<hp::inputs<rows>, hp::outputs<rows>>(
    [](hp::const_view<float> x) { return hp::local_tensor<float>(x.extents); });
#endif

auto once(const tensor& x) { return f(x); }
auto again(const tensor& x) { return f(x); }
auto more(const tensor& x) { return f(x); }
