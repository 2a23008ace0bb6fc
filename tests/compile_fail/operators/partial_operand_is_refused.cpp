// SPDX-License-Identifier: Apache-2.0
// A nonlinear operator on terms of a sum that nobody has added up.
// expect: diag::partial_operand_is_refused<
// expect: operand<0>
// expect: alias<'t', 'p'>
// expect: swiglu
#include <hyperparallel/operators.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"ep", 2}, hp::axis{"tp", 4}> {};

using sums = hp::layout<mesh, hp::none, "ep", hp::none, hp::none, hp::none, hp::partial("tp")>;
using complete = hp::layout<mesh, hp::none, "ep", hp::none, hp::none, "tp">;

static_assert(hp::accepts<hp::ops::grouped_swiglu, complete>);
static_assert(!hp::accepts<hp::ops::grouped_swiglu, sums>);

#ifdef NEGATIVE
using hidden = hp::result_layout<hp::ops::grouped_swiglu, sums>;
#else
using hidden = hp::result_layout<hp::ops::grouped_swiglu, complete>;
#endif

constexpr int rank = hidden::rank;
constexpr hp::layout_value value = hidden::value;
using again = hidden;
