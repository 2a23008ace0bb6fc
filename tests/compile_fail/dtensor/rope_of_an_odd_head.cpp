// SPDX-License-Identifier: Apache-2.0
// Rotary positions, which turn pairs of elements, on rows of seven.
// expect: diag::attributes_do_not_fit_operands<
// expect: rope
// expect: rule_code::last_dim_is_no_multiple
// expect: 7
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
template <class Extents>
using tensor = hp::dtensor<float, Extents, hp::layout<mesh, "dp", "tp", hp::none>>;
using good = tensor<hp::extents<4, 8, 8>>;
using bad = tensor<hp::extents<4, 8, 7>>;

static_assert(hp::applies<hp::operations::rope{}, good>);
static_assert(!hp::applies<hp::operations::rope{}, bad>);

#ifdef NEGATIVE
auto once(const bad& x) { return hp::rope(x); }
auto again(const bad& x) { return hp::rope(x).full_tensor(); }
#else
auto once(const good& x) { return hp::rope(x); }
#endif
