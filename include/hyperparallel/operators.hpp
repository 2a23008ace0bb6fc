// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of operators/: factor rules and the operators made of them, propagation both ways, resolution, derived
// layouts.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/operators/backward.hpp>
#include <hyperparallel/operators/derive.hpp>
#include <hyperparallel/operators/operator_list.hpp>
#include <hyperparallel/operators/placed_value.hpp>
#include <hyperparallel/operators/resolve.hpp>
#include <hyperparallel/operators/rules/attention.hpp>
#include <hyperparallel/operators/rules/contraction.hpp>
#include <hyperparallel/operators/rules/convolution.hpp>
#include <hyperparallel/operators/rules/elementwise.hpp>
#include <hyperparallel/operators/rules/indexing.hpp>
#include <hyperparallel/operators/rules/joining.hpp>
#include <hyperparallel/operators/rules/movement.hpp>
#include <hyperparallel/operators/rules/normalization.hpp>
#include <hyperparallel/operators/rules/ordering.hpp>
#include <hyperparallel/operators/rules/reduction.hpp>
#include <hyperparallel/operators/rules/scattering.hpp>
#include <hyperparallel/operators/rules/slicing.hpp>
