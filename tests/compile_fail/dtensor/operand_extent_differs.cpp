// SPDX-License-Identifier: Apache-2.0
// A product whose summed extents differ.
// expect: diag::operand_extent_differs_from_rule<
// expect: operand<1>
// expect: dim<0>
// expect: extent<8>
// expect: expected<16>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
template <class Extents, class Layout>
using tensor = hp::dtensor<float, Extents, Layout>;
using tokens = tensor<hp::extents<8, 16>, hp::layout<mesh, "dp", "tp">>;
using good = tensor<hp::extents<16, 8>, hp::layout<mesh, "tp", hp::none>>;
using bad = tensor<hp::extents<8, 8>, hp::layout<mesh, "tp", hp::none>>;

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
