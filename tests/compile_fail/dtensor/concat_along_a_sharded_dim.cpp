// SPDX-License-Identifier: Apache-2.0
// A concat along a sharded dim, taken on by functions that need the extents of its result.
// expect: diag::dim_needs_a_halo<
// expect: concat
// expect: operand<0>
// expect: dim<1>
// expect: alias<'t', 'p'>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
template <class Layout>
using tensor = hp::dtensor<float, hp::extents<8, 16>, Layout>;
using good = tensor<hp::layout<mesh, "dp", hp::none>>;
using bad = tensor<hp::layout<mesh, "dp", "tp">>;

static_assert(hp::applies<hp::operations::concat{1}, good, good>);
static_assert(!hp::applies<hp::operations::concat{1}, bad, bad>);

#ifdef NEGATIVE
using half = bad;
#else
using half = good;
#endif

auto once(const half& x) { return hp::concat<1>(x, x); }
auto again(const half& x) { return hp::reshape<8, 4, 8>(hp::concat<1>(x, x)); }
auto more(const half& x) { return hp::slice_dim<1, 0, 8>(hp::concat<1>(x, x)).full_tensor(); }
