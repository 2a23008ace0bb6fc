# SPDX-License-Identifier: Apache-2.0
#
# Configures, builds and runs an outside project. For find_package* the library is first installed below BUILD; where it
# has a COMPILED part, that is built before.
function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${WAY}: ${what} failed (${code})\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${BUILD}")
if(WAY MATCHES "^find_package")
  if(COMPILED)
    step("build of the library" "${CMAKE_COMMAND}" --build "${LIBRARY_BUILD}" --target hyperparallel_compiled)
  endif()
  step("install" "${CMAKE_COMMAND}" --install "${LIBRARY_BUILD}" --prefix "${BUILD}/installed")
  set(where "-DCMAKE_PREFIX_PATH=${BUILD}/installed")
else()
  set(where "-DHYPERPARALLEL_SOURCE=${LIBRARY_SOURCE}")
endif()
step("configure" "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BUILD}/tree" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
     "-DCMAKE_CXX_FLAGS=${FLAGS}" "${where}")
step("build" "${CMAKE_COMMAND}" --build "${BUILD}/tree")
foreach(program IN ITEMS core_user full_user compiled_user)
  if(EXISTS "${BUILD}/tree/${program}")
    step("${program}" "${BUILD}/tree/${program}")
  endif()
endforeach()
