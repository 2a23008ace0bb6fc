// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of program/: layouts, taskflow, proof and timeline composed, at compile time and at run time.

#include <hyperparallel/program/matmul_reuse.hpp>
#include <hyperparallel/program/moe_buckets.hpp>
#include <hyperparallel/program/moe_estimate.hpp>
#include <hyperparallel/program/moe_program.hpp>
#include <hyperparallel/program/moe_tiling_choice.hpp>
#include <hyperparallel/program/moe_vector_queues.hpp>
#include <hyperparallel/program/planned_flow.hpp>
