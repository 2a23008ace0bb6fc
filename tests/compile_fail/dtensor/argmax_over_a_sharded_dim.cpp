// SPDX-License-Identifier: Apache-2.0
// The place of the largest element along a dim that is sharded.
// expect: diag::dim_must_be_whole<
// expect: argmax
// expect: dim<0>
// expect: alias<'d', 'p'>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
template <class T, class Extents, class Layout>
using tensor = hp::dtensor<T, Extents, Layout>;
using good = tensor<float, hp::extents<8>, hp::layout<mesh, hp::none>>;
using bad = tensor<float, hp::extents<8>, hp::layout<mesh, "dp">>;

static_assert(hp::applies<hp::operations::argmax{}, good>);
static_assert(!hp::applies<hp::operations::argmax{}, bad>);

#ifdef NEGATIVE
auto once(const bad& x) { return argmax(x); }
auto again(const bad& x) { return argmax(x).full_tensor(); }
auto more(const bad& x) { return argmax(x).reduce_partial(); }
#else
auto once(const good& x) { return argmax(x); }
#endif
