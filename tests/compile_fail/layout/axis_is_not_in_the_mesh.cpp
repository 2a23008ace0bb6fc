// SPDX-License-Identifier: Apache-2.0
// A map names an axis that the mesh does not have.
// expect: diag::axis_is_not_in_the_mesh<
// expect: alias<'x', 'p'>
// expect: dim<1>
// expect: mesh
#include <hyperparallel/layout.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};

static_assert(hp::valid_layout<mesh, "dp", "tp">);
static_assert(!hp::valid_layout<mesh, "dp", "xp">);

#ifdef NEGATIVE
using weight = hp::layout<mesh, "dp", "xp">;
#else
using weight = hp::layout<mesh, "dp", "tp">;
#endif

constexpr int rank = weight::rank;
constexpr hp::layout_value value = weight::value;
using again = weight;
