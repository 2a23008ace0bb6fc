// SPDX-License-Identifier: Apache-2.0
// A source waits for a sum along one axis and for a maximum along another: their order would matter.
// expect: diag::reductions_of_a_move_do_not_commute<
// expect: mesh
// expect: alias<'t', 'p'>
#include <hyperparallel/shard.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using mixed = hp::layout<mesh, hp::none, hp::none, hp::partial("dp"), hp::partial("tp", hp::reduce_op::max)>;
using summed = hp::layout<mesh, hp::none, hp::none, hp::partial("dp"), hp::partial("tp")>;
using target = hp::layout<mesh, "dp", "tp">;
using matrix = hp::tensor<hp::bf16, 64, 64>;

static_assert(hp::redistributable<summed, target, matrix>);
static_assert(!hp::redistributable<mixed, target, matrix>);

#ifdef NEGATIVE
using move = hp::redistribution<mixed, target, matrix>;
#else
using move = hp::redistribution<summed, target, matrix>;
#endif

constexpr int steps = move::steps;
constexpr hp::extent_t bytes = move::bytes_received;
constexpr hp::plan_kind kind = move::kind;
