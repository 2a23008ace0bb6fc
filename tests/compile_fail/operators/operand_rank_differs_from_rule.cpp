// SPDX-License-Identifier: Apache-2.0
// A stack of matrices where a matrix belongs.
// expect: diag::operand_rank_differs_from_rule<
// expect: operand<1>
// expect: map_entries<3>
// expect: tensor_dims<2>
// expect: matmul
#include <hyperparallel/operators.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};

using rows = hp::layout<mesh, "dp", hp::none>;
using weight = hp::layout<mesh, hp::none, "tp">;
using stack = hp::layout<mesh, hp::none, hp::none, "tp">;

static_assert(hp::accepts<hp::ops::matmul, rows, weight>);
static_assert(!hp::accepts<hp::ops::matmul, rows, stack>);

#ifdef NEGATIVE
using result = hp::result_layout<hp::ops::matmul, rows, stack>;
#else
using result = hp::result_layout<hp::ops::matmul, rows, weight>;
#endif

constexpr int rank = result::rank;
constexpr hp::layout_value value = result::value;
using again = result;
