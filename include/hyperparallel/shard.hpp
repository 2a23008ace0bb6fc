// SPDX-License-Identifier: Apache-2.0
#pragma once
// HyperShard: device matrices, layouts, redistribution, layouts through operators. The light core: no standard
// containers, threads, fmt or Hana. What a file pays for and often does not use has fronts of its own: lookups, scatters
// and expert dispatch, propagation backwards and the resolution of operands that disagree are in operators.hpp; moves
// between meshes, the choice among candidates and lowering in redistribution.hpp.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/layout.hpp>
#include <hyperparallel/mesh.hpp>
#include <hyperparallel/operators/derive.hpp>
#include <hyperparallel/operators/ops/sum.hpp>
#include <hyperparallel/operators/rules/contraction.hpp>
#include <hyperparallel/operators/rules/elementwise.hpp>
#include <hyperparallel/operators/rules/movement.hpp>
#include <hyperparallel/operators/rules/normalization.hpp>
#include <hyperparallel/operators/rules/reduction.hpp>
#include <hyperparallel/redistribution/redistribution.hpp>
#include <hyperparallel/support/version.hpp>
