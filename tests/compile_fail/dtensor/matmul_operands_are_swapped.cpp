// SPDX-License-Identifier: Apache-2.0
// The weight before the tokens: sizes are named before layouts, which disagree as well.
// expect: diag::operand_extent_differs_from_rule<
// expect: operand<1>
// expect: extent<8>
// expect: expected<32>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using tokens = hp::dtensor<float, hp::extents<8, 16>, hp::layout<mesh, "dp", "tp">>;
using weight = hp::dtensor<float, hp::extents<16, 32>, hp::layout<mesh, "tp", hp::none>>;

static_assert(hp::applies<hp::operations::matmul{}, tokens, weight>);
static_assert(!hp::applies<hp::operations::matmul{}, weight, tokens>);

#ifdef NEGATIVE
auto product(const tokens& x, const weight& w) { return matmul(w, x); }
#else
auto product(const tokens& x, const weight& w) { return matmul(x, w); }
#endif
auto again(const tokens& x, const weight& w) { return product(x, w).full_tensor(); }
auto more(const tokens& x, const weight& w) { return product(x, w).reduce_partial(); }
