// SPDX-License-Identifier: Apache-2.0
// Two meshes of equal axes are still two sets of devices.
// expect: diag::operands_are_on_different_meshes<
// expect: operand<1>
// expect: matmul
#include <hyperparallel/operators.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
struct twin : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};

using rows = hp::layout<mesh, "dp", hp::none>;
using weight = hp::layout<mesh, hp::none, "tp">;
using elsewhere = hp::layout<twin, hp::none, "tp">;

static_assert(hp::accepts<hp::ops::matmul, rows, weight>);
static_assert(!hp::accepts<hp::ops::matmul, rows, elsewhere>);

#ifdef NEGATIVE
using result = hp::result_layout<hp::ops::matmul, rows, elsewhere>;
#else
using result = hp::result_layout<hp::ops::matmul, rows, weight>;
#endif

constexpr int rank = result::rank;
constexpr hp::layout_value value = result::value;
using again = result;
