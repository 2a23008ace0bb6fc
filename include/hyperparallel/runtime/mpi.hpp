// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranks on processes over MPI. Optional: not part of hyperparallel.hpp; link with hyperparallel::mpi.

#include <hyperparallel/runtime/mpi/main.hpp>
#include <hyperparallel/runtime/mpi/program_world.hpp>
#include <hyperparallel/runtime/mpi/redistribution.hpp>
