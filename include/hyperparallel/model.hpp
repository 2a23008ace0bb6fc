// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of model/: descriptions of layers, plans of name patterns.

#include <hyperparallel/model/moe_layer.hpp>
#include <hyperparallel/model/sharding_plan.hpp>
