// SPDX-License-Identifier: Apache-2.0
// Source and target lie on different device matrices.
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

static_assert(hp::redistributable<source, hp::layout<here, "tp", hp::none>, matrix>);
static_assert(!hp::redistributable<source, target, matrix>);

#ifdef NEGATIVE
using move = hp::redistribution<source, target, matrix>;
#else
using move = hp::redistribution<source, hp::layout<here, "tp", hp::none>, matrix>;
#endif

constexpr int steps = move::steps;
constexpr hp::extent_t bytes = move::bytes_received;
constexpr hp::plan_kind kind = move::kind;
