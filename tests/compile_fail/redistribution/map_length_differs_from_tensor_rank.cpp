// SPDX-License-Identifier: Apache-2.0
// A map of two entries meets a tensor of three dims.
// expect: diag::map_length_differs_from_tensor_rank<
// expect: map_entries<2>
// expect: tensor_dims<3>
#include <hyperparallel/shard.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::layout<mesh, "dp", hp::none>;
using columns = hp::layout<mesh, hp::none, "tp">;
using matrix = hp::tensor<hp::bf16, 64, 64>;
using batch = hp::tensor<hp::bf16, 64, 64, 64>;

static_assert(hp::redistributable<rows, columns, matrix> && hp::places<rows, matrix>);
static_assert(!hp::redistributable<rows, columns, batch> && !hp::places<rows, batch>);

#ifdef NEGATIVE
using move = hp::redistribution<rows, columns, batch>;
#else
using move = hp::redistribution<rows, columns, matrix>;
#endif

constexpr int steps = move::steps;
constexpr hp::extent_t bytes = move::bytes_received;
constexpr hp::plan_kind kind = move::kind;
