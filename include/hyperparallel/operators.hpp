// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of operators/: factor rules and the operators made of them, propagation both ways, resolution, derived
// layouts.

#include <hyperparallel/operators/backward.hpp>
#include <hyperparallel/operators/derive.hpp>
#include <hyperparallel/operators/operator_row.hpp>
#include <hyperparallel/operators/ops/contraction.hpp>
#include <hyperparallel/operators/ops/elementwise.hpp>
#include <hyperparallel/operators/ops/indexing.hpp>
#include <hyperparallel/operators/ops/movement.hpp>
#include <hyperparallel/operators/ops/normalization.hpp>
#include <hyperparallel/operators/ops/reduction.hpp>
#include <hyperparallel/operators/placed_value.hpp>
#include <hyperparallel/operators/resolve.hpp>
