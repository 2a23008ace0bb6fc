# SPDX-License-Identifier: Apache-2.0
#
# The page on the clock of a plan is printed by the clock; it must be what it prints.
add_executable(clock_table "${PROJECT_SOURCE_DIR}/tools/clock_table.cpp")
target_compile_options(clock_table PRIVATE -O1)
target_link_libraries(clock_table PRIVATE ${hyperparallel_own_library} hyperparallel_warnings)
if(Python3_FOUND)
  add_test(NAME pages.clock_table COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/paste_page.py"
                                          $<TARGET_FILE:clock_table> docs/reference/plan-clock.md --check)
  set_tests_properties(pages.clock_table PROPERTIES LABELS pages)
endif()
