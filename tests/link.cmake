# SPDX-License-Identifier: Apache-2.0
#
# One definition rule: two units that both include everything link into one program.
if(EXISTS "${PROJECT_SOURCE_DIR}/include/hyperparallel/hyperparallel.hpp")
  add_executable(link_two_units link/first.cpp link/second.cpp)
  target_link_libraries(link_two_units PRIVATE hyperparallel::hyperparallel hyperparallel_warnings)
  add_test(NAME link.two_units COMMAND link_two_units)
  set_tests_properties(link.two_units PROPERTIES LABELS link)
endif()

# Nothing that makes a plan is in a program whose plan is a constant. That one is header-only, since the compiled library
# brings the planner's objects along.
if(Python3_FOUND AND CMAKE_NM AND NOT MSVC)
  add_executable(link_planned_by_the_compiler link/planned_by_the_compiler.cpp)
  target_link_libraries(link_planned_by_the_compiler PRIVATE hyperparallel::hyperparallel hyperparallel_warnings)
  target_compile_options(link_planned_by_the_compiler PRIVATE -O1)  # takes two thirds of the time of -O2
  add_executable(link_planned_at_start link/planned_at_start.cpp)
  target_link_libraries(link_planned_at_start PRIVATE ${hyperparallel_own_library} hyperparallel_warnings)
  add_test(NAME link.no_planner
           COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/link/check_symbols.py" "${CMAKE_NM}"
                   $<TARGET_FILE:link_planned_by_the_compiler> $<TARGET_FILE:link_planned_at_start>)
  set_tests_properties(link.no_planner PROPERTIES LABELS link)
endif()
