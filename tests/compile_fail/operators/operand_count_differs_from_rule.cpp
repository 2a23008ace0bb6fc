// SPDX-License-Identifier: Apache-2.0
// A product of one matrix.
// expect: diag::operand_count_differs_from_rule<
// expect: operands<1>
// expect: operands_expected<2>
// expect: matmul
#include <hyperparallel/operators.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows_of_weights = hp::layout<mesh, hp::none, "tp">;

using rows = hp::layout<mesh, "dp", hp::none>;

static_assert(hp::accepts<hp::ops::matmul, rows, rows_of_weights>);
static_assert(!hp::accepts<hp::ops::matmul, rows>);

#ifdef NEGATIVE
using result = hp::result_layout<hp::ops::matmul, rows>;
#else
using result = hp::result_layout<hp::ops::matmul, rows, rows_of_weights>;
#endif

constexpr int rank = result::rank;
constexpr hp::layout_value value = result::value;
using again = result;
