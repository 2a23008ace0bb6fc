// SPDX-License-Identifier: Apache-2.0
// The packed pair of gate and up, sharded.
// expect: diag::dim_must_be_whole<
// expect: operand<0>
// expect: dim<3>
// expect: alias<'d', 'p'>
// expect: swiglu
#include <hyperparallel/operators.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};

using paired = hp::layout<mesh, hp::none, hp::none, hp::none, hp::none, "tp">;
using torn = hp::layout<mesh, hp::none, hp::none, hp::none, "dp", "tp">;

static_assert(hp::accepts<hp::ops::grouped_swiglu, paired>);
static_assert(!hp::accepts<hp::ops::grouped_swiglu, torn>);

#ifdef NEGATIVE
using result = hp::result_layout<hp::ops::grouped_swiglu, torn>;
#else
using result = hp::result_layout<hp::ops::grouped_swiglu, paired>;
#endif

constexpr int rank = result::rank;
constexpr hp::layout_value value = result::value;
using again = result;
