# SPDX-License-Identifier: Apache-2.0
#
# One test per tests/compile_fail/<folder>/<case>.cpp, with the compiler of this build: the mistake is refused. The cases of a
# folder share a translation unit and one run of the compiler, compile_fail.unit.<folder>, and each judges its part of the
# output. See cmake/compile_fail.cmake. That the twins without the mistake compile is one test, compile_fail.twins: they
# share a translation unit per folder (cmake/unity.cmake), too.
include("${PROJECT_SOURCE_DIR}/cmake/unity.cmake")
file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/*/*.cpp")
set(hyperparallel_case_folders "")
set(run_cases "${CMAKE_COMMAND}" "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DCOMPILER_ID=${CMAKE_CXX_COMPILER_ID}"
    "-DINCLUDE=${PROJECT_SOURCE_DIR}/include")
set(case_script -P "${PROJECT_SOURCE_DIR}/cmake/compile_fail.cmake")
foreach(source IN LISTS sources)
  cmake_path(GET source STEM case)
  cmake_path(GET source PARENT_PATH folder_path)
  cmake_path(GET folder_path FILENAME folder)
  hyperparallel_is_core(${folder} in_core)
  if(HYPERPARALLEL_CORE_ONLY AND NOT in_core)
    continue()
  endif()
  list(APPEND hyperparallel_case_folders ${folder})
  list(APPEND hyperparallel_cases_of_${folder} "${source}")
  set(parts "${CMAKE_CURRENT_BINARY_DIR}/cases/${folder}")
  string(MAKE_C_IDENTIFIER "compile_fail/${folder}/${case}.cpp" entity)
  set(part "")
  hyperparallel_keeps_to_itself("${source}" itself)
  if(itself)
    set(part "-DPART=${parts}/${entity}.txt")
    list(APPEND hyperparallel_shared_cases_of_${folder} "${source}")
  endif()
  set(name compile_fail.${folder}.${case})
  add_test(NAME ${name} COMMAND ${run_cases} "-DSOURCE=${source}" ${part} ${case_script})
  set_tests_properties(${name} PROPERTIES LABELS compile_fail TIMEOUT 300)
  if(itself)
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED hyperparallel_cases_of_${folder})
  endif()
endforeach()
list(REMOVE_DUPLICATES hyperparallel_case_folders)

set(twins "")
foreach(folder IN LISTS hyperparallel_case_folders)
  set(unit "${CMAKE_CURRENT_BINARY_DIR}/twins/${folder}.cpp")
  hyperparallel_write_unit("${unit}" ${hyperparallel_cases_of_${folder}})
  list(APPEND twins "${unit}")

  # To share pays from two cases on.
  list(LENGTH hyperparallel_shared_cases_of_${folder} shared)
  if(shared GREATER 1)
    set(unit "${CMAKE_CURRENT_BINARY_DIR}/cases/${folder}.cpp")
    hyperparallel_write_unit("${unit}" ${hyperparallel_shared_cases_of_${folder}})
    set(name compile_fail.unit.${folder})
    add_test(NAME ${name} COMMAND ${run_cases} "-DUNIT=${unit}" "-DTESTS=${CMAKE_CURRENT_SOURCE_DIR}"
                                  "-DPARTS=${CMAKE_CURRENT_BINARY_DIR}/cases/${folder}" ${case_script})
    set_tests_properties(${name} PROPERTIES LABELS compile_fail TIMEOUT 600 FIXTURES_SETUP hyperparallel_cases_of_${folder})
  endif()
endforeach()
add_library(compile_fail_twins OBJECT EXCLUDE_FROM_ALL ${twins})
target_include_directories(compile_fail_twins PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(compile_fail_twins PRIVATE $<IF:$<BOOL:${HYPERPARALLEL_CORE_ONLY}>,hyperparallel::core,hyperparallel::hyperparallel>)
hyperparallel_only_compile(compile_fail_twins)
hyperparallel_add_build_test(compile_fail.twins compile_fail_twins compile_fail)

add_test(NAME compile_fail.error_parts COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/error_parts"
                                               -P "${CMAKE_CURRENT_SOURCE_DIR}/error_parts.cmake")
set_tests_properties(compile_fail.error_parts PROPERTIES LABELS compile_fail)

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
