# SPDX-License-Identifier: Apache-2.0
#
# The optional back end mpi.hpp: hyperparallel::mpi exists where MPI is found. Another MPI than the default one
# is chosen by FindMPI's own variables, MPI_CXX_COMPILER and MPIEXEC_EXECUTABLE.
find_package(MPI QUIET COMPONENTS CXX)
if(NOT MPI_CXX_FOUND)
  message(STATUS "hyperparallel: MPI not found, hyperparallel::mpi is not offered")
  return()
endif()
add_library(hyperparallel_mpi INTERFACE)
add_library(hyperparallel::mpi ALIAS hyperparallel_mpi)
set_target_properties(hyperparallel_mpi PROPERTIES EXPORT_NAME mpi)
target_link_libraries(hyperparallel_mpi INTERFACE hyperparallel MPI::MPI_CXX)

# Sets `result` to the command that starts `processes` processes on this machine, whatever it has of cores;
# further arguments are options of scripts/mpiexec.
function(hyperparallel_mpi_launcher result processes)
  set(${result} "${CMAKE_COMMAND}" -E env "MPIEXEC=${MPIEXEC_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/scripts/mpiexec"
                ${ARGN} -n ${processes} PARENT_SCOPE)
endfunction()
