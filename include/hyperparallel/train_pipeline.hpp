// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of training in a pipeline: what train.hpp and pipeline.hpp have, and both together: stages of a model on
// groups of ranks, as a step's type, as a program and as a run.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/lowering/pipelined_program.hpp>
#include <hyperparallel/pipeline.hpp>
#include <hyperparallel/price/layer_weights.hpp>
#include <hyperparallel/step/pipelined_step.hpp>
#include <hyperparallel/train.hpp>
