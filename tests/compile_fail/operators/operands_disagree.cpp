// SPDX-License-Identifier: Apache-2.0
// A product whose first operand shards the reduced dim while the second holds it whole.
// expect: diag::operands_disagree<
// expect: operands_placed<
// expect: mapped<mesh,
// expect: operand<1>
// expect: dim<0>
// expect: alias<'t', 'p'>
// expect: matmul
#include <hyperparallel/operators.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};

using tokens = hp::layout<mesh, "dp", "tp">;
using whole = hp::layout<mesh, hp::none, hp::none>;
using rows = hp::layout<mesh, "tp", hp::none>;

static_assert(hp::accepts<hp::ops::matmul, tokens, rows>);
static_assert(!hp::accepts<hp::ops::matmul, tokens, whole>);

#ifdef NEGATIVE
using hidden = hp::result_layout<hp::ops::matmul, tokens, whole>;
#else
using hidden = hp::result_layout<hp::ops::matmul, tokens, rows>;
#endif

constexpr int rank = hidden::rank;
constexpr hp::layout_value value = hidden::value;
using again = hidden;
