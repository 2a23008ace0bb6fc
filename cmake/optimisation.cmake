# SPDX-License-Identifier: Apache-2.0
#
# To optimise what runs briefly costs the compiler more than it saves: g++ spends half of the time of a unit on -O2.
set(HYPERPARALLEL_TEST_OPTIMISATION "" CACHE STRING
    "How test programs, examples, and sources that only read or print, are optimised; empty: as the build is")
set(hyperparallel_light_options "")
if(HYPERPARALLEL_TEST_OPTIMISATION)
  # The warning takes what it does not follow without inlining for uninitialised.
  set(hyperparallel_light_options ${HYPERPARALLEL_TEST_OPTIMISATION} -Wno-maybe-uninitialized)
endif()

function(hyperparallel_optimise_lightly target)
  target_compile_options(${target} PRIVATE ${hyperparallel_light_options})
endfunction()
