// SPDX-License-Identifier: Apache-2.0
// A softmax over a dim that is sharded.
// expect: diag::dim_must_be_whole<
// expect: softmax
// expect: operand<0>
// expect: dim<1>
// expect: alias<'t', 'p'>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
template <class T, class Extents, class Layout>
using tensor = hp::dtensor<T, Extents, Layout>;
using good = tensor<float, hp::extents<8, 16>, hp::layout<mesh, "tp", hp::none>>;
using bad = tensor<float, hp::extents<8, 16>, hp::layout<mesh, "dp", "tp">>;

static_assert(hp::applies<hp::operations::softmax{}, good>);
static_assert(!hp::applies<hp::operations::softmax{}, bad>);

#ifdef NEGATIVE
auto once(const bad& x) { return softmax(x); }
auto again(const bad& x) { return softmax(x).full_tensor(); }
auto more(const bad& x) { return softmax(x).reduce_partial(); }
#else
auto once(const good& x) { return softmax(x); }
#endif
