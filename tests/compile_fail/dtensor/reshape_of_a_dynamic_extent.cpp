// SPDX-License-Identifier: Apache-2.0
// A reshape, whose factors need every extent, of a tensor with a dynamic one.
// expect: diag::operation_needs_every_extent<
// expect: reshape
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
template <class T, class Extents, class Layout>
using tensor = hp::dtensor<T, Extents, Layout>;
using good = tensor<float, hp::extents<8, 16>, hp::layout<mesh, "dp", hp::none>>;
using bad = tensor<float, hp::extents<hp::dyn, 16>, hp::layout<mesh, "dp", hp::none>>;

static_assert(hp::applies<hp::operations::flatten{}, good>);
static_assert(!hp::applies<hp::operations::flatten{}, bad>);

#ifdef NEGATIVE
auto once(const bad& x) { return hp::reshape<8, 4, 4>(x); }
auto again(const bad& x) { return hp::reshape<8, 4, 4>(x).full_tensor(); }
auto more(const bad& x) { return hp::reshape<8, 4, 4>(x).reduce_partial(); }
#else
auto once(const good& x) { return (hp::reshape<8, 4, 4>(x)); }
#endif
