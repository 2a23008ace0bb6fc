// SPDX-License-Identifier: Apache-2.0
// The surface of HyperShard as a model author spells it, without a test framework and within the compilers' default
// constexpr limits: slices, canonical identity, and a move at its lower bound.
#include <hyperparallel/shard.hpp>

namespace {

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"cp", 2}, hp::axis{"tp", 4}> {};

using x = hp::layout<mesh, "dp", hp::none, hp::axes("cp", "tp")>;
using y = hp::layout<mesh, hp::none, "cp", "tp">;

static_assert(hp::slice<x>(hp::shape{8, 4096, 7168}, 5) == hp::box{{0, 4}, {0, 4096}, {4480, 5376}});

using tokens = hp::tensor<hp::bf16, 8, 4096, 7168>;
using move = hp::redistribution<x, y, tokens>;
static_assert(move::bytes_received == move::lower_bound && move::steps == 1);

using back = hp::redistribution<y, x, tokens>;
static_assert(back::bytes_received == back::lower_bound);

using stay = hp::redistribution<x, x, tokens>;
static_assert(stay::bytes_received == 0 && stay::lower_bound == 0);

}  // namespace
