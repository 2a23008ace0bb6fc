// SPDX-License-Identifier: Apache-2.0
// A change of mesh and shape to a tensor of fewer elements.
// expect: diag::tensors_of_a_mesh_change_differ_in_bytes<
// expect: 64, 64
// expect: 64, 32
#include <hyperparallel/redistribution.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
struct line : hp::device_matrix<hp::axis{"all", 8}> {};
using source = hp::layout<mesh, "dp", "tp">;
using target = hp::layout<line, "all", hp::none>;
using matrix = hp::tensor<hp::bf16, 64, 64>;
using turned = hp::tensor<hp::bf16, 128, 32>;
using smaller = hp::tensor<hp::bf16, 64, 32>;

static_assert(hp::mesh_changeable<source, target, matrix, turned>);
static_assert(!hp::mesh_changeable<source, target, matrix, smaller>);

#ifdef NEGATIVE
using move = hp::mesh_change<source, target, matrix, smaller>;
#else
using move = hp::mesh_change<source, target, matrix, turned>;
#endif

constexpr int steps = move::steps;
constexpr hp::extent_t bytes = move::bytes_received;
constexpr hp::plan_kind kind = move::kind;
