// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of controller/: programs that run beside each other on groups of ranks, their controller and their edges.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/controller/channel.hpp>
#include <hyperparallel/controller/controller.hpp>
#include <hyperparallel/controller/firing.hpp>
#include <hyperparallel/controller/kept_state.hpp>
#include <hyperparallel/controller/tensor_edge.hpp>
#include <hyperparallel/groups/check_programs.hpp>
#include <hyperparallel/groups/program_period.hpp>
