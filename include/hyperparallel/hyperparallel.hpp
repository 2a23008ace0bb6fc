// SPDX-License-Identifier: Apache-2.0
#pragma once
// Everything but the optional back ends (runtime/eigen_kernels.hpp).

#include <hyperparallel/dtensor.hpp>
#include <hyperparallel/hardware.hpp>
#include <hyperparallel/model.hpp>
#include <hyperparallel/mpmd.hpp>
#include <hyperparallel/offload.hpp>
#include <hyperparallel/program.hpp>
#include <hyperparallel/redistribution.hpp>
#include <hyperparallel/runtime.hpp>
#include <hyperparallel/shard.hpp>
#include <hyperparallel/taskflow.hpp>
