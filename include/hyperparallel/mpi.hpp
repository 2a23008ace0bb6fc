// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of mpi/: ranks on processes over MPI. Optional: not part of hyperparallel.hpp; link with hyperparallel::mpi.
// The folder mpi/: a world of ranks on the processes of a communicator, what they agree on and how they fail together
// (mpi/channel.hpp), messages and who waits for them, moves between processes, and programs of models as world/ runs them
// on threads, bit for bit (mpi/program_world.hpp).

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/mpi/main.hpp>
#include <hyperparallel/mpi/process_link.hpp>
#include <hyperparallel/mpi/program_world.hpp>
#include <hyperparallel/mpi/redistribution.hpp>
#include <hyperparallel/mpi/remote_edge.hpp>
