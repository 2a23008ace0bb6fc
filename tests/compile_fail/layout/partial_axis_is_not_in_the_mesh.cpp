// SPDX-License-Identifier: Apache-2.0
// A partial axis is misspelled.
// expect: diag::axis_is_not_in_the_mesh<
// expect: alias<'x', 'p'>
// expect: mesh
#include <hyperparallel/layout.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};

static_assert(hp::valid_layout<mesh, "dp", hp::partial("tp", hp::reduce_op::max)>);
static_assert(!hp::valid_layout<mesh, "dp", hp::partial("xp", hp::reduce_op::max)>);

#ifdef NEGATIVE
using product = hp::layout<mesh, "dp", hp::partial("xp", hp::reduce_op::max)>;
#else
using product = hp::layout<mesh, "dp", hp::partial("tp", hp::reduce_op::max)>;
#endif

constexpr int rank = product::rank;
constexpr hp::layout_value value = product::value;
using again = product;
