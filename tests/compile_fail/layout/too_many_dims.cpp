// SPDX-License-Identifier: Apache-2.0
// A map has more dims than the library holds.
// expect: diag::too_many_dims<
// expect: map_entries<9>
#include <hyperparallel/layout.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}> {};

static_assert(hp::valid_layout<mesh, "dp", "", "", "", "", "", "", "">);
static_assert(!hp::valid_layout<mesh, "dp", "", "", "", "", "", "", "", "">);

#ifdef NEGATIVE
using tensor = hp::layout<mesh, "dp", "", "", "", "", "", "", "", "">;
#else
using tensor = hp::layout<mesh, "dp", "", "", "", "", "", "", "">;
#endif

constexpr int rank = tensor::rank;
constexpr hp::layout_value value = tensor::value;
using again = tensor;
