// SPDX-License-Identifier: Apache-2.0
// An axis shards a dim and is partial as well: it has one role only.
// expect: diag::axis_shards_and_is_partial<
// expect: alias<'t', 'p'>
// expect: mesh
#include <hyperparallel/layout.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};

static_assert(hp::valid_layout<mesh, "dp", hp::none, hp::partial("tp")>);
static_assert(!hp::valid_layout<mesh, "dp", "tp", hp::partial("tp")>);

#ifdef NEGATIVE
using product = hp::layout<mesh, "dp", "tp", hp::partial("tp")>;
#else
using product = hp::layout<mesh, "dp", hp::none, hp::partial("tp")>;
#endif

constexpr int rank = product::rank;
constexpr hp::layout_value value = product::value;
using again = product;
