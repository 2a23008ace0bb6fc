// SPDX-License-Identifier: Apache-2.0
// A map gives one axis two places.
// expect: diag::axis_is_used_twice<
// expect: alias<'d', 'p'>
// expect: dim<1>
// expect: mesh
#include <hyperparallel/layout.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};

static_assert(hp::valid_layout<mesh, "dp", "tp">);
static_assert(!hp::valid_layout<mesh, "dp", hp::axes("tp", "dp")>);

#ifdef NEGATIVE
using weight = hp::layout<mesh, "dp", hp::axes("tp", "dp")>;
#else
using weight = hp::layout<mesh, "dp", "tp">;
#endif

constexpr int rank = weight::rank;
constexpr hp::layout_value value = weight::value;
using again = weight;
