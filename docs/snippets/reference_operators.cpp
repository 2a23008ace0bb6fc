// SPDX-License-Identifier: Apache-2.0
// docs/reference/operators.md
#include <type_traits>

#include <hyperparallel/operators.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using tokens = hp::layout<mesh, "dp", "tp">;
using weight = hp::layout<mesh, "tp", hp::none>;
using bias = hp::layout<mesh, hp::none, hp::none>;

using product = hp::result_layout<hp::ops::matmul, tokens, weight>;
static_assert(std::is_same_v<product, hp::layout<mesh, "dp", hp::none, hp::partial("tp")>>);
static_assert(std::is_same_v<hp::result_layout<hp::ops::sum, product, product>, product>);  // sums add up later
static_assert(std::is_same_v<hp::result_layout<hp::ops::sum, product, bias>, product>);     // added once
static_assert(!hp::accepts<hp::ops::sum, product, tokens>);  // tp has terms in one operand, and shards the other
static_assert(hp::result_shape<hp::ops::matmul>(hp::shape{8, 16}, hp::shape{16, 32}).shape == hp::shape{8, 32});
static_assert(hp::flops<hp::ops::matmul>(hp::shape{8, 16}, hp::shape{16, 32}).flops == 2 * 8 * 16 * 32);

using rows = hp::layout<mesh, "dp", hp::none>;  // softmax is over the last dim, which is whole
static_assert(std::is_same_v<hp::result_layout<hp::ops::softmax, rows>, rows>);
static_assert(!hp::accepts<hp::ops::softmax, tokens>);

int main() {}
