// SPDX-License-Identifier: Apache-2.0
// A local tensor where no distributed one is declared.
// expect: diag::tensor_result_at_an_unplaced_slot<
// expect: result<0>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::layout<mesh, "dp", hp::none>;
using columns = hp::layout<mesh, hp::none, "tp">;
using tensor = hp::dtensor<float, hp::extents<8, 16>, rows>;

#ifdef NEGATIVE
const auto f = hp::custom_shard<hp::inputs<rows>, hp::outputs<hp::unplaced>>(
    [](hp::const_view<float> x) { return hp::local_tensor<float>(x.extents); });
#else
const auto f = hp::custom_shard<hp::inputs<rows>, hp::outputs<rows>>(
    [](hp::const_view<float> x) { return hp::local_tensor<float>(x.extents); });
#endif

auto once(const tensor& x) { return f(x); }
auto again(const tensor& x) { return f(x); }
auto more(const tensor& x) { return f(x); }
