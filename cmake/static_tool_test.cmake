# SPDX-License-Identifier: Apache-2.0
#
# Builds hp with HYPERPARALLEL_STATIC_TOOL in a tree of its own and holds it against the ordinary one: tests/hp_carried.py.
function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${what} failed (${code})\n${output}")
  endif()
  message(STATUS "${output}")
endfunction()

step("build of hp" "${CMAKE_COMMAND}" --build "${LIBRARY_BUILD}" --target hp)
step("configure" "${CMAKE_COMMAND}" -S "${LIBRARY_SOURCE}" -B "${BUILD}" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
     "-DCMAKE_CXX_FLAGS=${FLAGS}" "-DCMAKE_CXX_FLAGS_RELEASE=${FLAGS_RELEASE}" "-DCMAKE_EXE_LINKER_FLAGS=${LINKER_FLAGS}"
     -DHYPERPARALLEL_STATIC_TOOL=ON -DHYPERPARALLEL_BUILD_TESTS=OFF -DHYPERPARALLEL_BUILD_EXAMPLES=OFF
     -DHYPERPARALLEL_BUILD_BENCHES=OFF -DHYPERPARALLEL_BUILD_COMPILED=OFF -DHYPERPARALLEL_MPI=OFF)
step("build of the static hp" "${CMAKE_COMMAND}" --build "${BUILD}" --target hp)
step("hp carried" "${PYTHON}" "${LIBRARY_SOURCE}/tests/hp_carried.py" "${TOOL}" "${BUILD}/bin/hp" "${LIBRARY_SOURCE}/tests/configs")
