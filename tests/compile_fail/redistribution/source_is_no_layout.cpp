// SPDX-License-Identifier: Apache-2.0
// A move from a type that is no layout.
// expect: redistribution
// expect: layout_type
// expect-clang: From = mesh
#include <hyperparallel/redistribution.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::layout<mesh, "dp", "tp">;
using columns = hp::layout<mesh, "tp", "dp">;
using tensor = hp::tensor<hp::bf16, 8, 8>;

static_assert(hp::redistributable<rows, columns, tensor>);
static_assert(!hp::redistributable<mesh, columns, tensor>);

#ifdef NEGATIVE
constexpr int steps = hp::redistribution<mesh, columns, tensor>::steps;
#else
constexpr int steps = hp::redistribution<rows, columns, tensor>::steps;
#endif
