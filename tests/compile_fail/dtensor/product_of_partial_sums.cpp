// SPDX-License-Identifier: Apache-2.0
// The product of two tensors that are partial sums along one axis.
// expect: diag::partial_axis_is_used_by_another_operand<
// expect: multiply
// expect: operand<1>
// expect: alias<'t', 'p'>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
template <class T, class Extents, class Layout>
using tensor = hp::dtensor<T, Extents, Layout>;
using good = tensor<float, hp::extents<8>, hp::layout<mesh, hp::none>>;
using bad = tensor<float, hp::extents<8>, hp::layout<mesh, hp::none, hp::partial("tp")>>;

static_assert(hp::applies<hp::elementwise<hp::ops::multiply>{}, good, good>);
static_assert(!hp::applies<hp::elementwise<hp::ops::multiply>{}, bad, bad>);

#ifdef NEGATIVE
auto once(const bad& x) { return (x * x); }
auto again(const bad& x) { return (x * x).full_tensor(); }
auto more(const bad& x) { return (x * x).reduce_partial(); }
#else
auto once(const good& x) { return x * x; }
#endif
