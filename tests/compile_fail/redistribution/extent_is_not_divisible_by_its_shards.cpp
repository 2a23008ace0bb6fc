// SPDX-License-Identifier: Apache-2.0
// A dim does not divide over the axes that shard it.
// expect: diag::extent_is_not_divisible_by_its_shards<
// expect: dim<1>
// expect: extent<1000>
// expect: shards<16>
// expect: axes_named<'t', 'p', ',', 'd', 'p'>
#include <hyperparallel/shard.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 8}> {};
using rows = hp::layout<mesh, hp::axes("dp", "tp"), hp::none>;
using columns = hp::layout<mesh, hp::none, hp::axes("tp", "dp")>;
using even = hp::tensor<hp::bf16, 64, 1024>;
using uneven = hp::tensor<hp::bf16, 64, 1000>;

static_assert(hp::redistributable<rows, columns, even> && hp::places<columns, even>);
static_assert(!hp::redistributable<rows, columns, uneven> && !hp::places<columns, uneven>);

#ifdef NEGATIVE
using move = hp::redistribution<rows, columns, uneven>;
#else
using move = hp::redistribution<rows, columns, even>;
#endif

constexpr int steps = move::steps;
constexpr hp::extent_t bytes = move::bytes_received;
constexpr hp::plan_kind kind = move::kind;
