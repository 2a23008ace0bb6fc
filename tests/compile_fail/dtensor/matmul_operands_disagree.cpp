// SPDX-License-Identifier: Apache-2.0
// A product whose operands shard the summed dim differently.
// expect: diag::operands_disagree<
// expect: operand<1>
// expect: dim<0>
// expect: alias<'t', 'p'>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
template <class Extents, class Layout>
using tensor = hp::dtensor<float, Extents, Layout>;
using tokens = tensor<hp::extents<8, 16>, hp::layout<mesh, "dp", "tp">>;
using good = tensor<hp::extents<16, 8>, hp::layout<mesh, "tp", hp::none>>;
using bad = tensor<hp::extents<16, 8>, hp::layout<mesh, hp::none, hp::none>>;

static_assert(hp::applies<hp::operations::matmul{}, tokens, good>);
static_assert(!hp::applies<hp::operations::matmul{}, tokens, bad>);

#ifdef NEGATIVE
using weight = bad;
#else
using weight = good;
#endif

auto once(const tokens& x, const weight& w) { return matmul(x, w); }
auto again(const tokens& x, const weight& w) { return matmul(x, w).full_tensor(); }
auto more(const tokens& x, const weight& w) { return matmul(x, w).reduce_partial(); }
