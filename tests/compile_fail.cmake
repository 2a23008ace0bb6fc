# SPDX-License-Identifier: Apache-2.0
#
# One test per tests/compile_fail/<folder>/<case>.cpp, with the compiler of this build. See cmake/compile_fail.cmake.
file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/*/*.cpp")
foreach(source IN LISTS sources)
  cmake_path(GET source STEM case)
  cmake_path(GET source PARENT_PATH folder_path)
  cmake_path(GET folder_path FILENAME folder)
  hyperparallel_is_core(${folder} in_core)
  if(HYPERPARALLEL_CORE_ONLY AND NOT in_core)
    continue()
  endif()
  add_test(NAME compile_fail.${folder}.${case}
           COMMAND "${CMAKE_COMMAND}" "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DCOMPILER_ID=${CMAKE_CXX_COMPILER_ID}"
                   "-DSOURCE=${source}" "-DINCLUDE=${PROJECT_SOURCE_DIR}/include"
                   -P "${PROJECT_SOURCE_DIR}/cmake/compile_fail.cmake")
  set_tests_properties(compile_fail.${folder}.${case} PROPERTIES LABELS compile_fail TIMEOUT 300)
endforeach()
