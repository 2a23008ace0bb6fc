# SPDX-License-Identifier: Apache-2.0
#
# hp_replay replays ground truth through the run-time face of the core; one test per file of the vectors folder.
if(NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/replay/hp_replay.cpp")
  return()
endif()
if(NOT TARGET nlohmann_json::nlohmann_json OR NOT TARGET CLI11::CLI11)
  message(STATUS "hyperparallel: nlohmann_json or CLI11 not found, hp_replay is not built")
  return()
endif()

file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/replay/*.cpp")
add_executable(hp_replay ${sources})
target_link_libraries(hp_replay PRIVATE hyperparallel::hyperparallel hyperparallel_warnings
                                        nlohmann_json::nlohmann_json CLI11::CLI11)

foreach(file IN ITEMS layout op_infer redistribution hyperparallel_planner shardy_op_rules)
  add_test(NAME replay.${file} COMMAND hp_replay "${HYPERPARALLEL_VECTORS}/${file}.jsonl")
  set_tests_properties(replay.${file} PROPERTIES LABELS replay TIMEOUT 3600)
endforeach()

# Vectors of factor rules are held as rules whatever they are; those of known operators are also our rules of these. Of
# our copy of the file, so many.
add_test(NAME replay.shardy_op_rules.known
         COMMAND hp_replay --verbose "${CMAKE_CURRENT_SOURCE_DIR}/vectors/shardy_op_rules.jsonl")
set_tests_properties(replay.shardy_op_rules.known PROPERTIES LABELS replay TIMEOUT 3600 PASS_REGULAR_EXPRESSION
  "6: held as a rule, equal to ours of concat.*5: [^\n]* ours of dot.*11: [^\n]* ours of reshape\n")
