// SPDX-License-Identifier: Apache-2.0
#pragma once
// What goes wrong between processes, each on one line that names the process or its ranks.
//
// Law: an error that comes out of an agreement (mpi/channel.hpp) is the same on all processes that are alive: code,
// process and text. MPI's own errors are returned, never fatal, and arrive at the others through the next agreement.

// The C interface alone: the old C++ bindings of both implementations are switched off.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace hyperparallel { inline namespace v0_2 {

enum class mpi_code : unsigned char {
  processes_disagree,  ///< one process does, or gives, something else than the others
  process_failed,      ///< an exception on one process, told to all
  no_answer,           ///< a process died or hangs
  world_is_broken,     ///< the world was used again after that
  call_failed,         ///< an MPI call of this process returned an error
};

constexpr const char* name_of(mpi_code code) {
  constexpr const char* names[] = {"processes disagree", "process failed", "no answer", "world is broken",
                                   "call failed"};
  return names[static_cast<int>(code)];
}

struct mpi_error : std::runtime_error {
  mpi_code code;
  int process;            ///< in the world's communicator; -1 where none is to blame
  bool is_final;          ///< messages are lost or still on their way: the world is broken, only MPI_Abort ends the job
  std::vector<int> lost;  ///< processes that did not answer, as numbers of MPI_COMM_WORLD, as far as known

  mpi_error(mpi_code code_, int process_, const std::string& text, bool is_final_ = false, std::vector<int> lost_ = {})
      : std::runtime_error(text), code(code_), process(process_), is_final(is_final_), lost(std::move(lost_)) {}
};

namespace detail {

/// What MPI says about one of its error codes.
inline std::string mpi_text(int code) {
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return "error " + std::to_string(code);
  return text;
}

/// Throws mpi_error where an MPI call did not succeed.
inline void check_mpi(int code, const char* call) {
  if (code != MPI_SUCCESS) throw mpi_error(mpi_code::call_failed, -1, std::string(call) + ": " + mpi_text(code));
}

/// Whether MPI calls are possible: between MPI_Init and MPI_Finalize.
inline bool mpi_is_running() {
  int begun = 0, ended = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  return begun != 0 && ended == 0;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
