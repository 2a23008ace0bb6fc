// SPDX-License-Identifier: Apache-2.0
#pragma once
// The frame of a program that runs on several processes: MPI begins, the program runs, and whatever it throws ends the
// whole job in bounded time, with one line from every process that has something to say.
//
//   int main(int argc, char** argv) {
//     return hp::mpi_main(argc, argv, [] { hp::mpi_world world(MPI_COMM_WORLD); … });
//   }
//
// Law: an exception ends the job by MPI_Abort, once every process that lives has said its line, or after two seconds
// where one does not come. So a job never outlives a failure of one of its processes, and its status is not 0.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <type_traits>
#include <vector>

#include <hyperparallel/mpi/polling.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

inline constexpr int farewell_tag = 32'000;
inline constexpr std::chrono::seconds farewell_time{1};
inline constexpr std::chrono::milliseconds reading_time{200};

/// Ends the job once all processes but the lost ones have come here. The lowest of them waits for the others and pulls
/// the switch; they do it themselves when they have waited twice as long.
[[noreturn]] inline void abort_together(const std::vector<int>& lost) {
  int me = 0, size = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const auto is_lost = [&](int p) { return std::ranges::find(lost, p) != lost.end(); };
  int first = 0;
  while (first < size && is_lost(first)) ++first;
  if (me == first) {
    std::vector<int> missing;
    for (int p = first + 1; p < size; ++p)
      if (!is_lost(p)) missing.push_back(p);
    poll_until(mpi_clock::now() + farewell_time, [&] {
      std::erase_if(missing, [](int p) {
        int here = 0;
        return MPI_Iprobe(p, farewell_tag, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE) == MPI_SUCCESS && here != 0;
      });
      return missing.empty();
    });
  } else {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(nullptr, 0, MPI_BYTE, first, farewell_tag, MPI_COMM_WORLD, &request);
    poll_until(mpi_clock::now() + 2 * farewell_time, [&] {
      int left = 0;
      MPI_Test(&request, &left, MPI_STATUS_IGNORE);  // lets the message go
      return false;
    });
  }
  // Launchers pass output on at their leisure and drop what they have not read when a job aborts.
  std::this_thread::sleep_for(reading_time);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

}  // namespace detail

/// Runs `program()`, which returns an exit status or nothing, between MPI_Init and MPI_Finalize.
template <class Program>
int mpi_main(int argc, char** argv, const Program& program) {
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
  int me = 0, status = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  const auto say = [me](const char* what) {
    std::fprintf(stderr, "process %d: %s\n", me, what);
    std::fflush(stderr);
  };
  try {
    if constexpr (std::is_void_v<decltype(program())>)
      program();
    else
      status = program();
  } catch (const mpi_error& error) {
    say(error.what());
    detail::abort_together(error.lost);
  } catch (const std::exception& error) {
    say(error.what());
    detail::abort_together({});
  }
  MPI_Finalize();
  return status;
}

}}  // namespace hyperparallel::v0_2
