# SPDX-License-Identifier: Apache-2.0
#
# The C border of plans from C99 and from Python, with NumPy and without.
if(NOT TARGET hyperparallel_plan)
  return()
endif()
include(CheckLanguage)
check_language(C)
if(CMAKE_C_COMPILER)
  enable_language(C)
  add_executable(plan_test c_abi/plan_test.c)
  set_target_properties(plan_test PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF LINKER_LANGUAGE CXX)
  target_compile_options(plan_test PRIVATE ${hyperparallel_warning_options})
  target_link_libraries(plan_test PRIVATE hyperparallel_plan)
  add_test(NAME c_abi.plan COMMAND plan_test)
  set_tests_properties(c_abi.plan PROPERTIES LABELS c_abi TIMEOUT 600)
else()
  message(STATUS "hyperparallel: no C compiler found, c_abi.plan is not built")
endif()

# An interpreter does not bring the runtime of a sanitizer along.
if(Python3_FOUND AND NOT CMAKE_CXX_FLAGS MATCHES "fsanitize")
  set(example "${PROJECT_SOURCE_DIR}/examples/python/redistribute.py")
  foreach(way IN ITEMS with_numpy without_numpy)
    set(option "")
    if(way STREQUAL "without_numpy")
      set(option --without-numpy)
    endif()
    add_test(NAME c_abi.python.${way}
             COMMAND Python3::Interpreter "${example}" $<TARGET_FILE:hyperparallel_plan> --mesh dp=3,tp=2 --from "~dp,None,tp"
                     --to "None,~(tp,dp),None" --shape 5x7x4 ${option})
    set_tests_properties(c_abi.python.${way} PROPERTIES LABELS c_abi PASS_REGULAR_EXPRESSION
                         "exchange: 24 copies, 464 bytes received, bound 464\nevery block is its slice")
  endforeach()
  add_test(NAME c_abi.python.refusal COMMAND Python3::Interpreter "${example}" $<TARGET_FILE:hyperparallel_plan> --from ep,None)
  set_tests_properties(c_abi.python.refusal PROPERTIES LABELS c_abi PASS_REGULAR_EXPRESSION
                       "source layout 'ep,None': 'ep' is no axis of the mesh; expected None or an axis: dp, tp\n")
endif()
