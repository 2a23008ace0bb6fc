// SPDX-License-Identifier: Apache-2.0
#pragma once
// Everything that plans and runs. Tables and pictures (report.hpp), files (io.hpp), distributed forms
// (distributed_forms.hpp) and what runtime.hpp leaves to be named are included by those who use them.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/dtensor.hpp>
#include <hyperparallel/hardware.hpp>
#include <hyperparallel/model.hpp>
#include <hyperparallel/mpmd.hpp>
#include <hyperparallel/offload.hpp>
#include <hyperparallel/pipeline.hpp>
#include <hyperparallel/program.hpp>
#include <hyperparallel/redistribution.hpp>
#include <hyperparallel/runtime.hpp>
#include <hyperparallel/shard.hpp>
#include <hyperparallel/taskflow.hpp>
