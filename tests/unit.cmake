# SPDX-License-Identifier: Apache-2.0
#
# One test per tests/<folder>/*_test.cpp, labelled by its folder, those of run time also runtime; folders of the light core
# also carry the label core. Small test files share translation units (cmake/unity.cmake), at most
# HYPERPARALLEL_UNIT_SIZE bytes in each, so that few units take a compiler longer than 20 s; each is still a test of its
# own, which runs the suites of that file. HYPERPARALLEL_UNIT_SIZE=0 builds one program per file.
include("${PROJECT_SOURCE_DIR}/cmake/unity.cmake")
option(HYPERPARALLEL_PRECOMPILED "Compile the headers that nearly every test includes once, with g++" ON)
set(HYPERPARALLEL_UNIT_SIZE 120000 CACHE STRING "Bytes of test files that share a translation unit; 0: none share")
# Groups whose tests instantiate more than others of their length: their units hold so many percent of that.
foreach(share IN ITEMS lowering:43 price:60 planner:60 report:40 io:75 strategy:65 exec:70 transfer:70 tiers:70 check:40 controller:40
                       interop:33 search:27 runtime:28 world:26 dtensor:25 step:25 checkpoint:70 reshard:45)
  string(REPLACE ":" ";" share ${share})
  list(POP_FRONT share folder)
  set(hyperparallel_share_of_${folder} ${share})
endforeach()

# Test files that cost the compiler as much as several of their length: each is a unit of its own. Those of dozens of
# operators on all element types, and of dozens of gradients, are optimised in the preset native alone, and there
# lightly, since their copies of the loop driver cost more than they run; and those of dozens of steps of training as types.
set(hyperparallel_costly_tests interop_world_blocks search_strategy_search step_training_step step_parts_offload step_pipelined_step step_step_offload report_trace
    world_offloaded_training world_same_bits world_step_budget world_step_budget_types world_training_parity)
set(hyperparallel_unoptimised_tests
    properties_dtensor_traced_functions dtensor_traced_movement dtensor_traced_operation dtensor_untraced_functions
    properties_dtensor_traced_gradients properties_dtensor_traced_arithmetic properties_dtensor_traced_pending
    properties_dtensor_moved_pending properties_dtensor_elementwise
    properties_dtensor_functions_of_one properties_dtensor_indexing properties_dtensor_movement properties_dtensor_operators
    world_world_strategies_1 world_world_strategies_2 world_world_strategies_3 world_world_strategies_4)
# Test files that run for some seconds: they share units with each other, optimised as the build is.
set(hyperparallel_running_tests
    redistribution_candidates redistribution_mesh_move redistribution_move_plan redistribution_relocation offload_offload_planner
    planner_plan_bounds planner_plan_search search_segment_costs search_strategy_search
    dtensor_forms_normalization dtensor_forms_selection taskflow_verify world_linked_moves world_model_families
    world_plan_run)
# Not built at all, unless HYPERPARALLEL_EXHAUSTIVE is in the environment where the project is configured.
set(hyperparallel_exhaustive_tests world_world_strategies_5 world_world_strategies_6 world_world_strategies_7
    world_world_strategies_8 world_world_strategies_9)
list(APPEND hyperparallel_unoptimised_tests ${hyperparallel_exhaustive_tests})

# Folders whose tests start threads. These have the label runtime beside that of their folder, which the suites with
# sanitizers of threads choose; the group runtime is of those tests of other folders that do so, too.
set(hyperparallel_folders_of_threads exec transfer tiers world check controller checkpoint reshard interop)

# Folders whose tests are of a library of hp (tools/hp/CMakeLists.txt); they are built where hp is.
set(hyperparallel_folders_of_hp launch reshard)

# The group of a test file. Kernels, and what operators of distributed tensors do on a rank, start no threads, so the
# thread sanitizer is spared them; the other tests of distributed tensors belong to the run time.
function(hyperparallel_test_group folder entity result)
  set(group ${folder})
  if(folder STREQUAL "dtensor" AND NOT entity MATCHES "^(forms|operations)_")
    set(group runtime)
  elseif(folder STREQUAL "properties" AND entity MATCHES "^(dtensor|cache)_")
    set(group full_properties)  # of distributed tensors and of programs: no core
  endif()
  set(${result} ${group} PARENT_SCOPE)
endfunction()

# The headers of the standard and of GoogleTest, compiled once for programs of these options. g++ alone, since what is
# compiled with them would not notice a test that forgets one: the suite of clang does.
function(hyperparallel_precompile program optimisation)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR NOT HYPERPARALLEL_PRECOMPILED)
    return()
  endif()
  set(precompiled precompiled${optimisation})
  if(NOT TARGET ${precompiled})
    file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/${precompiled}.cpp" "")
    add_library(${precompiled} OBJECT "${CMAKE_CURRENT_BINARY_DIR}/${precompiled}.cpp")
    target_link_libraries(${precompiled} PRIVATE hyperparallel::hyperparallel hyperparallel_warnings GTest::gtest)
    if(optimisation)
      target_compile_options(${precompiled} PRIVATE ${optimisation} -Wno-maybe-uninitialized)
    endif()
    target_precompile_headers(${precompiled} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/precompiled.hpp")
  endif()
  target_precompile_headers(${program} REUSE_FROM ${precompiled})
  # A compiler cache looks for this to tell what a unit was compiled with.
  target_compile_options(${program} PRIVATE -fpch-preprocess)
endfunction()

# Builds `program` of `sources`, all of one group, and adds their tests.
function(hyperparallel_add_unit program group)
  set(unit ${ARGN})
  list(LENGTH unit size)
  if(size GREATER 1)
    set(unit "${CMAKE_CURRENT_BINARY_DIR}/units/${program}.cpp")
    hyperparallel_write_unit("${unit}" ${ARGN})
  endif()
  add_executable(${program} "${unit}")
  hyperparallel_is_core(${group} in_core)
  set(library $<IF:$<BOOL:${in_core}>,hyperparallel::hyperparallel,${hyperparallel_own_library}>)
  target_link_libraries(${program} PRIVATE ${library} hyperparallel_warnings GTest::gtest_main)
  # What `hp replay` executes plans with, tests do.
  target_include_directories(${program} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tools/hp")
  foreach(library IN ITEMS rapidcheck rapidcheck_gtest)
    if(group MATCHES "properties" AND TARGET ${library})
      target_link_libraries(${program} PRIVATE ${library})
    endif()
  endforeach()
  if(group IN_LIST hyperparallel_folders_of_hp)
    target_link_libraries(${program} PRIVATE hp_${group})
  endif()
  if(program IN_LIST hyperparallel_unoptimised_tests)
    target_compile_options(${program} PRIVATE $<IF:$<BOOL:${HYPERPARALLEL_NATIVE}>,-O1,-O0>)
  elseif(program STREQUAL "world_step_budget_types")
    # To g++ no comparison of a function's address is constant with this option, which -fsanitize=undefined brings
    # along. Steps of training as types are held to that here.
    hyperparallel_optimise_lightly(${program})
    target_compile_options(${program} PRIVATE -fno-delete-null-pointer-checks)
  elseif(program IN_LIST hyperparallel_running_tests OR program MATCHES "_running_")
    hyperparallel_precompile(${program} "")
  else()
    hyperparallel_optimise_lightly(${program})
    hyperparallel_precompile(${program} "${HYPERPARALLEL_TEST_OPTIMISATION}")
  endif()
  if(program MATCHES "eigen_")
    target_link_libraries(${program} PRIVATE Eigen3::Eigen)
  endif()

  string(REPLACE "full_properties" "properties" label ${group})
  set(labels ${label})
  if(label IN_LIST hyperparallel_folders_of_threads)
    list(APPEND labels runtime)
  endif()
  if(in_core OR group STREQUAL "properties")
    list(APPEND labels core)
  endif()
  foreach(label IN LISTS labels)
    if(NOT TARGET ${label}_tests)
      add_custom_target(${label}_tests)
    endif()
    add_dependencies(${label}_tests ${program})
  endforeach()

  foreach(source IN LISTS ARGN)
    hyperparallel_suites_of("${source}" filter)
    hyperparallel_test_name("${source}" folder entity)
    add_test(NAME ${folder}.${entity} COMMAND ${program} --gtest_brief=1 "--gtest_filter=${filter}")
    # A filter that finds nothing would pass.
    set_tests_properties(${folder}.${entity} PROPERTIES LABELS "${labels}" TIMEOUT 3600
                                                        FAIL_REGULAR_EXPRESSION "\\] 0 tests from"
                                                        ENVIRONMENT "HYPERPARALLEL_OWN_VECTORS=${CMAKE_CURRENT_SOURCE_DIR}/vectors")
  endforeach()
endfunction()

# tests/kernels/ops/loss_test.cpp: folder kernels, entity ops_loss.
function(hyperparallel_test_name source folder entity)
  file(RELATIVE_PATH path "${CMAKE_CURRENT_SOURCE_DIR}" "${source}")
  string(REGEX MATCH "^([^/]+)/(.*)_test\\.cpp$" matched "${path}")
  string(REPLACE "/" "_" name "${CMAKE_MATCH_2}")
  set(${folder} ${CMAKE_MATCH_1} PARENT_SCOPE)
  set(${entity} ${name} PARENT_SCOPE)
endfunction()

file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp")
list(FILTER sources EXCLUDE REGEX "${CMAKE_CURRENT_SOURCE_DIR}/mpi/")  # programs of several processes: mpi.cmake
set(hyperparallel_test_groups "")
set(hyperparallel_running_groups "")
foreach(source IN LISTS sources)
  hyperparallel_test_name("${source}" folder entity)
  hyperparallel_test_group(${folder} ${entity} group)
  if(folder STREQUAL "properties" AND NOT TARGET rapidcheck)
    message(STATUS "hyperparallel: RapidCheck not found, ${folder}_${entity} is not built")
    continue()
  endif()
  if(folder IN_LIST hyperparallel_folders_of_hp AND NOT TARGET hp_${folder})
    message(STATUS "hyperparallel: hp is not built, ${folder}_${entity} is not, either")
    continue()
  endif()
  if(${folder}_${entity} IN_LIST hyperparallel_exhaustive_tests AND NOT DEFINED ENV{HYPERPARALLEL_EXHAUSTIVE})
    continue()
  endif()
  if(entity MATCHES "eigen_" AND NOT TARGET Eigen3::Eigen)
    message(STATUS "hyperparallel: Eigen not found, ${folder}_${entity} is not built")
    continue()
  endif()
  hyperparallel_may_share_unit("${source}" may_share)
  if(NOT may_share OR entity MATCHES "eigen_" OR ${folder}_${entity} IN_LIST hyperparallel_costly_tests
     OR ${folder}_${entity} IN_LIST hyperparallel_unoptimised_tests)
    hyperparallel_add_unit(${folder}_${entity} ${group} "${source}")
  elseif(${folder}_${entity} IN_LIST hyperparallel_running_tests)
    list(APPEND hyperparallel_running_groups ${group})
    list(APPEND hyperparallel_running_tests_of_${group} "${source}")
  else()
    list(APPEND hyperparallel_test_groups ${group})
    list(APPEND hyperparallel_tests_of_${group} "${source}")
  endif()
endforeach()
list(REMOVE_DUPLICATES hyperparallel_running_groups)
list(REMOVE_DUPLICATES hyperparallel_test_groups)

foreach(group IN LISTS hyperparallel_running_groups)
  math(EXPR bytes "${HYPERPARALLEL_UNIT_SIZE} / 3")
  hyperparallel_pack_units(units ${bytes} ${hyperparallel_running_tests_of_${group}})
  foreach(number IN LISTS units)
    hyperparallel_add_unit(${group}_running_${number} ${group} ${units_${number}})
  endforeach()
endforeach()

foreach(group IN LISTS hyperparallel_test_groups)
  set(bytes ${HYPERPARALLEL_UNIT_SIZE})
  if(DEFINED hyperparallel_share_of_${group})
    math(EXPR bytes "${bytes} * ${hyperparallel_share_of_${group}} / 100")
  endif()
  hyperparallel_pack_units(units ${bytes} ${hyperparallel_tests_of_${group}})
  foreach(number IN LISTS units)
    hyperparallel_add_unit(${group}_unit_${number} ${group} ${units_${number}})
  endforeach()
endforeach()
