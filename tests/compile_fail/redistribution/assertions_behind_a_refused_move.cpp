// SPDX-License-Identifier: Apache-2.0
// What is asserted of a move that is refused adds no error line.
// expect: diag::layouts_are_on_different_meshes<
// expect: here
// expect: there
#include <hyperparallel/shard.hpp>

namespace hp = hyperparallel;

struct here : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
struct there : hp::device_matrix<hp::axis{"dp", 8}> {};
using source = hp::layout<here, "dp", "tp">;
using target = hp::layout<there, "dp", hp::none>;
using matrix = hp::tensor<hp::bf16, 64, 64>;

static_assert(!hp::redistributable<source, target, matrix>);

#ifdef NEGATIVE
using move = hp::redistribution<source, target, matrix>;
#else
using move = hp::redistribution<source, hp::layout<here, "tp", hp::none>, matrix>;
#endif

static_assert(move::bytes_received == 2048 && 2048 == move::bytes_received);
static_assert(move::steps == 1 && move::messages > 0 && move::kind != hp::plan_kind::no_op);
static_assert(move::bytes_received * 8 <= 8 * move::lower_bound && move::peak_bytes - 1 > 0);
