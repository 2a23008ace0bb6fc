# SPDX-License-Identifier: Apache-2.0
#
# One test per tests/compile_fail/<folder>/<case>.cpp, with the compiler of this build: the mistake is refused. See
# cmake/compile_fail.cmake. That the twins without the mistake compile is one test, compile_fail.twins: they share a
# translation unit per folder (cmake/unity.cmake).
include("${PROJECT_SOURCE_DIR}/cmake/unity.cmake")
file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/*/*.cpp")
set(hyperparallel_twin_folders "")
set(hyperparallel_case_headers "")
foreach(source IN LISTS sources)
  cmake_path(GET source STEM case)
  cmake_path(GET source PARENT_PATH folder_path)
  cmake_path(GET folder_path FILENAME folder)
  hyperparallel_is_core(${folder} in_core)
  if(HYPERPARALLEL_CORE_ONLY AND NOT in_core)
    continue()
  endif()
  list(APPEND hyperparallel_twin_folders ${folder})
  list(APPEND hyperparallel_twins_of_${folder} "${source}")
  file(STRINGS "${source}" headers REGEX "^#include <hyperparallel/")
  list(TRANSFORM headers REPLACE "^#include <(.*)>.*" "\\1")
  list(APPEND hyperparallel_case_headers ${headers})
  add_test(NAME compile_fail.${folder}.${case}
           COMMAND "${CMAKE_COMMAND}" "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DCOMPILER_ID=${CMAKE_CXX_COMPILER_ID}"
                   "-DSOURCE=${source}" "-DINCLUDE=${PROJECT_SOURCE_DIR}/include"
                   "-DPRECOMPILED=${CMAKE_CURRENT_BINARY_DIR}/precompiled"
                   -P "${PROJECT_SOURCE_DIR}/cmake/compile_fail.cmake")
  set_tests_properties(compile_fail.${folder}.${case} PROPERTIES LABELS compile_fail TIMEOUT 300)
endforeach()
list(REMOVE_DUPLICATES hyperparallel_twin_folders)
list(REMOVE_DUPLICATES hyperparallel_case_headers)

set(twins "")
foreach(folder IN LISTS hyperparallel_twin_folders)
  set(unit "${CMAKE_CURRENT_BINARY_DIR}/twins/${folder}.cpp")
  hyperparallel_write_unit("${unit}" ${hyperparallel_twins_of_${folder}})
  list(APPEND twins "${unit}")
endforeach()
add_library(compile_fail_twins OBJECT EXCLUDE_FROM_ALL ${twins})
target_include_directories(compile_fail_twins PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(compile_fail_twins PRIVATE $<IF:$<BOOL:${HYPERPARALLEL_CORE_ONLY}>,hyperparallel::core,hyperparallel::hyperparallel>)
hyperparallel_add_build_test(compile_fail.twins compile_fail_twins compile_fail)

# g++ reads a precompiled header where a folder of the include path has one: parsing the library costs a case four times
# what its mistake does. Compiled with the options of cmake/compile_fail.cmake, or g++ passes it over.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(precompiled "")
  foreach(header IN LISTS hyperparallel_case_headers)
    set(copy "${CMAKE_CURRENT_BINARY_DIR}/precompiled/${header}")
    file(CONFIGURE OUTPUT "${copy}" CONTENT "#include \"@PROJECT_SOURCE_DIR@/include/@header@\"\n" @ONLY)
    add_custom_command(
      OUTPUT "${copy}.gch"
      COMMAND "${CMAKE_CXX_COMPILER}" -std=c++20 -fmessage-length=0 -fdiagnostics-color=never -fno-diagnostics-show-caret
              "-I${PROJECT_SOURCE_DIR}/include" -MD -MF "${copy}.d" -MT "${copy}.gch" -x c++-header "${copy}" -o "${copy}.gch"
      DEPENDS "${copy}" DEPFILE "${copy}.d" VERBATIM COMMENT "Precompiling ${header}")
    list(APPEND precompiled "${copy}.gch")
  endforeach()
  add_custom_target(compile_fail_headers DEPENDS ${precompiled})
  add_test(NAME compile_fail.precompiled COMMAND "${CMAKE_COMMAND}" --build "${PROJECT_BINARY_DIR}" --target compile_fail_headers)
  set_tests_properties(compile_fail.precompiled PROPERTIES LABELS compile_fail TIMEOUT 600 FIXTURES_SETUP precompiled
                                                           RESOURCE_LOCK hyperparallel_build_tree)
  get_property(tests DIRECTORY PROPERTY TESTS)
  list(FILTER tests INCLUDE REGEX "^compile_fail\\.[a-z_]+\\.")
  set_tests_properties(${tests} PROPERTIES FIXTURES_REQUIRED precompiled)
endif()
