// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a user who trains a model needs: layers, strategies by type and by name, the step of training as a type, and its
// world of simulated ranks.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/graph/in_floats.hpp>
#include <hyperparallel/kernels/operator_kernels.hpp>
#include <hyperparallel/layers.hpp>
#include <hyperparallel/step/training_step.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/world.hpp>
