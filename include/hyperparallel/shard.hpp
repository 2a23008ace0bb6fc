// SPDX-License-Identifier: Apache-2.0
#pragma once
// HyperShard: device matrices, layouts, redistribution. The light core: no standard containers, threads, fmt or Hana.

#include <hyperparallel/layout.hpp>
#include <hyperparallel/mesh.hpp>
#include <hyperparallel/redistribution.hpp>
