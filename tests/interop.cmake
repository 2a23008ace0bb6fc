# SPDX-License-Identifier: Apache-2.0
#
# DLPack against NumPy, where Python has it. An interpreter does not bring the runtime of a sanitizer along.
if(NOT Python3_FOUND OR CMAKE_CXX_FLAGS MATCHES "fsanitize")
  return()
endif()
add_library(dlpack_python MODULE interop/dlpack_python.cpp)
target_link_libraries(dlpack_python PRIVATE ${hyperparallel_own_library} hyperparallel_warnings)
add_test(NAME interop.numpy COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/interop/dlpack_numpy.py"
                                    $<TARGET_FILE:dlpack_python>)
set_tests_properties(interop.numpy PROPERTIES LABELS interop SKIP_RETURN_CODE 77)
