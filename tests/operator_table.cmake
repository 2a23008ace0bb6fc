# SPDX-License-Identifier: Apache-2.0
#
# The operator table of the documentation is printed from the rules; the page must be what they print.
add_executable(operator_table "${PROJECT_SOURCE_DIR}/tools/operator_table.cpp")
target_compile_options(operator_table PRIVATE -O1)  # g++ 12 warns at -O2 of factors that no rule has
target_link_libraries(operator_table PRIVATE ${hyperparallel_own_library} hyperparallel_warnings)
if(Python3_FOUND)
  add_test(NAME pages.operator_table COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/paste_operators.py"
                                             $<TARGET_FILE:operator_table> --check)
  set_tests_properties(pages.operator_table PROPERTIES LABELS pages)
endif()
