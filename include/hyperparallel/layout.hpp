// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of layout/: shapes, tensor maps, layouts, slices, placements, digits, interleaving.
// Moves between different meshes and reshapes need layout/unify.hpp as well; it is apart because few units use it.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/layout/digits.hpp>
#include <hyperparallel/layout/interleaving.hpp>
#include <hyperparallel/layout/layout.hpp>
#include <hyperparallel/layout/placement.hpp>
#include <hyperparallel/layout/slice.hpp>
