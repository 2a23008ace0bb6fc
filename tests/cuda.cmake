# SPDX-License-Identifier: Apache-2.0
#
# The light core in a CUDA file, where nvcc is at hand: it parses with EDG, and so does nvc++. The rules by which headers stay
# readable for it are held without it by tools/check_architecture.py.
find_program(HYPERPARALLEL_NVCC nvcc HINTS "$ENV{CUDA_HOME}/bin" /usr/local/cuda/bin)
mark_as_advanced(HYPERPARALLEL_NVCC)
if(NOT HYPERPARALLEL_NVCC)
  return()
endif()
set(cuda_program "${CMAKE_CURRENT_BINARY_DIR}/cuda_constants")
add_test(NAME cuda.compile
         COMMAND "${HYPERPARALLEL_NVCC}" -std=c++20 -I "${PROJECT_SOURCE_DIR}/include" -o "${cuda_program}"
                 "${CMAKE_CURRENT_SOURCE_DIR}/cuda/constants.cu")
add_test(NAME cuda.run COMMAND "${cuda_program}")
set_tests_properties(cuda.compile PROPERTIES LABELS cuda FIXTURES_SETUP cuda_constants TIMEOUT 600)
set_tests_properties(cuda.run PROPERTIES LABELS cuda FIXTURES_REQUIRED cuda_constants)
