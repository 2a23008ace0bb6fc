// SPDX-License-Identifier: Apache-2.0
// A partial source is redistributed as if it were whole.
// expect: rejected::partial_layouts_need_a_reduction<
// expect: mesh
#include <hyperparallel/shard.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using partial = hp::layout<mesh, "dp", hp::none, hp::partial("tp")>;
using whole = hp::layout<mesh, "dp", hp::none>;
using target = hp::layout<mesh, "dp", "tp">;
using matrix = hp::tensor<hp::bf16, 64, 64>;

static_assert(hp::redistributable<whole, target, matrix>);
static_assert(!hp::redistributable<partial, target, matrix>);

#ifdef NEGATIVE
using move = hp::redistribution<partial, target, matrix>;
#else
using move = hp::redistribution<whole, target, matrix>;
#endif

constexpr int steps = move::steps;
constexpr hp::extent_t bytes = move::bytes_received;
constexpr hp::plan_kind kind = move::kind;
