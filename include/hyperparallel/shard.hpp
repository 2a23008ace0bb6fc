// SPDX-License-Identifier: Apache-2.0
#pragma once
// HyperShard: device matrices, layouts, redistribution, operators. The light core: no standard containers, threads, fmt
// or Hana. Moves between meshes, the choice among candidates and lowering are in redistribution.hpp, which costs a file
// that does not use them too much.

#include <hyperparallel/layout.hpp>
#include <hyperparallel/mesh.hpp>
#include <hyperparallel/operators.hpp>
#include <hyperparallel/redistribution/redistribution.hpp>
#include <hyperparallel/support/version.hpp>
