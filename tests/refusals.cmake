# SPDX-License-Identifier: Apache-2.0
#
# What the main example does with bad input. See cmake/refusal_test.cmake.
function(hyperparallel_add_refusal name expect)
  add_test(NAME refusal.moe_layer.${name}
           COMMAND "${CMAKE_COMMAND}" "-DPROGRAM=$<TARGET_FILE:moe_layer>" "-DARGUMENTS=${ARGN}" "-DEXPECT=${expect}"
                   "-DWORKPLACE=${CMAKE_CURRENT_BINARY_DIR}/refusals/${name}"
                   -P "${PROJECT_SOURCE_DIR}/cmake/refusal_test.cmake")
  set_tests_properties(refusal.moe_layer.${name} PROPERTIES LABELS example TIMEOUT 300)
endfunction()

if(TARGET moe_layer)
  hyperparallel_add_refusal(missing_text missing.txt missing.txt)
  hyperparallel_add_refusal(empty_text empty.txt empty.txt)
  hyperparallel_add_refusal(unknown_option --no-such-option --no-such-option)
  hyperparallel_add_refusal(unwritable_trace missing/trace.json --trace missing/trace.json)
endif()
