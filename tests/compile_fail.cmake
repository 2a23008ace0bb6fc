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
hyperparallel_only_compile(compile_fail_twins)
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

# An older dialect is one line and the end, for every front header.
file(GLOB fronts RELATIVE "${PROJECT_SOURCE_DIR}/include" CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/hyperparallel/*.hpp")
foreach(front IN LISTS fronts)
  cmake_path(GET front STEM name)
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/dialect/${name}.cpp" CONTENT "#include <${front}>\n")
  add_test(NAME compile_fail.dialect.${name}
           COMMAND "${CMAKE_CXX_COMPILER}" -std=c++17 -fsyntax-only "-I${PROJECT_SOURCE_DIR}/include"
                   "${CMAKE_CURRENT_BINARY_DIR}/dialect/${name}.cpp")
  set_tests_properties(compile_fail.dialect.${name} PROPERTIES LABELS compile_fail
                       PASS_REGULAR_EXPRESSION "HyperParallel needs C[+][+]20: compile with -std=c[+][+]20")
endforeach()

# clang before 16 prints a value as a template argument without its type: the operator is named all the same.
find_program(HYPERPARALLEL_OLDER_CLANG NAMES clang++-15 clang++-14)
mark_as_advanced(HYPERPARALLEL_OLDER_CLANG)
if(HYPERPARALLEL_OLDER_CLANG AND NOT HYPERPARALLEL_CORE_ONLY)
  add_test(NAME compile_fail.older_clang.names_the_operator
           COMMAND "${HYPERPARALLEL_OLDER_CLANG}" -std=c++20 -fsyntax-only -DNEGATIVE "-I${PROJECT_SOURCE_DIR}/include"
                   "${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/dtensor/exponential_of_a_partial_sum.cpp")
  set_tests_properties(compile_fail.older_clang.names_the_operator PROPERTIES LABELS compile_fail PASS_REGULAR_EXPRESSION
                       "error: [^\n]*partial_operand_is_refused<[^\n]*operation<[^,\n]*elementwise<[^\n]*ops::exp[,>]")
endif()
