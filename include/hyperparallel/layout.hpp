// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of layout/: shapes, tensor maps, layouts, slices, placements, digits.

#include <hyperparallel/layout/digits.hpp>
#include <hyperparallel/layout/layout.hpp>
#include <hyperparallel/layout/placement.hpp>
#include <hyperparallel/layout/slice.hpp>
