// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of layout/: shapes, tensor maps, layouts, slices, placements, digits, refinements.

#include <hyperparallel/layout/digits.hpp>
#include <hyperparallel/layout/interleaving.hpp>
#include <hyperparallel/layout/layout.hpp>
#include <hyperparallel/layout/placement.hpp>
#include <hyperparallel/layout/slice.hpp>
#include <hyperparallel/layout/unify.hpp>
