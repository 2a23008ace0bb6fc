# SPDX-License-Identifier: Apache-2.0
#
# hp truth on made-up rows, one for each rule of reading, and on rows that cannot be read. What it says of published rows is in no
# test: their figures change with the planner.
if(NOT TARGET hp)
  return()
endif()

set(own "${CMAKE_CURRENT_SOURCE_DIR}/vectors")

# A regular expression on the text, of which the last line is the counts.
function(hyperparallel_add_truth name expect)
  add_test(NAME truth.${name} COMMAND hp truth ${ARGN})
  set_tests_properties(truth.${name} PROPERTIES LABELS example TIMEOUT 300 PASS_REGULAR_EXPRESSION "${expect}")
endfunction()

# Figures of the document of the rows: `path=value` each.
function(hyperparallel_add_truth_json name)
  cmake_parse_arguments(PARSE_ARGV 1 json "" "" "FIGURES;COMMAND")
  if(Python3_FOUND)
    add_test(NAME truth.${name} COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/hp_json.py" 0 ${json_FIGURES} --
                                        $<TARGET_FILE:hp> truth ${json_COMMAND} --json)
    set_tests_properties(truth.${name} PROPERTIES LABELS example TIMEOUT 300)
  endif()
endfunction()

hyperparallel_add_truth(text "class .*\nfamily .*\ndevice .*\nprecision .*\naxis .*\norder within groups .*\nmemory.*\nrows  are not predicted\n.*\n24 predicted, 10 skipped\n$"
                        "${own}/truth_rows.jsonl" "${own}/measured_steps.jsonl")
hyperparallel_add_truth(rows "differs +skip .*its batch is told twice.*\n.*experts +peak_bytes .*dp=2,ep=4,zero=3\n.*24 predicted, 10 skipped\n$"
                        --rows "${own}/truth_rows.jsonl" "${own}/measured_steps.jsonl")

# Classes, and why a row is not used.
hyperparallel_add_truth_json(classes
  FIGURES row_list.0.class="B" row_list.6.class="skip" row_list.6.why_not="its batch is told twice and differs"
          row_list.18.class="C" row_list.21.class="A" row_list.21.used=true row_list.22.class="D" row_list.22.used=false
          row_list.23.why_not="its model has no sizes" row_list.24.why_not="no batch"
          "row_list.25.why_not=\"the layers of 'abacus' are not known by name\""
          row_list.7.why_not="no preset of Abacus 9000" "row_list.13.why_not=\"tp is '1 (2)'\""
          row_list.14.used=true row_list.15.used=true "row_list.22.why_not=\"no row of 1F1B, or of as many micro-batches kept, on its devices is beside it\""
          row_list.26.class="D" row_list.26.predicted=1.0 row_list.27.class="D" row_list.27.measured=0.8 row_list.27.used=true
          row_list.20.why_not="its unit is feet"
  COMMAND --rows "${own}/truth_rows.jsonl")
# The plan of a row by each way to say it: batch, sharding, chunks of layers.
hyperparallel_add_truth_json(plans
  FIGURES row_list.0.fix="dp=8,zero=1" row_list.2.fix="dp=8,zero=3,recompute=full" row_list.3.fix="dp=8,zero=2"
          row_list.4.fix="tp=4,dp=2,zero=1,micro_batches=4" row_list.5.fix="dp=8,zero=3,recompute=full"
          row_list.9.fix="pp=2,dp=4,zero=1,micro_batches=2" row_list.10.fix="pp=2,dp=4,zero=1,micro_batches=4"
          "row_list.11.fix=\"pp=2,dp=4,zero=1,micro_batches=2,schedule=Interleaved1F1B,chunks=2\""
          "row_list.12.fix=\"pp=2,dp=4,zero=1,micro_batches=2,schedule=Interleaved1F1B,chunks=2\""
          row_list.19.fix="pp=4,dp=1,micro_batches=8" row_list.8.used=true
  COMMAND --rows "${own}/truth_rows.jsonl")
# Options that few runs have.
hyperparallel_add_truth_json(options FIGURES row_list.0.fix="dp=8,zero=3,recompute=selective" row_list.1.fix="dp=16,zero=3,copies=2,micro_batches=2"
          "row_list.2.why_not=\"shards over 6 devices, of which the data ranks are no multiple\""
          "row_list.3.fix=\"dp=8,zero=3,micro_batches=2,lora=16\"" "row_list.4.fix=\"pp=2,dp=4,zero=1,micro_batches=4,lora=16,lora_on=qkv\"" predicted=4
  COMMAND --rows "${own}/truth_options.jsonl")
# Times of rates, the first quantity of a run, the median of two releases, and what is counted.
hyperparallel_add_truth_json(figures
  FIGURES rows=28 predicted=20 skipped=8 runs=16 runs_predicted=13 runs_fit=1 row_list.0.measured=1.5
          row_list.2.measured=1.5 row_list.16.measured=1.0 row_list.17.measured=3.0 bounds_above_exact_rows=0
          rows_used_share mean_error skill pairs_right_share mean_regret by_family.made-up.mean_error
          by_precision.fp8.rows_used_share=1.0 by_precision.fp16.mean_error=null by_axis.transferred.runs_predicted=3
          "by_device.Ascend 910B.runs_predicted=1"
  COMMAND --rows "${own}/truth_rows.jsonl")
hyperparallel_add_truth_json(measured
  FIGURES rows=6 predicted=4 skipped=2 rows_used_share=1.0 row_list.5.seconds.measured=0.01 row_list.5.class="decode" row_list.1.why_not="one operator"
          row_list.2.fix="dp=8,zero=3,micro_batches=2,recompute=full" row_list.2.peak_bytes.measured=2000000000.0
          row_list.2.compute_seconds.error row_list.3.fix="dp=2,ep=4,zero=3"
          row_list.4.peak_bytes.error "memory.fsdp2 peak_bytes.rows=2"
          "memory.fsdp2 peak_bytes.too_low=2"
  COMMAND --rows "${own}/measured_steps.jsonl")
# Memory of a fused kernel: within a ten-thousandth of what devices report, and a row that is a thousandth off.
hyperparallel_add_truth_json(kernel_memory
  FIGURES rows=6 predicted=4 skipped=2 row_list.0.why_not="constants of other rows" row_list.1.peak_bytes.error "memory.mega_moe_forward peak_bytes.rows=2"
          "memory.mega_moe_backward peak_bytes.rows=2" row_list.5.why_not="its experts or rows are not dealt evenly"
  COMMAND --rows "${own}/mega_moe_memory.jsonl")
hyperparallel_add_hp_json(truth.wrong_kernel_memory 1 FIGURES predicted=1 skipped=1 COMMAND truth "${own}/wrong_mega_moe_memory.jsonl")
# An exact row that differs, and a run that is faster than the bound on its plan: exit status 1.
hyperparallel_add_hp_json(truth.wrong 1 FIGURES bounds_above_exact_rows=1 bounds_above.0.id="faster-than-the-bound"
                          differing.0.id="differs-exactly" predicted=2 skipped=1 reinforcement.weights.bounds_above=1
                          COMMAND truth "${own}/wrong_truth_rows.jsonl")
# Sizes that are published of a name complete a row, and never change one.
hyperparallel_add_truth_json(names
  FIGURES row_list.0.class="B" row_list.0.used=true "row_list.0.open.3=\"sizes of Qwen/Qwen3-8B\"" row_list.1.used=true
          "row_list.1.open.3=\"sizes of arXiv 2005.14165, table 2.1\"" row_list.2.why_not="its model has no sizes"
          row_list.3.why_not="its model has no sizes" row_list.4.used=true
  COMMAND --rows "${own}/truth_named_rows.jsonl")
# The page has what --json prints, and dots of runs, of memory, of reinforcement and of ratios.
hyperparallel_add_hp_page(truth 0 scatter,scatter,scatter truth "${own}/truth_rows.jsonl" "${own}/measured_steps.jsonl")
hyperparallel_add_hp_page(truth.reinforcement 0 scatter,scatter truth --rows "${own}/truth_rl_rows.jsonl")
# Training by reinforcement: steps from the phases of synchronous runs, from sizes alone, hours, the weights' way.
hyperparallel_add_truth_json(reinforcement
  FIGURES rows=31 predicted=24 reinforcement.steps.rows=5 reinforcement.steps.median_error reinforcement.steps.faster_right=3
          reinforcement.steps.faster_of=4 reinforcement.steps.pairs=6 reinforcement.steps.pairs_right_share=1.0
          reinforcement.phases.rows=2 reinforcement.sized_steps.rows=2 reinforcement.hours.mean_error reinforcement.weights.rows=3
          reinforcement.weights.scored=1 reinforcement.weights.mean_error=0.0 reinforcement.weights.bounds=3 reinforcement.weights.bounds_above=0
          row_list.0.predicted=100.0 row_list.1.used=true "row_list.8.fix=\"trainer 8, generator 8, 1 chunk\""
          "row_list.11.fix=\"trainer 8, generator 8, 4 chunks\"" "row_list.12.open.0=\"trainer 8 and generator 8, as the other runs have them\""
          "row_list.13.open.0=\"trainer 14 and generator 6, which take least\"" "row_list.14.open.0=\"staleness from 0 to 1\""
          "row_list.15.why_not=\"no synchronous run of its model and settings is beside it\""
          "row_list.16.why_not=\"the synchronous runs do not print rl_critic_s\"" row_list.18.predicted=1.0 row_list.19.measured=0.475
          "row_list.20.why_not=\"no synchronous system of its model is beside it\"" row_list.22.predicted=0.5
          "row_list.24.why_not=\"no plain way of the same weights is beside it\"" row_list.25.predicted row_list.26.measured=10.0
          "row_list.28.why_not=\"generation_tp_pp is '2 of 8'\"" "row_list.29.why_not=\"no lengths or no batch of responses\""
          "row_list.30.why_not=\"no rule for its quantity\""
  COMMAND --rows "${own}/truth_rl_rows.jsonl")
hyperparallel_add_truth(reinforcement_text "training by reinforcement .*bounds above\n.*asynchronous steps.*3 of 4 +6 of 6\n.*24 predicted, 7 skipped\n$"
                        "${own}/truth_rl_rows.jsonl")
# Parameters of `fit` rows, into a copy of the header; a file without the table is refused.
file(COPY "${PROJECT_SOURCE_DIR}/include/hyperparallel/hardware/fitted_shares.hpp" DESTINATION "${CMAKE_CURRENT_BINARY_DIR}")
add_test(NAME truth.fit COMMAND hp truth --fit "${CMAKE_CURRENT_BINARY_DIR}/fitted_shares.hpp" "${own}/truth_rows.jsonl")
set_tests_properties(truth.fit PROPERTIES LABELS example TIMEOUT 300 PASS_REGULAR_EXPRESSION
                     "preset +share of the peak +fit runs +mean error\n.*h100 +[0-9.]+ % +1 +0.[0-9] %\n")
# Tables between the marks of a page, and nothing else of it.
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/truth_page.md" "before\n<!-- hp truth prints -->\nreplaced line\n<!-- until here -->\nbehind\n")
add_test(NAME truth.print COMMAND hp truth --print "${CMAKE_CURRENT_BINARY_DIR}/truth_page.md" "${own}/truth_rows.jsonl")
set_tests_properties(truth.print PROPERTIES LABELS example TIMEOUT 300 FIXTURES_SETUP truth_page)
add_test(NAME truth.printed COMMAND "${CMAKE_COMMAND}" -E cat "${CMAKE_CURRENT_BINARY_DIR}/truth_page.md")
set_tests_properties(truth.printed PROPERTIES LABELS example FIXTURES_REQUIRED truth_page FAIL_REGULAR_EXPRESSION "replaced line"
                     PASS_REGULAR_EXPRESSION "^before\n<!-- hp truth prints -->\n```text\nclass .*skipped\n```\n<!-- until here -->\nbehind\n$")
# The same as hp plan says of the plan.
if(Python3_FOUND)
  add_test(NAME truth.same_as_plan
           COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/hp_truth_plan.py" $<TARGET_FILE:hp> "${own}/truth_rows.jsonl"
                   "${CMAKE_CURRENT_SOURCE_DIR}/configs/llama3_8b.json" fit-time full-shard half-shard from-micro-batches
                   from-local-batch peak)
  set_tests_properties(truth.same_as_plan PROPERTIES LABELS example TIMEOUT 300)
endif()
