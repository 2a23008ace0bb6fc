// SPDX-License-Identifier: Apache-2.0
// A padded dim names an axis that the mesh does not have; the mark is not part of the name.
// expect: diag::axis_is_not_in_the_mesh<
// expect: alias<'x', 'p'>
// expect: dim<1>
#include <hyperparallel/shard.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};

static_assert(hp::valid_layout<mesh, "dp", hp::padded("tp")>);
static_assert(!hp::valid_layout<mesh, "dp", hp::padded("xp")>);

#ifdef NEGATIVE
using uneven = hp::layout<mesh, "dp", hp::padded("xp")>;
#else
using uneven = hp::layout<mesh, "dp", hp::padded("tp")>;
#endif

constexpr int rank = uneven::rank;
constexpr hp::layout_value value = uneven::value;
using again = uneven;
