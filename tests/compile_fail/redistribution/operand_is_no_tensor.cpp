// SPDX-License-Identifier: Apache-2.0
// The part of a shape, where a tensor with an element type is asked for.
// expect: local_shape_of
// expect-clang: does not satisfy 'tensor_type'
// expect-gnu: constraints not satisfied
#include <hyperparallel/redistribution.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::layout<mesh, "dp", "tp">;

static_assert(hp::tensor_type<hp::tensor<hp::bf16, 8, 8>> && !hp::tensor_type<hp::shape> && !hp::tensor_type<int>);

#ifdef NEGATIVE
constexpr hp::shape part = hp::local_shape_of<rows, hp::shape>;
#else
constexpr hp::shape part = hp::local_shape_of<rows, hp::tensor<hp::bf16, 8, 8>>;
#endif
