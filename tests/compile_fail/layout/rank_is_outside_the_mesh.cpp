// SPDX-License-Identifier: Apache-2.0
// A slice of a rank that the mesh does not have, compared with a box in a constant expression.
// expect: rank_is_outside_the_mesh
// expect-clang: slice<rows>(hp::shape{8, 4}, 8)
// expect-gnu: slice<placed_layout<mesh, 3192> >(hyperparallel::v0_2::shape(8, 4), 8)
#include <hyperparallel/layout.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::layout<mesh, "dp", "tp">;

static_assert(hp::slice<rows>(hp::shape{8, 4}, 8).status ==
              hp::layout_status{hp::layout_code::rank_is_outside_the_mesh, 0, 0, 0, 8, 8});

#ifdef NEGATIVE
constexpr bool last = hp::slice<rows>(hp::shape{8, 4}, 8) == hp::box{{4, 8}, {3, 4}};
#else
constexpr bool last = hp::slice<rows>(hp::shape{8, 4}, 7) == hp::box{{4, 8}, {3, 4}};
#endif
