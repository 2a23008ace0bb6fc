// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of mesh/: device matrices, coordinates and rank lists, axis groups, sub-meshes.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/mesh/axis_group.hpp>
#include <hyperparallel/mesh/coordinates.hpp>
#include <hyperparallel/mesh/device_matrix.hpp>
#include <hyperparallel/mesh/sub_mesh.hpp>
