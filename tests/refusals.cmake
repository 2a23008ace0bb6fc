# SPDX-License-Identifier: Apache-2.0
#
# What programs do with bad input. See cmake/refusal_test.cmake.
function(hyperparallel_add_refusal program name status expect)
  hyperparallel_add_late_refusal(${program} "${name}" "" ${status} "${expect}" ${ARGN})
endfunction()

# One that comes after the program has printed to OUTPUT.
function(hyperparallel_add_late_refusal program name output status expect)
  if(output)
    set(output "-DOUTPUT=${output}")
  endif()
  add_test(NAME refusal.${program}.${name}
           COMMAND "${CMAKE_COMMAND}" "-DPROGRAM=$<TARGET_FILE:${program}>" "-DARGUMENTS=${ARGN}" "-DEXPECT=${expect}"
                   "-DSTATUS=${status}" ${output}
                   "-DWORKPLACE=${CMAKE_CURRENT_BINARY_DIR}/refusals/${program}.${name}"
                   -P "${PROJECT_SOURCE_DIR}/cmake/refusal_test.cmake")
  set_tests_properties(refusal.${program}.${name} PROPERTIES LABELS example TIMEOUT 300)
endfunction()

# A number that cannot be: of each option that takes one, values beside its bounds and texts that are none. `program` may be
# "hp;SUBCOMMAND".
function(hyperparallel_add_number_refusals program expect)
  list(POP_FRONT program executable)
  string(JOIN "." prefix ${program} "")
  foreach(option IN LISTS ARGN)
    foreach(value IN ITEMS nan 1e999 -8 8x 99999999999999999999)
      hyperparallel_add_refusal(${executable} ${prefix}${option}.${value} 2 "${option}: '${value}' is no ${expect}"
                                ${program} ${option} ${value})
    endforeach()
  endforeach()
endfunction()

# What a full disk does not take is a failure.
function(hyperparallel_add_full_output program)
  if(TARGET ${program})
    hyperparallel_add_late_refusal(${program} full_output /dev/full 1 "${program}: cannot write to standard output" ${ARGN})
  endif()
endfunction()

foreach(program IN ITEMS long_context moe_layer)
  hyperparallel_add_full_output(${program} --help)
endforeach()
foreach(program IN ITEMS dtensor operator_table train_model)
  hyperparallel_add_full_output(${program})
endforeach()
hyperparallel_add_full_output(train_text --list)
hyperparallel_add_full_output(omni_modal --list)
hyperparallel_add_full_output(rl --help)
if(TARGET rl)
  hyperparallel_add_refusal(rl unknown_placement 1 "no placement is called \"nowhere\"" --placement nowhere)
  hyperparallel_add_refusal(rl newest_without_staleness 1 "--newest needs a --staleness of at least 1" --newest)
  hyperparallel_add_late_refusal(rl learns_too_little /dev/null 1 "expected at least 0.9" --steps 2 --at-least 0.9)
  hyperparallel_add_late_refusal(rl nowhere_to_write /dev/null 1 "cannot write 'missing/trace.json'" --steps 1 --trace missing/trace.json)
  hyperparallel_add_number_refusals(rl "whole number from" --steps --staleness --threads --seed)
  hyperparallel_add_number_refusals(rl "number from" --rate --at-least)
endif()
if(TARGET hp)
  hyperparallel_add_late_refusal(hp full_output.explain /dev/full 1 "hp explain: cannot write to standard output"
                                 explain --mesh x=2 --from x --to None --shape 64 --dtype f32)
  hyperparallel_add_late_refusal(hp full_output.replay /dev/full 1 "hp replay: cannot write to standard output"
                                 replay "${CMAKE_CURRENT_SOURCE_DIR}/vectors/moves.jsonl")
  hyperparallel_add_late_refusal(hp full_output.help /dev/full 1 "hp: cannot write to standard output" --help)
  hyperparallel_add_late_refusal(hp full_output.tables /dev/full 1 "hp tables: cannot write to standard output" tables)
  hyperparallel_add_late_refusal(hp full_output.json /dev/full 1 "hp tables: cannot write to standard output" tables --json)
  foreach(subcommand IN ITEMS offload sched trace truth reshard)
    hyperparallel_add_late_refusal(hp full_output.${subcommand} /dev/full 1 "hp ${subcommand}: cannot write to standard output"
                                   ${subcommand} --help)
  endforeach()
  hyperparallel_add_refusal(hp replay.no_file 2 "hp replay: no file is named; usage: hp replay FILE" replay)
  hyperparallel_add_refusal(hp replay.missing 2 "hp replay: cannot read 'missing.jsonl': No such file" replay missing.jsonl)
  hyperparallel_add_refusal(hp replay.empty 2 "hp replay: cannot read 'empty.txt': the file is empty" replay empty.txt --json)
  hyperparallel_add_refusal(hp replay.malformed 2 "LICENSE:2: malformed JSON" replay "${CMAKE_CURRENT_SOURCE_DIR}/vectors/moves.jsonl"
                            "${PROJECT_SOURCE_DIR}/LICENSE")
  # Vectors that cannot be read: the line names file, line and key; what was replayed is counted before it.
  set(vectors "${CMAKE_CURRENT_BINARY_DIR}/unreadable_vectors")
  function(hyperparallel_add_unreadable_vector name expect line)
    file(WRITE "${vectors}/${name}.jsonl" "\n${line}\n")
    hyperparallel_add_late_refusal(hp replay.vector.${name} /dev/null 2 "hp replay: ${vectors}/${name}.jsonl:2: ${expect}" replay
                                   "${vectors}/${name}.jsonl")
  endfunction()
  hyperparallel_add_unreadable_vector(axis_above "key 'tmap' has 100000000, the mesh 3 axes"
    [=[{"id":"x","kind":"map","mesh":[2,4,1],"alias":["a","b","c"],"map":["a","None","None"],"tmap":[100000000,-1,-1]}]=])
  hyperparallel_add_unreadable_vector(wrapped "key 'tmap' has 4294967295; expected a whole number from"
    [=[{"id":"x","kind":"map","mesh":[2,4,1],"alias":["a","b","c"],"map":["None","None","None"],"tmap":[4294967295,-1,-1]}]=])
  hyperparallel_add_unreadable_vector(unequal "key 'to' has 1 dims, 'from' 2"
    [=[{"id":"x","kind":"partial","mesh":[2,2],"alias":["x","y"],"from":["None","y"],"partial":{"x":"sum"},"to":["y"]}]=])
  hyperparallel_add_unreadable_vector(unequal_middle "key 'mid' has 0 dims, the tensor 1"
    [=[{"id":"x","kind":"partial","partial":{},"to":["None"],"mid":[],"expect_ops":[]}]=])
  hyperparallel_add_unreadable_vector(misspelt "key 'exepct' is not known of 'move'"
    [=[{"id":"x","kind":"count","mesh":{"axes":["x"],"shape":[4],"device_ids":null},"shape":[8],"src_layout":[["x"]],"dst_layout":[[]],"exepct":{"total":0}}]=])
  hyperparallel_add_unreadable_vector(misspelt_inside "key 'totl' is not known of 'expect'"
    [=[{"id":"x","kind":"count","mesh":{"axes":["x"],"shape":[4],"device_ids":null},"shape":[8],"src_layout":[["x"]],"dst_layout":[[]],"expect":{"totl":0}}]=])
  hyperparallel_add_unreadable_vector(nothing_expected "key 'expect' is missing of 'move'"
    [=[{"id":"x","kind":"count","mesh":{"axes":["x"],"shape":[4],"device_ids":null},"shape":[8],"src_layout":[["x"]],"dst_layout":[[]]}]=])
  hyperparallel_add_unreadable_vector(sub_axis "the sub-axis [65536, 65536] of x"
    [=[{"id":"x","kind":"count","mesh":{"axes":["x"],"shape":[4],"device_ids":null},"shape":[8],"src_layout":[[["x",65536,65536]]],"dst_layout":[[]],"src_partial":[["x",65536,65536]],"expect":{"total":0}}]=])
  hyperparallel_add_unreadable_vector(no_ranks "key 'n' has 0"
    [=[{"id":"x","kind":"plan","mesh":[4],"alias":["x"],"from":["x"],"to":["None"],"shape":[8],"expect_ops":[{"op":"all_split","dim":0,"n":0}]}]=])
  hyperparallel_add_unreadable_vector(fraction "key 'rank' has 1.5"
    [=[{"id":"x","kind":"coord","mesh":[2,2],"alias":["a","b"],"rank":1.5,"expect":[0,1]}]=])
  hyperparallel_add_unreadable_vector(many_ranks "the pipeline has more micro-batches on stages than can be replayed"
    [=[{"id":"x","kind":"torch_csv","schedule":"GPipe","ranks":65536,"virtual":1,"microbatches":4,"placement":"loop","compute_only":"0F0"}]=])
  hyperparallel_add_unreadable_vector(no_kind "key 'kind' is missing"
    [=[{"id":"x","mesh":[2,4,1],"tmap":[0]}]=])
  hyperparallel_add_refusal(hp replay.unknown_option 2 "not expected: --no-such-option; known: --help, " replay --no-such-option)
  hyperparallel_add_refusal(hp tables.unknown_option 2 "hp tables: The following argument was not expected: --no-such-option; known: --help, --json"
                            tables --no-such-option)
  hyperparallel_add_refusal(hp tables.json_value 2 "hp tables: json was given a disallowed flag override" tables --json=tables.json)
  hyperparallel_add_refusal(hp tables.json_file 2 "not expected: missing/tables.json" tables --json missing/tables.json)
endif()

if(TARGET long_context)
  hyperparallel_add_number_refusals(long_context "whole number from" --layers --sequence --tokens --seed)
  hyperparallel_add_number_refusals(long_context "amount of memory up to" --budget --capacity)
  hyperparallel_add_number_refusals(long_context "number from" --bandwidth --latency)
  hyperparallel_add_refusal(long_context unit_alone 2 "--budget: 'M' is no amount of memory" --budget M)
endif()

if(TARGET moe_layer)
  hyperparallel_add_number_refusals(moe_layer "whole number from" --threads)
  hyperparallel_add_refusal(moe_layer missing_text 1 missing.txt missing.txt)
  hyperparallel_add_refusal(moe_layer empty_text 1 empty.txt empty.txt)
  hyperparallel_add_refusal(moe_layer unknown_option 2 --no-such-option --no-such-option)
  hyperparallel_add_refusal(moe_layer empty_trace 2 "--trace" --trace=)
  hyperparallel_add_refusal(moe_layer unwritable_trace 1 missing/trace.json --trace missing/trace.json)
endif()

if(TARGET omni_modal)
  hyperparallel_add_refusal(omni_modal placement 1 "no placement is called \"alone\"; known: one-group, apart, by-load" --placement alone)
  hyperparallel_add_refusal(omni_modal missing_groups 1 "cannot read 'missing.json': No such file" --groups missing.json)
  set(groups "${PROJECT_SOURCE_DIR}/examples/omni_modal/groups.json")
  hyperparallel_add_refusal(omni_modal table 1 "groups.json has no table \"serve\"" --groups "${groups}" --table serve)
  hyperparallel_add_refusal(omni_modal strategies 1 "--strategies names 1, the table has 3 groups" --groups "${groups}" --strategies tp)
  hyperparallel_add_refusal(omni_modal strategy_of_group 1 "group seeing: no strategy is called \"dq\", the nearest is \"dp\""
                            --groups "${groups}" --strategies tp,dq,dp)
  hyperparallel_add_refusal(omni_modal groups_and_placement 2 "--placement excludes --groups" --placement apart --groups "${groups}")
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/no_audio.json"
       [=[{"groups": [{"name": "all", "ranks": ["0-1"]}], "modules": [{"name": "most", "group": "all", "operators": ["text.*", "vision.*", "fusion.*"]}]}]=])
  hyperparallel_add_refusal(omni_modal module_without_group 1 "operator audio.frame belongs to none of the 1 modules"
                            --groups "${CMAKE_CURRENT_BINARY_DIR}/no_audio.json")
  hyperparallel_add_refusal(omni_modal large_trains_nothing 2 "--steps excludes --large" --large --steps 3)
endif()
if(TARGET train_text)
  hyperparallel_add_refusal(train_text missing_text 1 missing.txt missing.txt)
  hyperparallel_add_refusal(train_text short_text 1 "the text has 0 bytes, 17409 are needed" empty.txt)
  hyperparallel_add_refusal(train_text unknown_option 2 --no-such-option --no-such-option)
  hyperparallel_add_refusal(train_text no_ranks 2 "--ranks: '0' is no whole number from 1 to 512" --ranks 0)
  hyperparallel_add_refusal(train_text unknown_strategy 1 "no strategy is called \"nothing\": --list shows them"
                            --strategy nothing)
  hyperparallel_add_refusal(train_text degrees 1 "8 ranks are not the product of its degrees, 3" --strategy dp --degrees 3)
  hyperparallel_add_refusal(train_text indivisible 1 "axis \"dp\", operator \"embedding\", dim \"batch\", 16 by 3"
                            --strategy dp --ranks 3)
  hyperparallel_add_refusal(train_text stages_exceed_layers 1 "the model has 4 layers, 8 stages need at least one each"
                            --stages 8)
  hyperparallel_add_refusal(train_text layers_of_stages 1 "the stages have 3 layers, the model has 4" --stages 2,1)
  hyperparallel_add_refusal(train_text ranks_of_stages 1 "6 ranks are no multiple of 4 groups" --ranks 6 --stages 4)
  hyperparallel_add_refusal(train_text unknown_schedule 1 "no schedule is called \"nothing\": --list shows them" --stages 2
                            --schedule nothing)
  hyperparallel_add_refusal(train_text chunks_of_schedule 1 "schedule ZB-V has 2 stages on each rank, not 1" --stages 2
                            --schedule ZB-V --chunks 1)
  hyperparallel_add_refusal(train_text groups_without_ranks 1 "\"dp\" is no strategy with ranks, as dp:4" --groups dp,tp:2)
  hyperparallel_add_refusal(train_text groups_of_other_stages 1 "3 stages, 1 a rank: --groups names 2 groups" --groups dp:2,tp:2
                            --stages 3)
  hyperparallel_add_refusal(train_text groups_and_strategy 2 "--ranks excludes --groups" --groups dp:2,tp:2 --ranks 4)
  hyperparallel_add_refusal(train_text group_is_refused 1 "group 1: strategy \"tp\" is refused" --groups dp:2,tp:3)
  hyperparallel_add_refusal(train_text ring_in_stages 1 "attention that travels a ring cannot be cut into stages"
                            --strategy ring --stages 2)
  hyperparallel_add_late_refusal(train_text budget_of_stages /dev/null 1
                                 "budget of 1024 bytes: the budget is too small on part 0, at least " --stages 2
                                 --hbm-budget 1K)
  hyperparallel_add_refusal(train_text tiles_of_nothing 1 "tiles: \"*.expert.*\" names no operator of the model"
                            --tiles *.expert.*)
  hyperparallel_add_refusal(train_text tiles_beside_no_move 1 "names is beside no move whose tiles it can follow under strategy dp"
                            --tiles *.experts.down --strategy dp)
  hyperparallel_add_refusal(train_text most_tiles_of_nothing 2 "--most-tiles requires --tiles" --most-tiles 4)
  hyperparallel_add_number_refusals(train_text "whole number from" --degrees --ranks --steps --seed --threads --batch --seq
                                    --layers --hidden --validation-bytes --save-every --stages --chunks --micro-batches)
  hyperparallel_add_number_refusals(train_text "number from" --rate --tier-bandwidth --at-most)
  hyperparallel_add_late_refusal(train_text learns_too_little /dev/null 1 "expected at most 0.5"
                                 "${PROJECT_SOURCE_DIR}/LICENSE" --validation-bytes 2048 --hidden 16 --layers 1 --steps 1
                                 --ranks 1 --strategy single --at-most 0.5)
  foreach(value IN ITEMS nan nan% 1e999% -5% 0 1e300G 50x)
    hyperparallel_add_refusal(train_text "--hbm-budget.${value}" 2
                              "--hbm-budget: '${value}' is none of 50%, 48M, 48000000, auto" --hbm-budget ${value})
  endforeach()
  hyperparallel_add_refusal(train_text odd_heads 2 "--hidden: '24' is no multiple of 16" --hidden 24)
  hyperparallel_add_refusal(train_text nowhere_to_save 1 "cannot write 'missing/saved': No such file or directory"
                            --checkpoint missing/saved)
  # Training that is told to end saves what it has, and goes on from there. SIGTERM stands for Ctrl-C, which processes
  # in the background ignore.
  set(small_model --validation-bytes 512 --hidden 16 --layers 1 --seq 8 --batch 8 --ranks 4)
  string(JOIN " " small_model "${PROJECT_SOURCE_DIR}/LICENSE" ${small_model})
  add_test(NAME refusal.train_text.interrupted
           COMMAND sh -c "rm -rf saved; timeout --preserve-status -s TERM 3 \"$0\" ${small_model} --steps 1000000 --checkpoint saved
                          [ $? -eq 130 ] && \"$0\" ${small_model} --steps 1 --resume saved" "$<TARGET_FILE:train_text>"
           WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  set_tests_properties(refusal.train_text.interrupted PROPERTIES LABELS example TIMEOUT 300 PASS_REGULAR_EXPRESSION
                       "interrupted after step [1-9][0-9]* of 1000000; --resume saved goes on from there.*steps [1-9][0-9]* to 1\n")
  # Training in stages is that of one device.
  foreach(strategy IN ITEMS pp dp-tp-pp pp-ep zero1-pp-tp-ep)
    add_test(NAME example.train_text.${strategy}
             COMMAND train_text "${PROJECT_SOURCE_DIR}/LICENSE" --validation-bytes 512 --hidden 16 --layers 4 --seq 8 --batch 4
                     --steps 2 --strategy ${strategy} --stages 2 --ranks 8 --schedule ZB-H1 --f64 --compare)
    set_tests_properties(example.train_text.${strategy} PROPERTIES LABELS example TIMEOUT 300 PASS_REGULAR_EXPRESSION
                         "within the tolerance 1e-09")
  endforeach()
  # So is training in tiles.
  add_test(NAME example.train_text.tiles
           COMMAND train_text "${PROJECT_SOURCE_DIR}/LICENSE" --validation-bytes 512 --hidden 16 --layers 2 --seq 8 --batch 8
                   --steps 2 --strategy ep-tp --ranks 4 --tiles *.experts.* --f64 --compare)
  set_tests_properties(example.train_text.tiles PROPERTIES LABELS example TIMEOUT 300 PASS_REGULAR_EXPRESSION
                       "within the tolerance 1e-09")
  hyperparallel_add_refusal(train_text missing_checkpoint 1 "cannot read 'missing.safetensors'"
                            --resume missing.safetensors)
  hyperparallel_add_refusal(train_text damaged_checkpoint 1 "cannot read 'empty.txt'" --resume empty.txt)
endif()

# One sentence for each cause: no such model, too little memory, nothing that is legal.
if(TARGET hp)
  set(llama "${CMAKE_CURRENT_SOURCE_DIR}/configs/llama3_8b.json")
  hyperparallel_add_refusal(hp plan.from_other_sizes 2 "line 9: --num-layers 80: the config.json has 32" plan "${llama}" --devices 64
                            --from "${CMAKE_CURRENT_SOURCE_DIR}/launch/llama3_70b.sh")
  hyperparallel_add_refusal(hp plan.from_other_world 2 "line 1: --nproc_per_node 8: with 8 nodes these are 64 devices; --devices is 16"
                            plan "${llama}" --devices 16 --from "${CMAKE_CURRENT_SOURCE_DIR}/launch/world.args")
  # What can be read and is not legal is an answer of hp check; what cannot be read is none.
  hyperparallel_add_late_refusal(hp check.contradiction /dev/null 1
    "line 2: --tensor-model-parallel-size 3: tp=3 x pp=1 x cp=1 are 3 devices, of which 16 is no multiple" check "${llama}"
    --devices 16 --from "${CMAKE_CURRENT_SOURCE_DIR}/launch/tensors_of_three.args")
  hyperparallel_add_late_refusal(hp check.other_sizes /dev/null 1 "line 9: --num-layers 80: the config.json has 32" check "${llama}"
                                 --devices 64 --from "${CMAKE_CURRENT_SOURCE_DIR}/launch/llama3_70b.sh")
  hyperparallel_add_late_refusal(hp check.heads /dev/null 1 "not legal: tp=16 does not divide key and value heads, 8" check "${llama}" --devices 16
                                 --from "${CMAKE_CURRENT_SOURCE_DIR}/launch/more_ranks_than_heads.args")
  hyperparallel_add_refusal(hp check.no_file 2 "cannot read 'missing.sh': No such file" check "${llama}" --devices 16 --from missing.sh)
  hyperparallel_add_refusal(hp check.no_line 2 "--from is required" check "${llama}" --devices 16)
  hyperparallel_add_refusal(hp check.no_line_of_any 2 "none of its names is one of the Trainer" check "${llama}" --devices 16 --from
                            "${CMAKE_CURRENT_SOURCE_DIR}/configs/llama3_8b.json")
  hyperparallel_add_number_refusals("hp;check" "whole number from" --devices --sequence)
  set(launch "${CMAKE_CURRENT_SOURCE_DIR}/launch")
  hyperparallel_add_refusal(hp plan.from_no_sequence 2 "ds_z1.json': it says no length of sequences" plan "${llama}" --devices 8
                            --from "${launch}/trainer/ds_z1.json")
  hyperparallel_add_refusal(hp plan.from_other_batch 2
                            "line 11: deepspeed.train_batch_size 64: is not 2 sequences of a device x 4 accumulations x 16 devices"
                            plan "${llama}" --devices 16 --from "${launch}/llamafactory/llama3_full_z2_inline.yaml")
  hyperparallel_add_refusal(hp plan.from_model 2 "none of its names is one of the Trainer" plan "${llama}" --devices 8 --from "${llama}")
  hyperparallel_add_refusal(hp plan.from_toml_twice 2 "line 4: Error while parsing key-value pair: cannot redefine existing integer 'tensor_parallel_degree'"
                            plan "${llama}" --devices 16 --from "${CMAKE_CURRENT_SOURCE_DIR}/launch/twice.toml")
  hyperparallel_add_refusal(hp plan.from_toml_of_other_devices 2
                            "line 13: parallelism.tensor_parallel_degree 8: replicate=1 x tp=8 x pp=1 x cp=1 are 8 devices, of which 12 is no multiple"
                            plan "${llama}" --devices 12 --from "${CMAKE_CURRENT_SOURCE_DIR}/launch/llama3_70b.toml")
  hyperparallel_add_refusal(hp plan.from_no_toml 2 "cannot read 'none.toml'" plan "${llama}" --devices 16 --from none.toml)
  hyperparallel_add_refusal(hp plan.from_and_fix 2 "--fix excludes --from" plan "${llama}" --devices 16 --fix tp=2 --from none.sh)
  hyperparallel_add_refusal(hp plan.devices 2 "tp=8 x dp=4 are 32 devices" plan "${llama}" --devices 16 --fix
                            tp=8,dp=4)
  hyperparallel_add_late_refusal(hp plan.divisors /dev/null 1 "tp=16 does not divide key and value heads, 8" plan
                                 "${llama}" --devices 16 --fix tp=16)
  hyperparallel_add_refusal(hp plan.too_many_operations 2 "the plan is not counted: a step takes 26 days or more"
                            plan "${llama}" --devices 16 --fix tp=8 --batch 1000000 --sequence 1000000)
  hyperparallel_add_late_refusal(hp plan.uncounted /dev/null 1 "no plan that fits was found; 37 plans were not counted"
                                 plan "${llama}" --devices 1 --batch 1000000 --sequence 1000000 --memory 200000GiB)
  hyperparallel_add_number_refusals("hp;plan" "whole number from" --devices --batch --sequence --effort --why)
  hyperparallel_add_late_refusal(hp plan.none_fits /dev/null 1 "legal plans fits into 64.0 GiB a device" plan "${llama}"
                                 --devices 1)
  set(omni_groups "${PROJECT_SOURCE_DIR}/examples/omni_modal/groups.json")
  hyperparallel_add_refusal(hp plan.groups_missing 2 "cannot read 'none.json'" plan "${llama}" --devices 8 --groups none.json)
  hyperparallel_add_refusal(hp plan.groups_of_another_model 2 "--groups: operator embedding belongs to none of the 4 modules" plan "${llama}"
                            --devices 8 --groups "${omni_groups}")
  hyperparallel_add_refusal(hp plan.groups_of_more_ranks 2 "groups.json is of 6 ranks, --devices are 4" plan "${llama}" --devices 4
                            --groups "${omni_groups}")
  hyperparallel_add_refusal(hp plan.groups_and_degrees 2 "--fix: --groups takes micro_batches alone" plan "${llama}" --devices 8 --fix tp=8
                            --groups search)
  hyperparallel_add_refusal(hp plan.groups_of_no_strategy 2 "--strategies: no strategy is called 'dq'" plan "${llama}" --devices 8
                            --groups search --strategies dq)
  hyperparallel_add_refusal(hp plan.groups_and_micro_batches 2 "--fix: 5 micro-batches do not divide the batch of 32" plan "${llama}" --devices 8
                            --fix micro_batches=5 --groups search)
  hyperparallel_add_refusal(hp plan.groups_page 2 "--groups: has no page" plan "${llama}" --devices 8 --groups search --html page.html)
  hyperparallel_add_refusal(hp plan.why_of_one 2 "--why: compares plans of a search" plan "${llama}" --devices 8 --fix tp=8
                            --why 2)
  hyperparallel_add_refusal(hp plan.why_of_none 2 "--why: there are " plan "${llama}" --devices 7 --why 6)
  # A search that is told to end tells what it has. SIGTERM stands for Ctrl-C, which processes in the background ignore;
  # it has to come once, a second one ends the process.
  add_test(NAME refusal.hp.plan.interrupted
           COMMAND sh -c "timeout --foreground --preserve-status -s TERM 2 \"$0\" plan \"$1\" --devices 8192 --effort 200 2>&1"
                   "$<TARGET_FILE:hp>" "${CMAKE_CURRENT_SOURCE_DIR}/configs/deepseek_v3.json")
  set_tests_properties(refusal.hp.plan.interrupted PROPERTIES LABELS example TIMEOUT 300 PASS_REGULAR_EXPRESSION
                       "ended by Ctrl-C (with [1-9][0-9]* plans left|while legal plans were listed)")  # on a busy machine
  hyperparallel_add_refusal(hp plan.html_into_no_folder 2 "cannot write 'missing/plan.html'" plan "${llama}" --devices 16 --html
                            missing/plan.html)
  hyperparallel_add_refusal(hp plan.html_exists 2 "llama3_8b.json' exists; --force overwrites it" plan "${llama}" --devices 16
                            --html "${llama}")
  hyperparallel_add_refusal(hp plan.no_file 2 "cannot read 'missing.json'" plan missing.json --devices 4)
  hyperparallel_add_refusal(hp plan.unknown_hardware 2 "--hardware: 'h1000' is not known; known: matrix384, ascend_910b" plan
                            "${llama}" --devices 4 --hardware h1000)
  hyperparallel_add_refusal(hp plan.no_hardware_file 2 "cannot read 'missing.json'" plan "${llama}" --devices 4 --hardware
                            missing.json)
  hyperparallel_add_refusal(hp plan.other_file 2 "llama3_8b.json': device is missing" plan "${llama}" --devices 4 --hardware
                            "${llama}")
  hyperparallel_add_refusal(hp plan.too_few_devices 2 "within a span of 16 are to work together, link level 0, the outermost, joins groups of 2"
                            plan "${llama}" --devices 16 --hardware ascend_910c_die)
  hyperparallel_add_refusal(hp plan.unknown_convention 2 "--convention: calculon not in {megatron_2022}" plan "${llama}" --devices 4
                            --convention calculon)
  hyperparallel_add_refusal(hp plan.unknown_stack 2 "--stack: 'fairscale' is not known; known: library, megatron, deepspeed, fsdp2, fsdp2_compiled, transformers" plan
                            "${llama}" --devices 4 --stack fairscale)
  hyperparallel_add_refusal(hp plan.unknown_precision 2 "--precision: 'fp6' is not known; known: f32, bf16, fp8, mxfp8, nvfp4, bf16_states16, bf16_states8, fp8_states16, fp8_states8" plan "${llama}"
                            --devices 4 --precision fp6)
  hyperparallel_add_refusal(hp plan.precision_without_rate 2 "--precision fp8: the device of a100 states no rate of fp8" plan "${llama}"
                            --devices 4 --hardware a100 --precision fp8)
  hyperparallel_add_refusal(hp plan.precision_of_stack 2 "--precision: 'fp8' is not one of --stack fsdp2; it has: bf16" plan "${llama}"
                            --devices 4 --fix zero=3 --stack fsdp2 --precision fp8)
  hyperparallel_add_late_refusal(hp plan.module_of_no_layer /dev/null 1 "recompute: no layer of the model has moe_act" plan "${llama}" --devices 4
                            --fix recompute=moe_act)
  hyperparallel_add_refusal(hp plan.unknown_module 2 "--fix: 'recompute=norm' is neither none, selective, full nor modules joined by" plan
                            "${llama}" --devices 4 --fix recompute=norm)
  hyperparallel_add_refusal(hp plan.unknown_schedule 2 "--fix: 'schedule=zb-x' names no schedule; known: GPipe, 1F1B" plan "${llama}" --devices 4
                            --fix pp=2,schedule=zb-x)
  hyperparallel_add_refusal(hp plan.stack_of_stages 2 "--stack fsdp2 has no rule for pipeline stages: pp=1 alone" plan "${llama}" --devices 4
                            --fix pp=2,zero=3 --stack fsdp2)
  hyperparallel_add_refusal(hp plan.stack_of_context 2 "--stack fsdp2 has no rule for context parallelism of experts" plan
                            "${CMAKE_CURRENT_SOURCE_DIR}/configs/qwen3_30b_a3b.json" --devices 4 --fix cp=2,zero=3 --stack fsdp2)
  hyperparallel_add_refusal(hp plan.stack_of_replicas 2 "--stack fsdp2 has no rule for parameters that every rank holds: zero=2 and zero=3"
                            plan "${llama}" --devices 4 --fix dp=4 --stack fsdp2)
  hyperparallel_add_refusal(hp plan.stack_of_devices 2 "--stack transformers has no rule for several devices: one alone" plan "${llama}"
                            --devices 4 --fix zero=3 --stack transformers)
  hyperparallel_add_refusal(hp plan.stack_and_convention 2 "--convention: is held against the account of --stack library, not of --stack fsdp2"
                            plan "${llama}" --devices 4 --fix zero=3 --stack fsdp2 --convention megatron_2022)
  # A run that says nothing, or contradicts itself.
  foreach(measured IN ITEMS "no_plan|names no plan, and neither does --fix||step=1"
                            "nothing|names neither step nor memory|tp=8|batch=8:"
                            "unknown|'seconds=1' is neither step=SECONDS nor memory=BYTES|tp=8|seconds=1"
                            "time|'step=1h' is no time of a step|tp=8|step=1h"
                            "no_time|'step=0' is no time of a step|tp=8|step=0"
                            "endless_time|'step=nan' is no time of a step|tp=8|step=nan"
                            "bytes|'memory=61GB' is no amount of memory|tp=8|memory=61GB"
                            "twice|'step=2' contradicts the step before it|tp=8|step=1,step=2"
                            "number|'devices=0' is no whole number from 1 to 16384|tp=8|devices=0:step=1"
                            "divisors|tp=16 does not divide key and value heads, 8|tp=8|tp=16:step=1"
                            "devices|tp=3 are 3 devices, of which --devices, 16, is no multiple|tp=8|tp=3:step=1"
                            "fix|'tp=4' contradicts the tp before it|tp=8|tp=8,tp=4:step=1"
                            "sheet|a step of 1.000 ms is below 69.735 ms, the least by data sheet|tp=8|step=1ms"
                            "factor|a step of 100.000 s has computing take 642 of what is predicted|tp=8|step=100"
                            "device|90.0 GiB are more than a device has, 64.0 GiB|tp=8|memory=90GiB"
                            "states|1.0 GiB are less than 11.2 GiB, which parameters and states of the plan take|tp=8|memory=1GiB")
    string(REPLACE "|" ";" measured "${measured}")
    list(GET measured 0 measured_name)
    list(GET measured 1 measured_says)
    list(GET measured 2 measured_fix)
    list(GET measured 3 measured_text)
    set(measured_fixes "")
    if(measured_fix)
      set(measured_fixes --fix "${measured_fix}")
    endif()
    hyperparallel_add_refusal(hp plan.measured.${measured_name} 2 "hp plan: --measured: ${measured_says}" plan "${llama}" --devices 16
                              ${measured_fixes} --measured "${measured_text}")
  endforeach()
  hyperparallel_add_refusal(hp plan.measured.stack 2 "--measured: --stack fsdp2 has no rule for pipeline stages: pp=1 alone" plan "${llama}"
                            --devices 4 --stack fsdp2 --fix zero=3 --measured pp=2,zero=3:step=1)
  hyperparallel_add_refusal(hp plan.measured.beyond_states 2 "--measured: a device has less than 89.7 GiB, which parameters and states of the plan take"
                            plan "${llama}" --devices 1 --hardware h100 --fix dp=1 --measured step=6)
  hyperparallel_add_late_refusal(hp serve.divisors /dev/null 1 "tp=3 does not divide attention heads, 32" serve "${llama}"
                                 --devices 3 --fix tp=3)
  hyperparallel_add_late_refusal(hp serve.does_not_fit /dev/null 1 "GiB of 64.0 GiB of HBM, 79.9 GiB are missing" serve "${llama}"
                                 --devices 1 --context 1000000)
  hyperparallel_add_late_refusal(hp serve.dram_does_not_fit /dev/null 1 "GiB of 96.0 GiB of DRAM, 26.1 GiB are missing" serve
                                 "${llama}" --devices 1 --context 1000000 --offload 32)
  hyperparallel_add_refusal(hp serve.positions 2 "context is 4096; expected at most 2048" serve
                            "${CMAKE_CURRENT_SOURCE_DIR}/configs/gpt_22b.json" --devices 1)
  hyperparallel_add_refusal(hp serve.other_degree 2 "--fix: 'cp=2' names nothing that can be fixed; known: tp, pp, dp, ep" serve
                            "${llama}" --devices 2 --fix cp=2)
  hyperparallel_add_refusal(hp serve.unknown_format 2 "hqq.json: quant_method \"hqq\" is not known; known: fp8, fbgemm_fp8" serve
                            "${CMAKE_CURRENT_SOURCE_DIR}/configs/hqq.json" --devices 1)
  hyperparallel_add_refusal(hp serve.no_dram 2 "hbm_alone.json has no DRAM behind HBM" serve "${llama}" --devices 4
                            --hardware "${CMAKE_CURRENT_SOURCE_DIR}/configs/hbm_alone.json" --offload 1)
  hyperparallel_add_refusal(hp serve.no_second_dram 2 "host.json has no DRAM behind DRAM" serve "${llama}" --devices 1
                            --hardware "${CMAKE_CURRENT_SOURCE_DIR}/configs/host.json" --offload 32)
  hyperparallel_add_refusal(hp serve.too_many_operations 2 "operations or bytes of a step leave 64 bits" serve
                            "${CMAKE_CURRENT_SOURCE_DIR}/configs/deepseek_v3.json" --devices 1 --context 1048576 --batch 1048576)
  hyperparallel_add_refusal(hp serve.no_file 2 "cannot read 'missing.json'" serve missing.json --devices 4)
  hyperparallel_add_number_refusals("hp;serve" "whole number from" --devices --batch --context --chunk --weights --cache --offload)
  hyperparallel_add_refusal(hp plan.one_file 2 "hp plan: --html and --svg name one file" plan "${llama}" --devices 16 --html plan.svg
                            --svg plan.svg)
  hyperparallel_add_refusal(hp plan.svg_into_no_folder 2 "cannot write 'missing/plan.svg'" plan "${llama}" --devices 16 --svg
                            missing/plan.svg)
  hyperparallel_add_refusal(hp plan.fixed_twice 2 "--fix: is given more than once" plan "${llama}" --devices 16 --fix tp=8 --fix tp=4)
  hyperparallel_add_refusal(hp plan.contradiction 2 "--fix: 'tp=4' contradicts the tp before it" plan "${llama}" --devices 16 --fix
                            tp=8,tp=4)
  hyperparallel_add_refusal(hp plan.reserve 2 "bytes; expected 0, or one as 48M or 2GiB" plan "${llama}"
                            --devices 16 --reserve=-1)
  # Configs that are no models: what stands in place of the width, the whole file where it is cut, and what is said.
  set(configs "${CMAKE_CURRENT_BINARY_DIR}/configs")
  file(READ "${llama}" whole)
  function(hyperparallel_add_config_refusal name said)
    string(REPLACE "\"hidden_size\": 4096" "${ARGN}" text "${whole}")
    file(WRITE "${configs}/${name}.json" "${text}")
    hyperparallel_add_refusal(hp plan.config.${name} 2 "configs/${name}.json': ${said}" plan "${configs}/${name}.json"
                              --devices 16 --fix tp=8)
  endfunction()
  set(width "expected a whole number from 1 to 16777216")
  hyperparallel_add_config_refusal(negative "hidden_size is -1; ${width}" "\"hidden_size\": -1")
  hyperparallel_add_config_refusal(absurd "hidden_size is 9223372036854775807; ${width}" "\"hidden_size\": 9223372036854775807")
  hyperparallel_add_config_refusal(text "hidden_size is \"4096\"; ${width}" "\"hidden_size\": \"4096\"")
  hyperparallel_add_config_refusal(twice "the file names 'hidden_size' twice" "\"hidden_size\": 4096, \"hidden_size\": 8192")
  hyperparallel_add_config_refusal(nan "hidden_size is NaN; ${width}" "\"hidden_size\": NaN")
  hyperparallel_add_refusal(hp config.infinity 2 "time_step_limit is [0.0,Infinity]; a field that is not known of llama and may change its layers"
                            serve "${CMAKE_CURRENT_SOURCE_DIR}/configs/nemotron_infinity.json" --devices 1 --hardware h200)
  hyperparallel_add_config_refusal(infinite "the file has a number that no double holds: '1e400' behind 'hidden_size'"
                                   "\"hidden_size\": 1e400")
  hyperparallel_add_config_refusal(unknown_field "frobnicate is 7; a field that is not known of llama and may change its layers"
                                   "\"hidden_size\": 4096, \"frobnicate\": 7")
  string(SUBSTRING "${whole}" 0 120 whole)
  hyperparallel_add_config_refusal(cut "the file is not JSON (byte 121 behind 'num_hidden_layers')" "\"hidden_size\": 4096")
  hyperparallel_add_refusal(hp plan.config.folder 2 "configs': Is a directory" plan "${configs}" --devices 16 --fix tp=8)
  hyperparallel_add_refusal(hp replay.endless 2 "cannot read '/dev/zero': the file is larger than 268435456 bytes" replay /dev/zero)
  set(traces "${CMAKE_CURRENT_BINARY_DIR}/traces")
  file(WRITE "${traces}/no_events.json" "{\"events\": []}")
  file(WRITE "${traces}/no_spans.json" "{\"traceEvents\": [{\"ph\": \"i\"}]}")
  file(WRITE "${traces}/negative.json"
       "{\"traceEvents\": [{\"ph\": \"i\"}, {\"ph\": \"X\", \"pid\": 0, \"tid\": 0, \"name\": \"a\", \"ts\": 1, \"dur\": -1}]}")
  file(WRITE "${traces}/no_row.json" "{\"traceEvents\": [{\"ph\": \"X\", \"pid\": 0, \"name\": \"a\", \"ts\": 1, \"dur\": 1}]}")
  file(WRITE "${traces}/cut.json" "{\"traceEvents\": [{\"ph\": \"X\", ")
  set(days "{\"ph\":\"X\",\"pid\":0,\"tid\":0,\"name\":\"a\",\"ts\":0,\"dur\":999999999999}")
  string(REPEAT ",${days}" 9 more)
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/sched/days.json" "{\"traceEvents\":[${days}${more}]}")
  hyperparallel_add_refusal(hp trace.days 2 "traceEvents[9].dur: the spans together take more than 64 bits of picoseconds" trace
                            "${CMAKE_CURRENT_BINARY_DIR}/sched/days.json")
  # Rows that hp truth cannot read are skipped, and the first is a line behind what it prints of the others.
  set(truths "${CMAKE_CURRENT_BINARY_DIR}/truths")
  set(run "\"family\": \"f\", \"nature\": \"measured\", \"model\": {}, \"hardware\": {}, \"value\": 1")
  file(WRITE "${truths}/cut.jsonl" "{\"id\": ")
  file(WRITE "${truths}/list.jsonl" "\n[]\n")
  file(WRITE "${truths}/no_id.jsonl" "{${run}, \"quantity\": \"step_time\", \"config\": {}}\n")
  file(WRITE "${truths}/quantity.jsonl" "{${run}, \"id\": \"a\", \"quantity\": \"furlongs\", \"config\": {}}\n")
  file(WRITE "${truths}/degree.jsonl"
       "{${run}, \"id\": \"a\", \"quantity\": \"step_time\", \"config\": {\"tp\": 1.5}}\n{\"id\": \"b\"}\n")
  file(WRITE "${truths}/large.jsonl" "{${run}, \"id\": \"a\", \"quantity\": \"step_time\", \"config\": {\"tp\": 2097152}}\n")
  file(WRITE "${truths}/split.jsonl" "{${run}, \"id\": \"a\", \"quantity\": \"rl_step_s\", \"config\": {\"trainer\": 1.5}}\n")
  hyperparallel_add_late_refusal(hp truth.split /dev/null 2 "split.jsonl:1: a: trainer is 1.5; expected a whole number of at most 2^24" truth
                                 "${truths}/split.jsonl")
  hyperparallel_add_refusal(hp truth.print_without_marks 2 "has no lines <!-- hp truth prints --> and <!-- until here -->" truth --print
                            "${CMAKE_CURRENT_SOURCE_DIR}/vectors/README.md" "${CMAKE_CURRENT_SOURCE_DIR}/vectors/truth_rows.jsonl")
  hyperparallel_add_refusal(hp truth.fit_without_table 2 "has no table of fitted shares, as hardware/fitted_shares.hpp has" truth --fit
                            "${CMAKE_CURRENT_SOURCE_DIR}/vectors/truth_rows.jsonl" "${CMAKE_CURRENT_SOURCE_DIR}/vectors/truth_rows.jsonl")
  hyperparallel_add_refusal(hp truth.no_file 2 "hp truth: no file is named; usage: hp truth FILE.jsonl" truth)
  hyperparallel_add_refusal(hp truth.html_into_no_folder 2 "cannot write 'missing/truth.html'" truth empty.txt --html missing/truth.html)
  hyperparallel_add_refusal(hp truth.html_names_input 2 "hp truth: --html names '${truths}/cut.jsonl', which is read" truth
                            "${truths}/cut.jsonl" --html "${truths}/cut.jsonl" --force)
  hyperparallel_add_refusal(hp truth.missing 2 "hp truth: cannot read 'missing.jsonl': No such file" truth missing.jsonl)
  hyperparallel_add_refusal(hp truth.empty 2 "hp truth: cannot read 'empty.txt'" truth empty.txt)
  hyperparallel_add_refusal(hp truth.cut 2 "truths/cut.jsonl:1: malformed JSON" truth "${truths}/cut.jsonl")
  hyperparallel_add_refusal(hp truth.list 2 "truths/list.jsonl:2: malformed JSON" truth "${truths}/list.jsonl")
  hyperparallel_add_late_refusal(hp truth.no_id /dev/null 2 "no_id.jsonl:1: key 'id' is missing" truth "${truths}/no_id.jsonl")
  hyperparallel_add_late_refusal(hp truth.quantity /dev/null 2 "quantity.jsonl:1: a: quantity 'furlongs' is not known" truth
                                 "${truths}/quantity.jsonl")
  hyperparallel_add_late_refusal(hp truth.degree /dev/null 2
                                 "degree.jsonl:1: a: tp is 1.5; expected a whole number of at most 2^24 (and 1 more rows)" truth
                                 "${truths}/degree.jsonl")
  hyperparallel_add_late_refusal(hp truth.large /dev/null 2 "a: tp is 2097152; expected a whole number of at most 2^20" truth
                                 "${truths}/large.jsonl")
  hyperparallel_add_refusal(hp trace.no_file 2 "hp trace: no file is named; usage: hp trace FILE.json" trace)
  hyperparallel_add_refusal(hp trace.missing 2 "hp trace: cannot read 'missing.json'" trace missing.json)
  hyperparallel_add_refusal(hp trace.no_events 2 "no_events.json': traceEvents is no list of events" trace "${traces}/no_events.json")
  hyperparallel_add_refusal(hp trace.no_spans 2 "no event is a span" trace "${traces}/no_spans.json")
  hyperparallel_add_refusal(hp trace.negative 2 "traceEvents[1].dur is -1; expected microseconds from 0" trace
                            "${traces}/negative.json")
  hyperparallel_add_refusal(hp trace.no_row 2 "traceEvents[0].tid is missing; expected a whole number" trace "${traces}/no_row.json")
  hyperparallel_add_refusal(hp trace.cut 2 "cut.json': the file is not JSON (byte" trace "${traces}/cut.json")

  hyperparallel_add_refusal(hp offload.unknown_model 2 "hp offload: --model: lama not in {llama,qwen,deepseek,all}" offload
                            --model lama)
  hyperparallel_add_number_refusals("hp;offload" "whole number from" --devices --sequences --bandwidth --memory)
  hyperparallel_add_refusal(hp offload.no_value 2 "hp offload: --memory: a value is missing" offload --memory)
  hyperparallel_add_refusal(hp offload.does_not_fit 1 "no plan fits, with or without offload: the smallest takes" offload
                            --model deepseek --devices 8 --memory 1)

  hyperparallel_add_refusal(hp sched.no_command 2 "hp sched: no command is named; known: make, check, draw, list, split" sched)
  hyperparallel_add_refusal(hp sched.unknown_command 2 "hp sched: 'move': no such command; known: make, check, draw, list, split" sched move)
  hyperparallel_add_refusal(hp sched.unknown_option 2 "not expected: --foo; known: --help, NAME, --ranks, --micro-batches"
                            sched make 1F1B --foo)
  hyperparallel_add_refusal(hp sched.make.no_name 2 "no schedule is named; known: GPipe, 1F1B, " sched make)
  hyperparallel_add_refusal(hp sched.make.unknown 2 "'1F2B' is no published schedule; known: GPipe, 1F1B, " sched make 1F2B
                            --ranks 2 --micro-batches 2)
  hyperparallel_add_refusal(hp sched.make.no_ranks 2 "--ranks is missing" sched make 1F1B --micro-batches 2)
  hyperparallel_add_refusal(hp sched.make.few 2 "schedule DualPipeV needs at least 8 micro-batches on 4 ranks, not 6" sched
                            make dualpipev --ranks 4 --micro-batches 6)
  hyperparallel_add_refusal(hp sched.make.chunks 2 "schedule ZB-V has 2 stages on each rank, not 3" sched make ZB-V --ranks 4
                            --micro-batches 8 --chunks 3)
  hyperparallel_add_refusal(hp sched.make.too_large 2 "the table has more than 16777216 cells" sched make 1F1B --ranks 64
                            --micro-batches 1048576)
  hyperparallel_add_refusal(hp sched.make.exists 2 "'empty.txt' exists; --force overwrites it" sched make 1F1B --ranks 2
                            --micro-batches 2 --output empty.txt)
  hyperparallel_add_refusal(hp sched.make.no_folder 2 "cannot write 'missing/x.csv': No such file or directory" sched make
                            1F1B --ranks 2 --micro-batches 2 --output missing/x.csv)
  hyperparallel_add_number_refusals("hp;sched;make" "whole number from" --ranks --micro-batches --chunks)
  set(tables "${CMAKE_CURRENT_BINARY_DIR}/sched")  # of hp.cmake
  hyperparallel_add_refusal(hp sched.check.no_file 2 "no file is named; '-' is standard input" sched check)
  hyperparallel_add_refusal(hp sched.check.missing 2 "cannot read 'missing.csv': No such file or directory" sched check missing.csv)
  hyperparallel_add_refusal(hp sched.check.empty 2 "cannot read 'empty.txt': the file is empty" sched check empty.txt --json)
  hyperparallel_add_refusal(hp sched.check.garbage 2
                            "garbage.csv': row 2, column 2 (rank 1): '1B0xyz' is no action: garbage after 1B0" sched check
                            "${tables}/garbage.csv")
  hyperparallel_add_refusal(hp sched.check.idle 2 "idle.csv': the table holds no action" sched check "${tables}/idle.csv")
  hyperparallel_add_refusal(hp sched.check.unsafe 1 "the schedule is not safe: the ranks wait for each other for ever under unbounded buffers: "
                            sched check "${tables}/circle.csv")
  # A table that hangs without transfers says so under every transport.
  hyperparallel_add_refusal(hp sched.check.unsafe.placed 1
                            "the ranks wait for each other for ever under unbounded buffers: rank 1 stands at 1B0 and" sched
                            check "${tables}/circle.csv" --transport blocking)
  foreach(program IN ITEMS both_send send_against_gradient)
    hyperparallel_add_refusal(hp sched.check.${program} 1 "the schedule is not safe: rank 0 never runs 0F0" sched check
                              "${tables}/${program}.csv" --transport blocking)
  endforeach()
  hyperparallel_add_refusal(hp sched.check.both_send.whole 1
    "wait for each other for ever under blocking rows: rank 0 stands at 0SEND_F1 and waits for 1RECV_F1, rank 1 stands at 1SEND_F0 and waits for 2RECV_F0"
    sched check "${tables}/both_send_whole.csv" --transport blocking)
  hyperparallel_add_refusal(hp sched.check.send_against_gradient.whole 1
    "wait for each other for ever under blocking rows: rank 0 stands at 0SEND_F2 and waits for 1RECV_F2, rank 1 stands at 3SEND_B0 and waits for 2RECV_B0"
    sched check "${tables}/send_against_gradient_whole.csv" --transport blocking)
  hyperparallel_add_refusal(hp sched.check.crossed 1
    "two ranks send and receive in different orders: rank 0 stands at 0SEND_F0 and waits for 1RECV_F0" sched check
    "${tables}/crossed.csv")
  hyperparallel_add_refusal(hp sched.check.no_receive 1 "rank 1 never runs 1RECV_F0, the other end of a message" sched check
                            "${tables}/no_receive.csv")
  foreach(transport IN ITEMS queues buffered buffered=0 buffered=x)
    hyperparallel_add_refusal(hp sched.check.transport.${transport} 2
                              "--transport: '${transport}' is no transport; known: unbounded, ordered, buffered=K" sched check
                              "${tables}/circle.csv" --transport ${transport})
  endforeach()
  hyperparallel_add_refusal(hp sched.check.action_missing 1 "the schedule is not safe: rank 1 never runs 1F0" sched check
                            "${tables}/missing.csv" --micro-batches 2)
  file(WRITE "${tables}/no_backward.csv" "0F0,0F1,0B0,0B1\n1F0,1F1,1B1\n")
  hyperparallel_add_refusal(hp sched.check.no_backward 1 "the schedule is not safe: rank 1 never runs 1B0" sched check
                            "${tables}/no_backward.csv")
  hyperparallel_add_refusal(hp sched.check.elsewhere 1 "rank 1 runs 0F0, but that stage lies on rank 0" sched check
                            "${tables}/elsewhere.csv")
  hyperparallel_add_refusal(hp sched.check.placement 2 "--placement: zigzag not in {loop,v,both,inferred}" sched check
                            "${tables}/circle.csv" --placement zigzag)
  foreach(times IN ITEMS 1,2 1,2,3,4 1,-2,3 x)
    hyperparallel_add_refusal(hp sched.check.times.${times} 2 "--times: '${times}' is no three whole numbers from 0 to" sched
                              check "${tables}/circle.csv" --times ${times})
  endforeach()
  hyperparallel_add_refusal(hp sched.split.no_layers 2 "hp sched: --layers is missing" sched split --stages 4)
  hyperparallel_add_refusal(hp sched.split.no_stages 2 "hp sched: --stages is missing" sched split --layers 4)
  hyperparallel_add_refusal(hp sched.split.few 2 "3 layers are too few for 5 stages of torch, of which the first alone may have none"
                            sched split --layers 3 --stages 5 --format torch)
  foreach(refused IN ITEMS "tL/one E stands first" "EEtL/one E stands first" "Et/one L stands last" "E|L|t/one L stands last"
                           "E(t|L/'(' begins no" "Et*L/'*' is not followed by a number" "ExL/a character is none of E, t, m, L"
                           "Em|tL/t stands behind m" "Em|mL/m stands on two stages" "Et*9999L/there are more than 4096 layers"
                           "E(t*9999)*9999L/the layout is longer than 16384 characters")
    string(REPLACE "/" ";" parts "${refused}")
    list(GET parts 0 layout)
    list(GET parts 1 words)
    string(MAKE_C_IDENTIFIER "${layout}" case)
    hyperparallel_add_refusal(hp sched.split.check.${case} 2 "${words}" sched split --check "${layout}")
  endforeach()
  hyperparallel_add_refusal(hp sched.split.check.layers 2 "--layers 4, but the layout of --check has 2 layers" sched split --check
                            "Et|tL" --layers 4)
  hyperparallel_add_refusal(hp sched.split.check.stages 2 "--stages 3, but the layout of --check has 2 stages" sched split --check
                            "Et|tL" --stages 3)
  hyperparallel_add_refusal(hp sched.split.weights 2 "--weights has 2 numbers for 3 layers" sched split --layers 3 --stages 2
                            --weights 1,2)
  hyperparallel_add_refusal(hp sched.split.no_weights 2 "--weights: '1,-2' is no list of whole numbers from 0 to" sched split
                            --stages 2 --weights 1,-2)
  hyperparallel_add_refusal(hp sched.split.format 2 "--format: zigzag not in {megatron,torch}" sched split --layers 4
                            --stages 2 --format zigzag)
  hyperparallel_add_number_refusals("hp;sched;split" "whole number from" --layers --stages --embedding --loss)
  hyperparallel_add_number_refusals("hp;sched;check" "whole number from" --micro-batches --latency --overlapped)
  hyperparallel_add_refusal(hp sched.draw.nothing 2 "no file and no schedule is named; '-' is standard input; known: GPipe, " sched draw)
  hyperparallel_add_refusal(hp sched.draw.unknown 2 "'1F2B' is no file and no published schedule; known: GPipe, " sched draw 1F2B)
  hyperparallel_add_refusal(hp sched.draw.no_ranks 2 "--ranks is missing" sched draw 1F1B --micro-batches 2)
  hyperparallel_add_refusal(hp sched.draw.few 2 "schedule DualPipeV needs at least 8 micro-batches on 4 ranks, not 6" sched draw
                            dualpipev --ranks 4 --micro-batches 6)
  hyperparallel_add_refusal(hp sched.draw.ranks_of_file 2 "--ranks and --chunks go with a name" sched draw "${tables}/circle.csv"
                            --ranks 2)
  hyperparallel_add_refusal(hp sched.draw.placement_of_name 2 "--placement goes with a table" sched draw ZB-V --ranks 4
                            --micro-batches 8 --placement v)
  hyperparallel_add_refusal(hp sched.draw.garbage 2 "garbage.csv': row 2, column 2 (rank 1): '1B0xyz' is no action" sched draw
                            "${tables}/garbage.csv")
  hyperparallel_add_refusal(hp sched.draw.idle 2 "idle.csv': the table holds no action" sched draw "${tables}/idle.csv")
  hyperparallel_add_refusal(hp sched.draw.unsafe 1 "the schedule is not safe: the ranks wait for each other for ever: " sched
                            draw "${tables}/circle.csv")
  hyperparallel_add_refusal(hp sched.draw.elsewhere 1 "the schedule is not safe: rank 1 runs 0F0, but that stage lies on rank 0"
                            sched draw "${tables}/elsewhere.csv")
  hyperparallel_add_refusal(hp sched.draw.exists 2 "'empty.txt' exists; --force overwrites it" sched draw 1F1B --ranks 2
                            --micro-batches 2 --svg empty.txt)
  # One file in two spellings, through links, and links of a folder; what is read is not written.
  set(linked "${CMAKE_CURRENT_BINARY_DIR}/sched")
  file(MAKE_DIRECTORY "${linked}/folder")
  file(CREATE_LINK "not_there.svg" "${linked}/dangling.svg" SYMBOLIC)
  file(CREATE_LINK "folder" "${linked}/other_folder" SYMBOLIC)
  foreach(pair IN ITEMS "x.svg ./x.svg" "x.svg ../hp.sched.draw.same.0/x.svg" "${linked}/not_there.svg ${linked}/dangling.svg"
                        "${linked}/folder/x ${linked}/other_folder/x" "${linked}/other_folder/../dangling.svg ${linked}/not_there.svg")
    string(REPLACE " " ";" pair "${pair}")
    list(GET pair 0 one)
    list(GET pair 1 other)
    string(MD5 key "${pair}")
    string(SUBSTRING "${key}" 0 6 key)
    if(other MATCHES "same.0")
      set(key 0)  # the folder in which the test runs
    endif()
    hyperparallel_add_refusal(hp sched.draw.same.${key} 2 "hp sched: --svg and --html name one file" sched draw 1F1B --ranks 2
                              --micro-batches 2 --svg "${one}" --html "${other}" --force)
  endforeach()
  hyperparallel_add_refusal(hp sched.draw.input 2 "hp sched: --html names '${linked}/safe.csv', which is read" sched draw
                            "${linked}/safe.csv" --html "${linked}/folder/../safe.csv" --force)
  hyperparallel_add_refusal(hp plan.input 2 "which is read" plan "${llama}" --devices 16 --html "${llama}" --force)
  hyperparallel_add_refusal(hp sched.draw.one_file 2 "--svg and --trace name one file" sched draw 1F1B --ranks 2
                            --micro-batches 2 --svg x.svg --trace x.svg)
  hyperparallel_add_refusal(hp sched.draw.too_many 2 "the schedule has 22000 actions, and a drawing takes 20000 at most" sched draw
                            GPipe --ranks 11 --micro-batches 1000 --svg x.svg)
  hyperparallel_add_number_refusals("hp;sched;draw" "whole number from" --ranks --micro-batches --chunks --width --latency --overlapped)
endif()

# One argument of a good command line is replaced, or more are added.
function(hyperparallel_add_explain_refusal name expect)
  set(good --mesh x=2,y=4 --from x,None --to y,None --shape 64x64 --dtype f32)
  set(rest ${ARGN})
  while(rest)
    list(POP_FRONT rest option value)
    list(FIND good ${option} at)
    if(at EQUAL -1)
      list(APPEND good ${option} ${value})
    elseif(value STREQUAL "-")
      list(REMOVE_AT good ${at})
      list(REMOVE_AT good ${at})
    else()
      math(EXPR at "${at} + 1")
      list(REMOVE_AT good ${at})
      list(INSERT good ${at} "${value}")
    endif()
  endwhile()
  hyperparallel_add_refusal(hp explain.${name} 2 "${expect}" explain ${good})
endfunction()

if(TARGET hp)
  hyperparallel_add_refusal(hp no_command 2 "hp: no command is named; known: explain, replay, tables, plan, check, serve, offload, sched, trace, truth")
  hyperparallel_add_refusal(hp unknown_command 2 "hp: 'move': no such command; known: explain, replay, tables, plan, check, serve, offload, sched, trace, truth" move)
  hyperparallel_add_refusal(hp unknown_option 2 "hp: The following argument was not expected: --move; known: --help" --move)
  hyperparallel_add_refusal(hp explain.no_value 2 "hp explain: --dtype: a value is missing" explain --dtype)
  hyperparallel_add_explain_refusal(missing_option "--dtype is missing; expected the type" --dtype -)
  hyperparallel_add_explain_refusal(unknown_option "--no-such-option; known: --help, --mesh" --no-such-option 1)
  hyperparallel_add_explain_refusal(mesh_without_size "--mesh 'x=2,y': 'y' has no size; expected" --mesh x=2,y)
  hyperparallel_add_explain_refusal(mesh_of_nothing "--mesh 'x=2,y=0': '0' is no size of an axis, a whole number from 1 to 2147483647" --mesh x=2,y=0)
  hyperparallel_add_explain_refusal(mesh_name "--mesh '2=x': '2' is no name" --mesh 2=x)
  hyperparallel_add_explain_refusal(mesh_name_twice "an axis name is used twice (axis x)" --mesh x=2,x=4)
  hyperparallel_add_explain_refusal(mesh_too_large "more than 2^30 positions (axis y)" --mesh x=65536,y=65536)
  hyperparallel_add_explain_refusal(unknown_axis "--from 'z,None': 'z' is no axis of the mesh; expected None or an axis: x, y"
                                    --from z,None)
  hyperparallel_add_explain_refusal(axis_twice "--to 'y,(x,y)': axis y is used twice (dim 1, place 1)" --to "y,(x,y)")
  hyperparallel_add_explain_refusal(open_bracket "--to 'y,(x': '(x' is no entry of a map" --to "y,(x")
  hyperparallel_add_explain_refusal(empty_entry "--to 'y,': '' is no entry of a map" --to "y,")
  hyperparallel_add_explain_refusal(map_length "--from 'x': 1 entry for the shape (64, 64)" --from x)
  hyperparallel_add_explain_refusal(extent_does_not_divide
    "--to 'y,None': dim 0 of extent 66 does not divide by its 4 shards; expected a multiple of 4" --shape 66x64)
  hyperparallel_add_explain_refusal(shape_text "--shape '64xa': 'a' is no extent; expected extents as in 64x64"
                                    --shape 64xa)
  hyperparallel_add_explain_refusal(negative_extent "--shape '4x-4': '-4' is no extent" --shape 4x-4)
  hyperparallel_add_explain_refusal(too_many_dims "9 dims; expected at most 8" --shape 1x1x1x1x1x1x1x1x1)
  hyperparallel_add_explain_refusal(too_many_elements "the element count leaves 64 bits" --shape
                                    4294967296x4294967296)
  hyperparallel_add_explain_refusal(too_much_traffic "the traffic leaves 64 bits of elements" --shape
                                    4294967296x1073741824)
  hyperparallel_add_explain_refusal(too_many_bytes "the traffic leaves 64 bits of bytes" --shape 268435456x1073741824
                                    --to None,None --dtype f64)
  hyperparallel_add_explain_refusal(element_type "--dtype 'fp32': no such element type; known: boolean, i8" --dtype
                                    fp32)
  hyperparallel_add_explain_refusal(partial_text "--partial 'x': 'x' names no reduction; expected an axis and one"
                                    --partial x)
  hyperparallel_add_explain_refusal(partial_axis "--partial 'z:sum': 'z' is no axis of the mesh; expected one of: x, y"
                                    --partial z:sum)
  hyperparallel_add_explain_refusal(partial_reduction "'add' is no reduction; expected one of: sum, max" --partial
                                    y:add)
  hyperparallel_add_explain_refusal(partial_axis_shards "--partial 'x:sum': axis x shards dim 0 and is partial" --partial
                                    x:sum)
  hyperparallel_add_explain_refusal(partial_twice "axis y is partial twice" --partial y:sum,y:max)
  hyperparallel_add_explain_refusal(reductions_do_not_commute "along axis y does not commute" --from None,None --partial
                                    x:sum,y:max)
  hyperparallel_add_explain_refusal(ranks_too_few "expected the 8 ranks of the mesh as in 3,1,0,2" --ranks 1,2)
  hyperparallel_add_explain_refusal(rank_twice "a rank is listed twice (position 7)" --ranks 1,2,3,4,5,6,7,7)
  hyperparallel_add_explain_refusal(too_many_transfers "--mesh 'x=16384,y=16384': the move has more transfers" --mesh
                                    x=16384,y=16384 --from "(x,y),None" --to "None,(x,y)" --shape 268435456x268435456)
  hyperparallel_add_explain_refusal(objective "--objective 'speed': no such objective; known: bytes, time" --objective
                                    speed)
  hyperparallel_add_explain_refusal(memory_text "--memory-limit '1kB': no amount of memory; expected one above 0 in B, KiB"
                                    --memory-limit 1kB)
  hyperparallel_add_explain_refusal(memory_limit "no way needs less than 8.0 KiB; expected at least 8192 B" --memory-limit
                                    1KiB)
  hyperparallel_add_explain_refusal(other_mesh "--to-mesh 'x=2,y': 'y' has no size" --to-mesh x=2,y)
  hyperparallel_add_explain_refusal(other_axis "--to 'y,None': 'y' is no axis" --to-mesh x=2)
  hyperparallel_add_explain_refusal(other_shape
    "--to-shape '64x65': the shapes differ in their elements: 4096 and 4160; expected as many as in --shape" --to-shape
    64x65 --to None,None)
  hyperparallel_add_explain_refusal(other_ranks "expected the 8 ranks of the mesh" --to-ranks 1,2)
  hyperparallel_add_explain_refusal(other_mesh_by_time "--objective 'time': to another mesh or shape there is one way"
                                    --to-shape 4096 --to y --objective time)
  hyperparallel_add_explain_refusal(topology
    "--topology 'mars': no such topology; known: matrix384, ascend_910b, " --topology mars)
  hyperparallel_add_explain_refusal(topology_file "llama3_8b.json': device is missing"
                                    --topology "${CMAKE_CURRENT_SOURCE_DIR}/configs/llama3_8b.json")
endif()

# clang's -ffp-contract=fast defines no macro and heeds no pragma.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_executable(fused_kernels "${CMAKE_CURRENT_SOURCE_DIR}/refusals/fused_kernels.cpp")
  target_link_libraries(fused_kernels PRIVATE hyperparallel::core)
  target_compile_options(fused_kernels PRIVATE -O1 -mfma -ffp-contract=fast)
  hyperparallel_add_refusal(fused_kernels before_main 1 "-ffp-contract=fast or a part of -ffast-math changes the bits of kernels")
endif()
