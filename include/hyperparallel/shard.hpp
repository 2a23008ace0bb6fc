// SPDX-License-Identifier: Apache-2.0
#pragma once
// HyperShard: device matrices, layouts, redistribution, operators. The light core: no standard containers, threads, fmt
// or Hana.

#include <hyperparallel/layout.hpp>
#include <hyperparallel/mesh.hpp>
#include <hyperparallel/operators.hpp>
#include <hyperparallel/redistribution.hpp>
#include <hyperparallel/support/version.hpp>
