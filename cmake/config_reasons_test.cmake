# SPDX-License-Identifier: Apache-2.0
#
# What find_package says of a component that is not installed: a package of empty parts is configured from the library's
# template, for each set of parts, and a project asks it for each component.
file(REMOVE_RECURSE "${BUILD}")
foreach(parts IN ITEMS "core" "core full" "core full mpi" "core full compiled mpi")
  string(REPLACE " " "_" package "${parts}")
  string(REPLACE " " ";" parts "${parts}")
  foreach(part IN LISTS parts)
    file(WRITE "${BUILD}/${package}/hyperparallel-${part}.cmake" "")
  endforeach()
endforeach()
file(WRITE "${BUILD}/source/CMakeLists.txt" [=[
cmake_minimum_required(VERSION 3.22)
project(asking LANGUAGES NONE)
include(CMakePackageConfigHelpers)
configure_package_config_file("${TEMPLATE}" "${PACKAGE}/hyperparallel-config.cmake" INSTALL_DESTINATION lib)
macro(find_dependency)  # none is asked for
endmacro()
set(CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")
find_package(hyperparallel REQUIRED COMPONENTS ${ASKED} PATHS "${PACKAGE}" NO_DEFAULT_PATH)
]=])
# In place of CMake's own.
file(WRITE "${BUILD}/source/CMakeFindDependencyMacro.cmake" "")

# Whether asking `package` for components ends with this reason; it configures where there is none.
function(expect package asked reason)
  string(MAKE_C_IDENTIFIER "${package}_${asked}" tree)
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${BUILD}/source" -B "${BUILD}/trees/${tree}" "-DTEMPLATE=${TEMPLATE}"
                          "-DPACKAGE=${BUILD}/${package}" "-DASKED=${asked}"
                  RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  string(FIND "${output}" "${reason}" at)
  if(reason STREQUAL "" AND NOT code EQUAL 0)
    message(FATAL_ERROR "${package}, ${asked}: ${output}")
  elseif(NOT reason STREQUAL "" AND (code EQUAL 0 OR at EQUAL -1))
    message(FATAL_ERROR "${package}, ${asked}: without '${reason}':\n${output}")
  endif()
endfunction()

expect(core core "")
expect(core hyperparallel "component 'hyperparallel' is not installed: this is the light core alone (HYPERPARALLEL_CORE_ONLY)")
expect(core compiled "component 'compiled' is not installed: this is the light core alone")
expect(core_full hyperparallel "")
expect(core_full compiled "component 'compiled' is not installed: build and install the library with -DHYPERPARALLEL_BUILD_COMPILED=ON")
expect(core_full "hyperparallel;mpi" "component 'mpi' is not installed: build and install the library with -DHYPERPARALLEL_MPI=ON")
expect(core_full_mpi "core;mpi" "component 'mpi' needs component hyperparallel or compiled beside it")
expect(core_full_mpi "hyperparallel;mpi" "")
expect(core_full_compiled_mpi "compiled;mpi" "")
expect(core_full headers "there is no component 'headers'; known: core, hyperparallel, compiled, mpi")
