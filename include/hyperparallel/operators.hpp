// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of operators/: factor rules, the operator table, propagation and derived layouts.

#include <hyperparallel/operators/derive.hpp>
