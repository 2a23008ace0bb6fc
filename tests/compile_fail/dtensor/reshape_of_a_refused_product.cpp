// SPDX-License-Identifier: Apache-2.0
// A product whose summed extents differ, taken on by functions that need the extents of its result.
// expect: diag::operand_extent_differs_from_rule<
// expect: operand<1>
// expect: extent<24>
// expect: expected<16>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
template <class Extents>
using tensor = hp::dtensor<float, Extents, hp::layout<mesh, hp::none, hp::none>>;
using tokens = tensor<hp::extents<8, 16>>;
using good = tensor<hp::extents<16, 32>>;
using bad = tensor<hp::extents<24, 32>>;

static_assert(hp::applies<hp::operations::matmul{}, tokens, good>);
static_assert(!hp::applies<hp::operations::matmul{}, tokens, bad>);

#ifdef NEGATIVE
using weight = bad;
#else
using weight = good;
#endif

auto once(const tokens& x, const weight& w) { return hp::reshape<256>(matmul(x, w)); }
auto again(const tokens& x, const weight& w) { return hp::slice_dim<1, 0, 8>(relu(matmul(x, w))).full_tensor(); }
auto more(const tokens& x, const weight& w) {
  return hp::concat<1>(x, hp::flatten<0, 0>(matmul(x, w))).reduce_partial();
}
