# SPDX-License-Identifier: Apache-2.0
#
# Programs of several processes. mpi/<name>_test.cpp mirrors the header mpi/<name>.hpp; each runs on the numbers of
# processes that its first line of the form "// processes: 8 4 1" names. They share units as other tests do. The failing programs are tests of their own.
if(NOT TARGET hyperparallel_mpi)
  message(STATUS "hyperparallel: MPI not found, tests of mpi/ are not built")
  return()
endif()
add_custom_target(mpi_tests)
add_dependencies(mpi_tests mpi_redistribution mpi_train_model)
if(TARGET mpi_elastic)
  add_dependencies(mpi_tests mpi_elastic)
endif()
add_library(mpi_test_main OBJECT mpi/main.cpp mpi/posted_messages.cpp)
target_link_libraries(mpi_test_main PRIVATE hyperparallel::mpi ${hyperparallel_own_library} hyperparallel_warnings GTest::gtest)

file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/mpi/*_test.cpp")
if(NOT TARGET nlohmann_json::nlohmann_json)
  list(FILTER sources EXCLUDE REGEX "run_checkpoints_test")
endif()
math(EXPR bytes "${HYPERPARALLEL_UNIT_SIZE} * 20 / 100")  # the headers of MPI cost as much as a small test
# Three steps of training as types: a unit of its own, which is not optimised, as the others of its kind (unit.cmake).
set(strategies "${CMAKE_CURRENT_SOURCE_DIR}/mpi/world_strategies_test.cpp")
list(REMOVE_ITEM sources "${strategies}")
hyperparallel_pack_units(units ${bytes} ${sources})
list(APPEND units strategies)
set(units_strategies "${strategies}")
foreach(number IN LISTS units)
  set(name mpi_unit_${number})
  set(unit "${CMAKE_CURRENT_BINARY_DIR}/units/${name}.cpp")
  hyperparallel_write_unit("${unit}" ${units_${number}})
  add_executable(${name} "${unit}")
  target_link_libraries(${name} PRIVATE mpi_test_main hyperparallel::mpi ${hyperparallel_own_library} hyperparallel_warnings GTest::gtest)
  target_include_directories(${name} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
  if(TARGET nlohmann_json::nlohmann_json)
    target_link_libraries(${name} PRIVATE nlohmann_json::nlohmann_json)
  endif()
  if(number STREQUAL "strategies")
    target_compile_options(${name} PRIVATE $<IF:$<BOOL:${HYPERPARALLEL_NATIVE}>,-O1,-O0>)
  else()
    hyperparallel_optimise_lightly(${name})
  endif()
  add_dependencies(mpi_tests ${name})
  foreach(source IN LISTS units_${number})
    hyperparallel_test_name("${source}" folder entity)
    hyperparallel_suites_of("${source}" filter)
    file(STRINGS "${source}" counts REGEX "^// processes: [0-9 ]+$" LIMIT_COUNT 1)
    string(REGEX REPLACE "^// processes: " "" counts "${counts}")
    separate_arguments(counts)
    foreach(count IN LISTS counts)
      hyperparallel_mpi_launcher(launcher ${count})
      add_test(NAME mpi.${entity}.${count}
               COMMAND ${launcher} "$<TARGET_FILE:${name}>" --gtest_brief=1 "--gtest_filter=${filter}")
      # Ten thousand runs with --exhaustive; who hangs is named by the library after minutes.
      set_tests_properties(mpi.${entity}.${count} PROPERTIES LABELS mpi TIMEOUT 3600 PROCESSORS 2
                                                              FAIL_REGULAR_EXPRESSION "\\] 0 tests from")
    endforeach()
  endforeach()
endforeach()

# Each ends in bounded time with a failure status, and every survivor says the same line.
add_executable(mpi_failing_program mpi/failing_program.cpp)
target_link_libraries(mpi_failing_program PRIVATE hyperparallel::mpi ${hyperparallel_own_library} hyperparallel_warnings)
target_include_directories(mpi_failing_program PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
add_dependencies(mpi_tests mpi_failing_program)
function(hyperparallel_add_mpi_failure mode survivors expected)
  hyperparallel_mpi_launcher(launcher 4 --survivors)
  add_test(NAME mpi.failure.${mode}
           COMMAND "${CMAKE_COMMAND}" "-DCOMMAND=${launcher};$<TARGET_FILE:mpi_failing_program>;${mode}"
                   "-DSURVIVORS=${survivors}" "-DEXPECT=${expected}" -DSECONDS=20
                   -P "${CMAKE_CURRENT_SOURCE_DIR}/mpi/failure_test.cmake")
  set_tests_properties(mpi.failure.${mode} PROPERTIES LABELS mpi TIMEOUT 60 PROCESSORS 2)
endfunction()
hyperparallel_add_mpi_failure(mismatch "0;1;2;3" "rank 3 has \"shape 8x12\" where rank 0 has \"shape 8x8\"")
hyperparallel_add_mpi_failure(other_order "0;1;2;3"
                              "process 2 has \"ranks on processes 1 0 2 3\" where process 0 has \"ranks on processes 0 1 2 3\"")
hyperparallel_add_mpi_failure(throws "0;1;3" "rank 2 has \"release of redistribution 0\" where rank 0 has \"redistribution 0, run 2\"")
# MPICH's launcher ends the job itself when a signal ends a process.
execute_process(COMMAND "${MPIEXEC_EXECUTABLE}" --version OUTPUT_VARIABLE version ERROR_QUIET)
if(version MATCHES "HYDRA")
  hyperparallel_add_mpi_failure(killed "" "")
else()
  hyperparallel_add_mpi_failure(killed "0;1;2" "no answer from rank 3 within")
endif()
foreach(mode IN ITEMS absent exits stopped exits_among_windows stopped_among_windows exits_while_computing
                      stopped_while_computing)
  hyperparallel_add_mpi_failure(${mode} "0;1;2" "no answer from rank 3 within")
endforeach()
hyperparallel_add_mpi_failure(first_is_absent "1;2;3" "no answer from rank 0 within")
