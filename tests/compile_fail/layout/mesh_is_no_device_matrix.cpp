// SPDX-License-Identifier: Apache-2.0
// The first argument of a layout is a type that is no mesh.
// expect: diag::type_is_no_device_matrix<
// expect: cluster
#include <hyperparallel/layout.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
struct cluster {};

static_assert(hp::valid_layout<mesh, "dp", "tp">);
static_assert(!hp::valid_layout<cluster, "dp", "tp">);

#ifdef NEGATIVE
using weight = hp::layout<cluster, "dp", "tp">;
#else
using weight = hp::layout<mesh, "dp", "tp">;
#endif

constexpr int rank = weight::rank;
constexpr hp::layout_value value = weight::value;
using again = weight;
