# SPDX-License-Identifier: Apache-2.0
#
# hp replay holds ground truth against the run-time face of the core; one test per file of the vectors folder.
if(NOT TARGET hp)
  return()
endif()

foreach(file IN ITEMS layout op_infer redistribution hyperparallel_planner dtensor_redistribution shardy_reshard
                      shardy_op_rules pipeline schedule model_configs truth_tables)
  add_test(NAME replay.${file} COMMAND hp replay "${HYPERPARALLEL_VECTORS}/${file}.jsonl")
  set_tests_properties(replay.${file} PROPERTIES LABELS replay TIMEOUT 3600)
endforeach()

# What hp replay prints, whatever its exit status: of good vectors and of bad ones.
function(hyperparallel_add_replay name expect)
  add_test(NAME replay.${name} COMMAND hp replay ${ARGN})
  set_tests_properties(replay.${name} PROPERTIES LABELS replay TIMEOUT 3600 PASS_REGULAR_EXPRESSION "${expect}")
endfunction()
set(own "${CMAKE_CURRENT_SOURCE_DIR}/vectors")

# Vectors of factor rules are held as rules whatever they are; those of known operators are also our rules of these. Of
# our copy of the file, so many.
hyperparallel_add_replay(shardy_op_rules.known
  "6: held as a rule, equal to ours of concat.*5: [^\n]* ours of dot.*11: [^\n]* ours of reshape\n"
  --verbose "${own}/shardy_op_rules.jsonl")

# A small vector for each kind of move and each thing that one may state of it; the table of them; and as many in which
# one thing is wrong, of which none may pass.
hyperparallel_add_replay(moves "moves.jsonl: 85 passed, 0 failed\n85 passed, 0 failed\n$" "${own}/moves.jsonl")
hyperparallel_add_replay(moves.table "\n +192 +768 +128 +384 +128 +384 +2.00  own/trace/.*ours = bound in 65. theirs stated in 16"
                         --table "${own}/moves.jsonl")
hyperparallel_add_replay(wrong_moves "wrong_moves.jsonl: 0 passed, 108 failed\n0 passed, 108 failed\n$"
                         "${own}/wrong_moves.jsonl")
# Rows of each kind and schedule of pipeline.jsonl, and of the lists of schedule.jsonl; and as many in which one thing is
# wrong.
hyperparallel_add_replay(pipeline.kinds "passed 1: refused: rank 3 never runs 3F0.*pipeline.jsonl: 59 passed, 0 failed\n  4 skipped\n"
                         --verbose "${own}/pipeline.jsonl")
hyperparallel_add_replay(schedule.kinds
  "passed 1: refused, a backward before its receive: [^\n]*rank 2 stands at 5B0 and waits for 5RECV_B0.*schedule.jsonl: 9 passed, 0 failed\n9 passed"
  --verbose "${own}/schedule.jsonl")
# Tables with one change, and the verdict that a run in Python reaches; the file is what its tool writes.
hyperparallel_add_replay(pipeline_mutants "unsafe: waits_in_a_circle.*pipeline_mutants.jsonl: 389 passed, 0 failed\n389 passed"
                         --verbose "${own}/pipeline_mutants.jsonl")
if(Python3_FOUND)
  add_test(NAME replay.pipeline_mutants.tool
           COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/make_pipeline_mutants.py" --check)
  set_tests_properties(replay.pipeline_mutants.tool PROPERTIES LABELS replay TIMEOUT 600)
  # 500 unsafe tables of each class, none of which may be accepted.
  set(many "${CMAKE_CURRENT_BINARY_DIR}/unsafe_pipelines.jsonl")
  add_test(NAME replay.pipeline_mutants.written
           COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/make_pipeline_mutants.py" --unsafe 500 "${many}")
  set_tests_properties(replay.pipeline_mutants.written PROPERTIES LABELS replay TIMEOUT 600 FIXTURES_SETUP unsafe_pipelines)
  hyperparallel_add_replay(pipeline_mutants.unsafe "unsafe_pipelines.jsonl: 8000 passed, 0 failed\n8000 passed" "${many}")
  set_tests_properties(replay.pipeline_mutants.unsafe PROPERTIES FIXTURES_REQUIRED unsafe_pipelines)
endif()
hyperparallel_add_replay(wrong_pipeline "wrong_pipeline.jsonl: 0 passed, 80 failed\n0 passed, 80 failed\n$"
                         "${own}/wrong_pipeline.jsonl")
# Configurations of every family that is read and four that are refused; and such in which one thing is wrong.
hyperparallel_add_replay(model_configs.families
  "passed 2: deepseek_v2: .*passed 1: qwen2_moe: .*skipped 1 of kind text: refused: [^\n]* attention_sinks is 4; .*model_configs.jsonl: 33 passed, 0 failed\n  3 skipped\n"
  --verbose "${own}/model_configs.jsonl")
hyperparallel_add_replay(wrong_model_configs "wrong_model_configs.jsonl: 0 passed, 19 failed\n0 passed, 19 failed\n$"
                         "${own}/wrong_model_configs.jsonl")
# Published numbers that a convention of the library computes; timed runs, whose plans the search must not be worse than, and three
# that cannot be said in the library's words; and such in which one thing is wrong.
hyperparallel_add_replay(truth_tables.formulas
  "passed 2: class B: the search's plan is faster than the row's\n.*passed 2: class B: the search's plan is faster than the row's, after 1000 prices.*passed 8: megatron_2022: bytes, exactly\n.*skipped 1 of no kind: class B, not expressed: precision MXFP8\n[^\n]*schedule ZB-2p\n[^\n]*truth_tables.jsonl: 22 passed, 0 failed\n  3 skipped\n"
  --verbose "${own}/truth_tables.jsonl")
hyperparallel_add_replay(wrong_truth_tables "wrong_truth_tables.jsonl: 0 passed, 28 failed\n0 passed, 28 failed\n$"
                         "${own}/wrong_truth_tables.jsonl")
hyperparallel_add_replay(missing "cannot read 'missing.jsonl': No such file" missing.jsonl)
hyperparallel_add_replay(no_file "no file is named; usage: hp replay FILE")
