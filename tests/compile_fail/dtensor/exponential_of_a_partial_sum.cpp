// SPDX-License-Identifier: Apache-2.0
// A function that is not linear on a partial sum.
// expect: diag::partial_operand_is_refused<
// expect: operands_placed<
// expect: mapped<mesh,
// expect: exp
// expect: operand<0>
// expect: alias<'t', 'p'>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
template <class T, class Extents, class Layout>
using tensor = hp::dtensor<T, Extents, Layout>;
using good = tensor<float, hp::extents<8>, hp::layout<mesh, hp::none, hp::partial("tp", hp::reduce_op::max)>>;
using bad = tensor<float, hp::extents<8>, hp::layout<mesh, hp::none, hp::partial("tp")>>;

static_assert(hp::applies<hp::elementwise<hp::ops::exp>{}, good>);
static_assert(!hp::applies<hp::elementwise<hp::ops::exp>{}, bad>);

#ifdef NEGATIVE
auto once(const bad& x) { return exp(x); }
auto again(const bad& x) { return exp(x).full_tensor(); }
auto more(const bad& x) { return exp(x).reduce_partial(); }
#else
auto once(const good& x) { return exp(x); }
#endif
