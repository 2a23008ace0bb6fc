# SPDX-License-Identifier: Apache-2.0
#
# The portable kernels give the same bits for every -march: one program compiled for any machine of the target and for the
# one that builds, where the compiler would fuse and vectorise what it may. Both are header-only, so that the kernels are
# compiled with their flags.
if(NOT HYPERPARALLEL_NATIVE OR NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  return()
endif()
add_custom_target(bits_tests)
foreach(machine IN ITEMS any native)
  add_executable(training_bits_${machine} EXCLUDE_FROM_ALL bits/training_bits.cpp)
  target_link_libraries(training_bits_${machine} PRIVATE hyperparallel::hyperparallel hyperparallel_warnings)
  add_dependencies(bits_tests training_bits_${machine})
endforeach()
target_compile_options(training_bits_any PRIVATE -O1 -march=x86-64)
target_compile_options(training_bits_native PRIVATE -O2 -march=native -ffp-contract=fast)
add_test(NAME bits.training
         COMMAND sh -c "a=$(\"$0\") && b=$(\"$1\") && printf '%s\\n' \"$a\" \"$b\" && [ \"$a\" = \"$b\" ]"
                 "$<TARGET_FILE:training_bits_any>" "$<TARGET_FILE:training_bits_native>")
set_tests_properties(bits.training PROPERTIES LABELS bits TIMEOUT 300)
