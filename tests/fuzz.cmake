# SPDX-License-Identifier: Apache-2.0
#
# Targets of libFuzzer for what reads files: tests/fuzz/NAME.cpp is the program fuzz_NAME (preset fuzz), all_fuzz builds every
# one. The test fuzz.NAME runs it for 10 seconds from texts of this folder and from what it kept before; where
# HYPERPARALLEL_EXHAUSTIVE is set, for 15 minutes.
option(HYPERPARALLEL_FUZZ "Build the targets of libFuzzer; needs clang" OFF)
if(NOT HYPERPARALLEL_FUZZ OR NOT TARGET nlohmann_json::nlohmann_json)
  return()
endif()

set(hyperparallel_seeds_model_config configs/*.json)
set(hyperparallel_seeds_hardware_file configs/own_hardware.json fuzz/seeds/hardware_*)
set(hyperparallel_seeds_torch_schedule fuzz/seeds/schedule_*)
set(hyperparallel_seeds_run_trace fuzz/seeds/trace_*)
set(hyperparallel_seeds_replay_vector fuzz/seeds/vector_*)
set(hyperparallel_seeds_safetensors_header fuzz/seeds/safetensors_*)
file(GLOB hyperparallel_bodies_replay_vector "${PROJECT_SOURCE_DIR}/tools/hp/replay/*.cpp")
set(seconds 10)
if(DEFINED ENV{HYPERPARALLEL_EXHAUSTIVE})
  set(seconds 900)
endif()
add_custom_target(all_fuzz)
file(GLOB targets CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/fuzz/*.cpp")
foreach(source IN LISTS targets)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(fuzz_${name} "${source}" ${hyperparallel_bodies_${name}})
  target_link_libraries(fuzz_${name} PRIVATE hyperparallel::hyperparallel hyperparallel_warnings nlohmann_json::nlohmann_json)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(all_fuzz fuzz_${name})
  set(seeds "${CMAKE_CURRENT_BINARY_DIR}/fuzz/seeds/${name}")
  set(corpus "${CMAKE_CURRENT_BINARY_DIR}/fuzz/corpus/${name}")
  list(TRANSFORM hyperparallel_seeds_${name} PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  file(GLOB files ${hyperparallel_seeds_${name}})
  file(MAKE_DIRECTORY "${seeds}" "${corpus}")
  file(COPY ${files} DESTINATION "${seeds}")
  add_test(NAME fuzz.${name} COMMAND fuzz_${name} -max_total_time=${seconds} -timeout=20 -rss_limit_mb=4096
                                     -print_final_stats=1 "${corpus}" "${seeds}")
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT 3600)
endforeach()
