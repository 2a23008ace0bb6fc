# SPDX-License-Identifier: Apache-2.0
#
# What hp prints: refusals are in refusals.cmake, replays in replay.cmake.
if(NOT TARGET hp)
  return()
endif()

function(hyperparallel_add_hp name)
  add_test(NAME hp.${name} COMMAND hp ${ARGN})
  set_tests_properties(hp.${name} PROPERTIES LABELS example TIMEOUT 600)
endfunction()

# With --json: the document has these figures, `path=value` each.
function(hyperparallel_add_hp_json name status)
  cmake_parse_arguments(PARSE_ARGV 2 json "" "" "FIGURES;COMMAND")
  if(Python3_FOUND)
    add_test(NAME hp.${name}.json COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/hp_json.py" ${status}
                                          ${json_FIGURES} -- $<TARGET_FILE:hp> ${json_COMMAND} --json)
    set_tests_properties(hp.${name}.json PROPERTIES LABELS example TIMEOUT 600)
  endif()
endfunction()

# With --html: the page holds what --json prints, and pictures of these kinds.
function(hyperparallel_add_hp_page name status kinds)
  if(Python3_FOUND)
    add_test(NAME hp.${name}.page COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/hp_page.py" ${status} ${kinds}
                                          -- $<TARGET_FILE:hp> ${ARGN})
    set_tests_properties(hp.${name}.page PROPERTIES LABELS example TIMEOUT 600)
  endif()
endfunction()

hyperparallel_add_hp(help --help)
set_tests_properties(hp.help PROPERTIES PASS_REGULAR_EXPRESSION "explain .*replay .*tables .*plan .*check .*serve .*offload .*sched .*trace .*truth .*reshard .*Exit status: 0 good")
foreach(subcommand IN ITEMS explain replay tables plan check serve offload trace truth reshard)
  hyperparallel_add_hp(help.${subcommand} ${subcommand} --help)
  set_tests_properties(hp.help.${subcommand} PROPERTIES PASS_REGULAR_EXPRESSION
                       "--json .*hp ${subcommand} .*Exit status: 0 .*, 1 .*, 2 bad input")
endforeach()

# Checkpoints written and read by a script of its own, kills at random moments, refusals.
if(Python3_FOUND)
  add_test(NAME hp.reshard COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/hp_reshard.py" $<TARGET_FILE:hp>)
  set_tests_properties(hp.reshard PROPERTIES LABELS example TIMEOUT 3600)
endif()

hyperparallel_add_hp(explain explain --mesh x=2,y=4 --from x,None --to "None,(y,x)" --shape 64x64 --dtype f32)
hyperparallel_add_hp_json(explain 0 FIGURES "source.layout=\"(x, None)\"" source.mesh.y=4 kind="exchange" steps.0.kind="pull"
                          certificate.received_by_all_bytes=8192 certificate.least_of_any_program_bytes=8192
                          certificate.peak_bytes=10240 ways.0.seconds links.0.bytes_per_second=10000000000
                          COMMAND explain --mesh x=2,y=4 --from x,None --to "None,(y,x)" --shape 64x64 --dtype f32)
hyperparallel_add_hp_json(explain.other_mesh 0 FIGURES target.mesh.z=8 target.shape=[4096]
                          certificate.received_by_all_bytes certificate.peak_with_source="kept"
                          COMMAND explain --mesh x=2,y=4 --from x,None --to-mesh z=8 --to-shape 4096 --to z --shape 64x64
                                  --dtype f32)

hyperparallel_add_hp_page(explain 0 matrix,matrix,matrix,bars explain --mesh x=2,y=4 --from x,None --to "None,(y,x)"
                          --shape 64x64 --dtype f32)
hyperparallel_add_hp_page(explain.other_mesh 0 matrix,matrix explain --mesh x=2,y=4 --from x,None --to-mesh z=8 --to-shape 4096
                          --to z --shape 64x64 --dtype f32)

set(own "${CMAKE_CURRENT_SOURCE_DIR}/vectors")
hyperparallel_add_hp_json(replay 0 FIGURES passed=85 failed=0 files.0.passed=85 files.0.ours_at_bound=65
                          files.0.theirs_stated=16 files.0.moves.0.id files.0.failures=[]
                          COMMAND replay --table --verbose "${own}/moves.jsonl")
hyperparallel_add_hp_json(replay.wrong 2 FIGURES passed=0 failed=108 files.0.failures.107.reason
                          COMMAND replay --verbose "${own}/wrong_moves.jsonl")

hyperparallel_add_hp(tables tables)
hyperparallel_add_hp_json(tables 0 FIGURES holds=true anchors.0.id="A1" anchors.0.published anchors.0.ours
                          parameters.0.mark COMMAND tables)

set(configs "${CMAKE_CURRENT_SOURCE_DIR}/configs")
hyperparallel_add_hp(plan plan "${configs}/llama3_8b.json" --devices 16 --fix tp=8,dp=2)
# What a launch line says is the plan of --fix with the same degrees; what no figure heeds is named with its line.
set(launch "${CMAKE_CURRENT_SOURCE_DIR}/launch")
hyperparallel_add_hp(plan.base_ten plan "${configs}/llama3_8b.json" --devices 016 --hardware h100 --fix tp=8,dp=002)
set_tests_properties(hp.plan.base_ten PROPERTIES PASS_REGULAR_EXPRESSION "16 devices of h100: tp=8,dp=2;")
hyperparallel_add_hp(plan.from plan "${configs}/llama3_70b.json" --devices 64 --hardware h100 --from "${launch}/llama3_70b.sh")
set_tests_properties(hp.plan.from PROPERTIES PASS_REGULAR_EXPRESSION
  "tp=4,pp=4,dp=4,zero=1,micro_batches=64,schedule=Interleaved1F1B,chunks=4; 256 sequences of 8192 tokens.*not heeded: --overlap-grad-reduce .line 25..*as one plan of all stages: not simulated, 346304 steps or more")
hyperparallel_add_hp(plan.to plan "${configs}/llama3_8b.json" --devices 16 --hardware h100 --fix tp=8,dp=2,zero=1 --precision bf16 --to megatron)
set_tests_properties(hp.plan.to PROPERTIES PASS_REGULAR_EXPRESSION
  "in words of megatron:\n  --tensor-model-parallel-size 8 .*--sequence-parallel .*--use-distributed-optimizer .*--bf16\n")
hyperparallel_add_hp(plan.from.args plan "${configs}/mixtral_8x7b.json" --devices 128 --hardware h100 --from "${launch}/mixtral_8x7b.args")
set_tests_properties(hp.plan.from.args PROPERTIES PASS_REGULAR_EXPRESSION
  "tp=2,pp=4,dp=4,ep=4,zero=1,micro_batches=16,experts_along=tp; 256 sequences.*not heeded: --moe-grouped-gemm .line 7.; --moe-token-dispatcher-type alltoall .line 8.")
# Legal and fits, legal and does not fit, not legal by the sizes of the model, not legal by itself.
hyperparallel_add_hp(check check "${configs}/mixtral_8x7b.json" --devices 128 --hardware h100 --from "${launch}/mixtral_8x7b.args")
set_tests_properties(hp.check PROPERTIES PASS_REGULAR_EXPRESSION
  "--stack megatron: tp=2,pp=4.*\nlegal\nfits: a device needs .*\na step takes .*\nnot heeded: --moe-grouped-gemm .line 7.; ")
hyperparallel_add_hp_json(check 0 FIGURES legal=true good=true "verdict=\"fits\"" needed_bytes step_seconds near=[]
                          COMMAND check "${configs}/mixtral_8x7b.json" --devices 128 --hardware h100 --from "${launch}/mixtral_8x7b.args")
hyperparallel_add_hp_json(check.does_not_fit 1 FIGURES legal=true good=false "verdict=\"does not fit\"" "near.0.changes=[\"recompute none -> full\"]"
                          "near.0.words.given=[\"--recompute-granularity full\",\"--recompute-method uniform\",\"--recompute-num-layers 1\"]"
                          "near.1.words.dropped=[\"--use-distributed-optimizer\"]" launch.padded_vocabulary=128512
                          COMMAND check "${configs}/llama3_70b.json" --devices 64 --hardware h100 --from "${launch}/llama3_70b.sh")
# Runs that are reported in public, to have run or to have run out of memory.
if(Python3_FOUND)
  add_test(NAME hp.check.reports COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/hp_reports.py" $<TARGET_FILE:hp>
           "${CMAKE_CURRENT_SOURCE_DIR}")
  set_tests_properties(hp.check.reports PROPERTIES LABELS example TIMEOUT 600)
endif()
hyperparallel_add_hp_json(check.sequence 1 FIGURES legal=true "verdict=\"does not fit\"" plan.sequence=131072
                          COMMAND check "${configs}/mixtral_8x7b.json" --devices 128 --hardware h100 --from "${launch}/mixtral_8x7b.args" --sequence 131072)
hyperparallel_add_hp_json(check.heads 1 FIGURES legal=false "why=\"tp=16 does not divide key and value heads, 8; these do: 1, 2, 4, 8\""
                          "near.0.changes=[\"tp 16 -> 8\",\"cp 1 -> 2\"]" "near.0.verdict=\"fits\"" near.0.step_seconds
                          "near.0.words.given=[\"--tensor-model-parallel-size 8\",\"--context-parallel-size 2\"]"
                          COMMAND check "${configs}/llama3_8b.json" --devices 16 --hardware h100 --from "${launch}/more_ranks_than_heads.args")
hyperparallel_add_hp_json(check.contradiction 1 FIGURES legal=false "near.0.changes=[\"tp 3 -> 4\"]" near.0.devices=16 launch.padded_vocabulary=null
                          COMMAND check "${configs}/llama3_8b.json" --devices 16 --hardware h100 --from "${launch}/tensors_of_three.args")
# Launch lines by the numbers of public recipes fit the devices that these are for.
foreach(row IN ITEMS "llama3_8b|8|llama3_8b_fp8.sh" "llama31_405b_fp8|1024|llama31_405b.sh" "deepseek_v3|1024|deepseek_v3.sh"
                     "qwen3_30b_a3b|16|qwen3_30b_a3b.args")
  string(REPLACE "|" ";" row "${row}")
  list(GET row 0 model)
  list(GET row 1 devices)
  list(GET row 2 line)
  hyperparallel_add_hp_json(check.${line} 0 FIGURES legal=true "verdict=\"fits\"" "stack=\"megatron\"" launch.unheeded.0 launch.notes
                            COMMAND check "${configs}/${model}.json" --devices ${devices} --hardware h100 --from "${launch}/${line}")
endforeach()
# A script of the Trainer with the DeepSpeed file that it names, accelerate's FSDP2, and a DeepSpeed file, which has no sequence of its own.
hyperparallel_add_hp(plan.from.trainer plan "${configs}/llama3_8b.json" --devices 16 --hardware h100 --from "${launch}/trainer/run_clm_z3.sh")
set_tests_properties(hp.plan.from.trainer PROPERTIES PASS_REGULAR_EXPRESSION
  "dp=16,zero=3,micro_batches=8,recompute=full; 256 sequences of 4096 tokens.*not heeded: .*sub_group_size 1e9 .[^)]*trainer/ds_z3.json, line 17.; --use_liger_kernel True .line 14.")
hyperparallel_add_hp(plan.from.fsdp2 plan "${configs}/llama3_8b.json" --devices 8 --hardware h100 --from "${launch}/llamafactory/llama3_full_fsdp.sh" --to fsdp2)
set_tests_properties(hp.plan.from.fsdp2 PROPERTIES PASS_REGULAR_EXPRESSION
  "dp=8,zero=3,micro_batches=4,recompute=full; 32 sequences of 4096.*in words of fsdp2:\n  per_device_train_batch_size: 1\n.*  fsdp: full_shard auto_wrap\n  fsdp_config:\n    fsdp_version: 2\n")
hyperparallel_add_hp(plan.from.deepspeed plan "${configs}/llama3_8b.json" --devices 8 --hardware h100 --from "${launch}/trainer/ds_z1.json" --sequence 2048 --to deepspeed)
set_tests_properties(hp.plan.from.deepspeed PROPERTIES PASS_REGULAR_EXPRESSION
  "dp=8,zero=1,micro_batches=2; 64 sequences of 2048 .*in words of deepspeed:\n.*  zero_optimization:\n      stage: 1\n")
hyperparallel_add_hp(plan.from.toml plan "${configs}/llama31_405b_fp8.json" --devices 128 --hardware h100 --from "${launch}/llama3_405b.toml" --to hyperparallel)
set_tests_properties(hp.plan.from.toml PROPERTIES PASS_REGULAR_EXPRESSION
  "tp=8,dp=16,zero=3,recompute=full. 32 sequences of 8192 tokens.*precision fp8.*not heeded: training.compile true .line 11.: .*parallelism.enable_async_tensor_parallel true .line 15..*in words of hyperparallel:\n.*  data_parallel_shard_degree = 16\n  tensor_parallel_degree = 8\n.*  mode = \"full\"\n  .model.\n")
hyperparallel_add_hp(plan.from.toml_pipeline plan "${configs}/llama31_405b_fp8.json" --devices 512 --hardware h100 --from "${launch}/llama3_405b_pipeline.toml")
set_tests_properties(hp.plan.from.toml_pipeline PROPERTIES PASS_REGULAR_EXPRESSION
  "tp=8,pp=8,dp=8,zero=2,micro_batches=32,recompute=full,schedule=Interleaved1F1B,chunks=2. 256 sequences.*--stack fsdp2 has no rule for pipeline stages")
hyperparallel_add_hp(plan.to.toml plan "${configs}/llama3_8b.json" --devices 16 --hardware h100 --precision bf16 --fix tp=8,dp=2,zero=1 --to torchtitan)
set_tests_properties(hp.plan.to.toml PROPERTIES PASS_REGULAR_EXPRESSION
  "in words of torchtitan:\n  .training.\n.*  tensor_parallel_degree = 8\n.*  mode = \"none\"\nit has no word for zero=1\n")
set_tests_properties(hp.plan PROPERTIES PASS_REGULAR_EXPRESSION "fits: a device needs .*lower bound .*MFU ")
hyperparallel_add_hp_json(plan 0 FIGURES legal=true "verdict=\"fits\"" plan.tp=2 memory.needed_bytes step.seconds
                          COMMAND plan "${configs}/qwen3_30b_a3b.json" --devices 64 --fix tp=2,ep=8,zero=1 --batch 64)
# Fields that no figure heeds are named.
hyperparallel_add_hp(plan.set_aside plan "${configs}/deepseek_v3.json" --devices 1024 --fix tp=8,pp=8,ep=8,zero=1,micro_batches=16)
set_tests_properties(hp.plan.set_aside PROPERTIES PASS_REGULAR_EXPRESSION
                     "\nset aside, since no shape depends on it: n_group, rope_scaling, topk_group\n")
hyperparallel_add_hp_json(serve.set_aside 0 FIGURES set_aside=["n_group","rope_scaling","topk_group"]
                          COMMAND serve "${configs}/deepseek_v3.json" --devices 64 --fix tp=8,ep=8 --weights 8)
# The text inside a model that also sees is read; Kimi K2.5's has 1 026 408 232 448 parameters.
hyperparallel_add_hp(serve.nested serve "${configs}/kimi_k25.json" --devices 16 --hardware h200 --fix tp=16 --weights 4)
set_tests_properties(hp.serve.nested PROPERTIES PASS_REGULAR_EXPRESSION
                     "^kimi_k2: 1026.41 billion parameters .*\nnot counted: .*the parameters of vision_config, beside the text")
hyperparallel_add_hp_json(serve.nested 0 FIGURES parameters=1026408232448 towers=["vision_config"]
                          COMMAND serve "${configs}/kimi_k25.json" --devices 16 --hardware h200 --fix tp=16 --weights 4)
# Attention in chunks has neither weights nor a cache of its own.
hyperparallel_add_hp_json(serve.chunks 0 FIGURES parameters=7615616512 set_aside=["dual_chunk_attention_config"]
                          COMMAND serve "${configs}/qwen25_7b_1m.json" --devices 1 --hardware h200)
# --effort is heeded while plans are listed, here for longer than a second.
hyperparallel_add_hp(plan.listing plan "${configs}/llama3_8b.json" --hardware h100 --devices 15120 --batch 60480 --effort 1)
set_tests_properties(hp.plan.listing PROPERTIES PASS_REGULAR_EXPRESSION
                     "searched in [1-5]\\.[0-9] s: .*ended by --effort while legal plans were listed, so nothing is known of the others\n")
# Modules on process groups: two halves of a decoder on four ranks each, and the fastest groups of it.
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/halves.json" [=[{"groups": [{"name": "front", "ranks": ["0-3"]}, {"name": "back", "ranks": ["4-7"]}],
 "modules": [{"name": "lower", "group": "front", "operators": ["embedding*", "layers.?.*", "layers.10.*", "layers.11.*", "layers.12.*", "layers.13.*", "layers.14.*", "layers.15.*"]},
             {"name": "upper", "group": "back", "operators": ["layers.16.*", "layers.17.*", "layers.18.*", "layers.19.*", "layers.2?.*", "layers.3?.*", "head*"]}]}]=])
hyperparallel_add_hp_json(plan.groups 0 FIGURES fits=true groups.0.strategy="tp" groups.1.ranks=4 step_seconds idle_share needed_bytes
                          COMMAND plan "${configs}/llama3_8b.json" --devices 8 --hardware h100 --groups "${CMAKE_CURRENT_BINARY_DIR}/halves.json"
                                  --strategies tp,zero3 --sequence 1024)
hyperparallel_add_hp_json(plan.groups.search 0 FIGURES search.complete=true search.partitions=15 search.plans=59 search.played=5 search.slower_by_bound=54
                          plans.0.groups.0.ranks=4 plans.0.step_seconds plans.0.table.modules.0.name="embedding"
                          COMMAND plan "${configs}/llama3_8b.json" --devices 4 --hardware h100 --sequence 1024 --batch 16
                                  --fix micro_batches=4 --groups search --strategies tp --effort 60)
hyperparallel_add_hp_json(plan.does_not_fit 1 FIGURES "verdict=\"does not fit\"" fitting_changes.0.changes=1
                          COMMAND plan "${configs}/llama3_8b.json" --devices 8 --fix dp=8)
# ZeRO over numbers of devices that divide nothing. Rank 0 of FSDP2 (PyTorch 2.11, fully_shard of each layer and of the whole) has 335 096 683
# parameters of 24, 1 147 991 242 of 7, 21 414 603 of 384: dim 0 in chunks. Ours are of the dim whose chunks are smallest: eight bytes of states each.
hyperparallel_add_hp_json(plan.zero_of_24 0 FIGURES "verdict=\"fits\"" memory.kinds_bytes.parameters=1339862444 memory.kinds_bytes.states=2679724888
                          COMMAND plan "${configs}/llama3_8b.json" --devices 24 --hardware h100 --fix dp=24,zero=3,recompute=full --batch 24)
hyperparallel_add_hp_json(plan.zero_of_7 0 FIGURES "verdict=\"fits\"" memory.kinds_bytes.states=9179735632
                          COMMAND plan "${configs}/llama3_8b.json" --devices 7 --hardware h100 --fix dp=7,zero=3,recompute=full --batch 7)
hyperparallel_add_hp_json(plan.zero_of_384 0 FIGURES "verdict=\"fits\"" memory.kinds_bytes.states=170268248
                          COMMAND plan "${configs}/llama3_8b.json" --devices 384 --fix dp=384,zero=3,recompute=full --batch 384)
# A convention stands beside the account: 4 · 2 · 32 · 4096² / 8 bytes of attention, grouped keys in f32 in the account.
hyperparallel_add_hp_json(plan.convention 0
                          FIGURES "convention.parts.parameters of attention.convention_bytes=536870912"
                                  "convention.parts.parameters of attention.account_bytes=671088640"
                                  convention.convention_bytes=27514634240 convention.difference_bytes
                          COMMAND plan "${configs}/llama3_8b.json" --devices 16 --fix tp=8,dp=2,zero=1 --convention megatron_2022)
# Of the convention's own model, the 22 billion parameters of its paper, what both keep of a layer has the same bytes.
hyperparallel_add_hp_json(plan.convention.its_own_model 0
                          FIGURES convention.activations_bytes=42479910912 convention.states_bytes=48922361856
                                  "convention.parts.inside feed-forward layers.difference_bytes=0"
                                  "convention.parts.queries and keys.difference_bytes=0"
                                  "convention.parts.masks of dropout.account_bytes=0"
                          COMMAND plan "${configs}/gpt_22b.json" --devices 8 --fix tp=8,micro_batches=2 --batch 8 --sequence 2048
                                  --convention megatron_2022)
hyperparallel_add_hp_json(plan.convention_is_not_defined 0
                          FIGURES "convention.why=\"megatron_2022 is not defined for models with experts\""
                          COMMAND plan "${configs}/qwen3_30b_a3b.json" --devices 64 --fix tp=2,ep=8,zero=1 --batch 64
                                  --convention megatron_2022)
# Pairs of a layer with a window and one without are dealt to the stages: 23 of them.
hyperparallel_add_hp_json(plan.groups_of_layers 0 FIGURES legal=true "verdict=\"fits\"" plan.pp=4
                          COMMAND plan "${configs}/gemma2_27b.json" --devices 32 --fix tp=4,pp=4,zero=1,micro_batches=8,recompute=full)
# Number formats, and the stack that hides moves: parameters of 2 bytes, states of 12.
hyperparallel_add_hp_json(plan.precision 0 FIGURES "plan.precision=\"fp8\"" "verdict=\"fits\"" step.hidden_seconds
                          COMMAND plan "${configs}/llama3_8b.json" --hardware h100 --devices 16 --fix tp=8,dp=2,zero=1 --precision fp8 --stack megatron)
hyperparallel_add_hp_json(plan.precision_of_stack 0 FIGURES "memory.stack=\"transformers_amp\""
                          COMMAND plan "${configs}/llama3_8b.json" --hardware h200 --devices 1 --fix recompute=full --sequence 2048 --stack transformers
                                  --precision amp)
# The schedule of the pipeline, and the chunks of layers on a rank.
hyperparallel_add_hp_json(plan.schedule 0 FIGURES legal=true "plan.schedule=\"Interleaved1F1B\"" plan.chunks=4 step.clock.bubble_seconds
                          COMMAND plan "${configs}/llama3_8b.json" --devices 16 --batch 16
                                  --fix tp=2,pp=4,micro_batches=8,zero=1,schedule=interleaved1f1b,chunks=4)
hyperparallel_add_hp_json(plan.schedule_of_chunks 1 FIGURES legal=false "plan.schedule=\"ZB-V\""
                          COMMAND plan "${configs}/llama3_8b.json" --devices 4 --fix pp=4,micro_batches=8,schedule=zb-v)
hyperparallel_add_hp_json(plan.schedule_of_copies 1 FIGURES legal=false "plan.schedule=\"DualPipe\""
                          COMMAND plan "${configs}/llama3_8b.json" --devices 4 --fix pp=4,micro_batches=8,schedule=dualpipe)
hyperparallel_add_hp_json(plan.cannot_be 1 FIGURES legal=false nearest.0.fix
                          COMMAND plan "${configs}/llama3_8b.json" --devices 48 --fix tp=3)

# Presets and a file of one's own; 15 488 devices of a full mesh are accounted in seconds.
hyperparallel_add_hp_json(plan.preset 0 FIGURES "verdict=\"fits\"" "hardware=\"h100\"" "step.levels.0.level=\"nvlink\""
                          COMMAND plan "${configs}/llama3_8b.json" --devices 64 --fix tp=8,zero=1 --hardware h100)
hyperparallel_add_hp_json(plan.own_hardware 0 FIGURES "hardware=\"my_cluster\"" memory.device_bytes=103079215104
                          "step.levels.1.level=\"network\""
                          COMMAND plan "${configs}/llama3_8b.json" --devices 16 --fix tp=8,zero=1
                          --hardware "${configs}/own_hardware.json")
hyperparallel_add_hp(plan.supernode plan "${configs}/llama3_8b.json" --devices 15488 --fix tp=8,zero=1
                     --hardware supernode_15488_4d)
set_tests_properties(hp.plan.supernode PROPERTIES PASS_REGULAR_EXPRESSION "carried by the busiest link.*over column" TIMEOUT 3)

hyperparallel_add_hp_page(plan 0 areas,timeline,matrix,matrix,matrix,matrix,matrix,matrix,bars,bars plan "${configs}/llama3_8b.json" --devices 16 --fix
                          tp=8,dp=2,zero=1,micro_batches=4)
hyperparallel_add_hp_page(plan.search 0 bars,bars,areas,timeline,matrix,matrix,matrix,matrix,matrix,matrix plan "${configs}/llama3_8b.json" --devices 64)
hyperparallel_add_hp_page(plan.pipeline 1 areas,areas,areas,areas,timeline,matrix,matrix,matrix,matrix,matrix,bars,bars plan "${configs}/deepseek_v3.json" --devices 512 --fix
                          tp=8,pp=4,ep=8,zero=1,micro_batches=16)
hyperparallel_add_hp_page(plan.many_micro_batches 0 areas,areas,timeline,matrix,matrix,matrix,matrix,matrix,matrix,bars,bars plan
                          "${configs}/llama3_8b.json" --devices 16 --batch 512 --fix tp=8,pp=2,micro_batches=512)

# On a stack memory is what its allocator reserves, to the byte as a run on one H100 reserved it; a plan that fits by what is in use is tight.
set(plan_fsdp2 plan "${configs}/llama3_8b.json" --hardware h100 --stack fsdp2)
hyperparallel_add_hp(plan.stack ${plan_fsdp2} --devices 8 --fix zero=3,recompute=full --batch 8 --sequence 8192)
set_tests_properties(hp.plan.stack PROPERTIES PASS_REGULAR_EXPRESSION
                     "fits: a device .*segments it keeps .*fsdp2: in use are 25.2 GiB at most, in the loss, 17.3 GiB when forward has ended.*computing on fsdp2 .*measured on one H100")
hyperparallel_add_hp_json(plan.stack 0 FIGURES "verdict=\"tight\"" memory.reserved_bytes=80849403904 memory.after_forward_bytes
                          memory.steady_bytes=12121169408 "memory.stack=\"fsdp2\"" "memory.peak_is=\"in the loss\""
                          "step.stack.by=\"operators measured on one H100\"" step.stack.parts_seconds.products step.compute_seconds
                          COMMAND ${plan_fsdp2} --devices 8 --fix zero=3 --batch 8 --sequence 8192)
hyperparallel_add_hp_json(plan.stack_that_does_not_fit 1 FIGURES "verdict=\"does not fit\"" "fitting_changes.0.verdict=\"fits\""
                          COMMAND ${plan_fsdp2} --devices 8 --fix zero=3 --batch 16 --sequence 8192)
hyperparallel_add_hp_json(plan.stack_searched 0 FIGURES "plans.0.verdict=\"fits\"" plans.0.plan.zero=2 plans.0.plan.pp=1 search.complete=true
                          memory.reserved_bytes COMMAND ${plan_fsdp2} --devices 8 --batch 16)
hyperparallel_add_hp_json(plan.selective 0 FIGURES "verdict=\"fits\"" plan.recomputed=true plan.selective=true
                          COMMAND plan "${configs}/llama3_8b.json" --hardware h100 --devices 8 --fix zero=3,recompute=selective --batch 8 --sequence 8192)
hyperparallel_add_hp_json(plan.modules 0 FIGURES "verdict=\"fits\"" plan.recomputed=false "plan.modules=\"layernorm+mlp\""
                          COMMAND plan "${configs}/llama3_8b.json" --hardware h100 --devices 8 --fix zero=3,recompute=mlp+layernorm --batch 8 --sequence 8192)
hyperparallel_add_hp_json(plan.selective_stack 0 FIGURES "verdict=\"tight\"" memory.peak_bytes memory.reserved_bytes
                          COMMAND ${plan_fsdp2} --devices 8 --fix zero=3,recompute=selective --batch 16 --sequence 8192)
hyperparallel_add_hp_json(plan.adapters 0 FIGURES plan.adapter_rank=16 "plan.adapted=\"qkv\"" "verdict=\"fits\""
                          COMMAND plan "${configs}/llama3_8b.json" --hardware h100 --devices 1 --fix lora=16,lora_on=qkv --precision bf16)
hyperparallel_add_hp_json(plan.optimizer 0 FIGURES "plan.optimizer=\"sgd\"" plan.tp=8 "verdict=\"fits\""
                          COMMAND plan "${configs}/llama3_8b.json" --hardware h100 --devices 8 --fix tp=8,optimizer=sgd --precision bf16)
hyperparallel_add_hp_json(plan.host_states 0 FIGURES plan.host_states=1000 memory.host.bytes step.host.updating_seconds "verdict=\"fits\""
                          COMMAND plan "${configs}/llama3_8b.json" --hardware h100 --devices 8 --fix zero=1,recompute=full,host_states=1000 --precision bf16)
hyperparallel_add_hp_json(plan.copies 0 FIGURES plan.copies=2 plan.dp=16 "verdict=\"fits\""
                          COMMAND plan "${configs}/llama3_8b.json" --hardware h100 --devices 16 --fix zero=3,copies=2 --batch 16)
hyperparallel_add_hp_json(plan.stack_of_experts 0 FIGURES "memory.stack=\"fsdp2\"" memory.reserved_bytes plan.ep=8
                          COMMAND plan "${configs}/qwen3_30b_a3b.json" --hardware h100 --stack fsdp2 --devices 64 --fix ep=8,zero=3,recompute=full)
hyperparallel_add_hp_json(plan.stack_on_one_device 0 FIGURES "memory.stack=\"transformers\"" memory.reserved_bytes
                          COMMAND plan "${configs}/llama3_8b.json" --hardware h100 --stack transformers --devices 1 --fix recompute=full --sequence 2048)
hyperparallel_add_hp_page(plan.stack 0 timeline,matrix,matrix,matrix,matrix,matrix,matrix,bars,bars ${plan_fsdp2} --devices 8 --fix zero=3
                          --batch 8 --sequence 8192)

# A run of one's own calibrates: its own plan takes what it took, libraries beside its memory, and data-sheet bounds stay; the page of the how-to.
hyperparallel_add_hp_json(plan.measured 0 FIGURES step.seconds=1.21 step.lower_bound_seconds=0.42590888155 memory.needed_bytes=49392123904
                          memory.measured_beside_bytes=5894486097 memory.reserved_bytes=40145780736 measured.step_seconds=1.21 measured.memory_bytes=47244640256
                          measured.factor measured.beside_bytes=5894486097 "measured.fix=\"dp=8,zero=3,recompute=full\""
                          COMMAND ${plan_fsdp2} --devices 8 --fix zero=3,recompute=full --batch 8 --sequence 8192 --measured step=1.21s,memory=44GiB)
hyperparallel_add_hp_json(plan.measured_searched 0 FIGURES measured.memory_bytes=null measured.beside_bytes=null measured.devices=8 measured.batch=8
                          search.complete=true plans.0.step_seconds memory.measured_beside_bytes=0
                          COMMAND plan "${configs}/llama3_8b.json" --hardware h100 --devices 16 --measured tp=8,zero=1,devices=8,batch=8:step=850ms)
hyperparallel_add_hp(plan.measured ${plan_fsdp2} --devices 8 --batch 16 --sequence 8192 --fix zero=3,recompute=full --measured
                     batch=8:step=1.21s,memory=44GiB)
set_tests_properties(hp.plan.measured PROPERTIES PASS_REGULAR_EXPRESSION
                     "measured: dp=8,zero=3,recompute=full on 8 devices, 8 sequences of 8192 tokens: 1.210 s, 44.0 GiB\nby that run computing takes 1.161 of what is predicted, 5.5 GiB more are held\n\nfits: a device needs 63.5 GiB of 79.1 GiB, 15.6 GiB are left.*beside these, by the measured run.*times 1.161 by the measured run")
hyperparallel_add_hp(plan.measured_beyond_memory plan "${configs}/llama3_8b.json" --hardware h100 --devices 8 --fix zero=3 --batch 32
                     --sequence 8192 --measured step=6)
set_tests_properties(hp.plan.measured_beyond_memory PROPERTIES PASS_REGULAR_EXPRESSION
                     "GiB less are held, since it was there\n\nfits: .* -[0-9.]+ GiB.*all +6.000 s")
hyperparallel_add_hp_page(plan.measured 0 timeline,matrix,matrix,matrix,matrix,matrix,matrix,bars,bars ${plan_fsdp2} --devices 8 --fix zero=3
                          --batch 8 --sequence 8192 --measured step=1.21s,memory=70GiB)

# None fits, some are tight: the search has the fastest of them, as --fix calls it tight.
set(plan_tight plan "${configs}/llama3_8b.json" --devices 8 --hardware h100 --batch 8 --sequence 1024 --memory 20GiB --allocator 800)
hyperparallel_add_hp_json(plan.tight 0 FIGURES "plans.0.verdict=\"tight\"" plans.0.plan.tp=4 plans.0.plan.zero=3 COMMAND ${plan_tight})
hyperparallel_add_hp_json(plan.tight_fixed 0 FIGURES "verdict=\"tight\"" COMMAND ${plan_tight} --fix tp=4,dp=2,zero=3)
# 72 billion parameters do not fit on 8 dies nor on 16 with states in f32, whatever tp is.
foreach(tp IN ITEMS 8 16)
  hyperparallel_add_hp_json(plan.dense_72b_tp${tp} 1 FIGURES "verdict=\"does not fit\"" plan.tp=${tp} parameters=72287920128
                            COMMAND plan "${configs}/qwen15_72b.json" --devices ${tp} --fix tp=${tp},micro_batches=8 --batch 8)
endforeach()

# 128 KiB of cache a token, 16 GiB at 131 072 tokens; half of the layers in DRAM leaves half of it and two buffers.
hyperparallel_add_hp(serve serve "${configs}/llama3_8b.json" --devices 8 --batch 64 --context 32768)
set_tests_properties(hp.serve PROPERTIES PASS_REGULAR_EXPRESSION
                     "an estimate by closed form.*fits: a device needs .*longest context.*decode of a token each")
hyperparallel_add_hp_json(serve.kernels 0 FIGURES "kernels.by=\"operators measured on one H100\"" kernels.decode_graph_seconds kernels.prefill_seconds
                          COMMAND serve "${configs}/llama3_8b.json" --devices 1 --hardware h100 --batch 16 --context 2048)
hyperparallel_add_hp_json(serve 0 FIGURES "kind=\"estimate\"" "verdict=\"fits\"" memory.weights_bytes=16060522496
                          memory.cache_bytes=8589934592 memory.dram_cache_bytes=8589934592 memory.buffer_bytes=1073741824
                          memory.token_cache_bytes=131072 caches.0.longest_context caches.1.cache_in="as_asked" decode.bound_by="DRAM"
                          COMMAND serve "${configs}/llama31_8b.json" --devices 1 --context 131072 --offload 16)
# Weights as their files store them: fp8 in blocks, a part in 8 bits; --weights overrides and is named.
hyperparallel_add_hp(serve.fp8 serve "${configs}/deepseek_r1.json" --devices 8 --hardware h200)
set_tests_properties(hp.serve.fp8 PROPERTIES PASS_REGULAR_EXPRESSION
                     "parameters of 8\\.03 bits as fp8 stores them, scales included\n.*fits: a device needs 84\\.")
hyperparallel_add_hp_json(serve.fbgemm_fp8 0 FIGURES "weight_format=\"fbgemm_fp8\"" memory.weights_bytes=60263948288 "verdict=\"fits\""
                          COMMAND serve "${configs}/llama31_405b_fp8.json" --devices 8 --hardware h100 --fix tp=8 --context 79392)
hyperparallel_add_hp(serve.weights serve "${configs}/deepseek_r1.json" --devices 8 --hardware h200 --weights 4)
set_tests_properties(hp.serve.weights PROPERTIES PASS_REGULAR_EXPRESSION "parameters of 4 bits by --weights; the file is fp8\n")
hyperparallel_add_hp(plan.fp8 plan "${configs}/deepseek_r1.json" --devices 1024 --fix tp=8,pp=8,ep=8,zero=1,micro_batches=16)
set_tests_properties(hp.plan.fp8 PROPERTIES PASS_REGULAR_EXPRESSION "\nthe file is fp8; a step trains f32 parameters")
# What no figure has is listed; the verdict is by what a device reports.
set(titan plan "${configs}/deepseek_r1.json" --devices 1024 --hardware h100 --fix pp=16,ep=64,zero=1,micro_batches=32,recompute=full
          --batch 2048)
hyperparallel_add_hp(plan.not_counted ${titan})
set_tests_properties(hp.plan.not_counted PROPERTIES PASS_REGULAR_EXPRESSION
                     "a device of 80.0 GiB reports 79.1 GiB\nnot counted: multi-token prediction .a module of 13463426304 parameters in all., buffers of routers")
hyperparallel_add_hp_json(plan.reported 1 FIGURES "verdict=\"does not fit\"" memory.device_bytes=65466037546 not_counted=[]
                          COMMAND plan "${configs}/qwen3_8b.json" --devices 8 --hardware ascend_910b --fix dp=8,zero=3 --batch 8 --sequence 9216)
hyperparallel_add_hp_json(plan.asked_memory 0 FIGURES memory.device_bytes=68719476736 not_counted=[]
                          COMMAND plan "${configs}/qwen3_8b.json" --devices 8 --hardware ascend_910b --fix dp=8,zero=3 --batch 8 --sequence 9216 --memory 64GiB)
hyperparallel_add_hp(serve.not_counted serve "${configs}/qwen3_30b_a3b.json" --devices 2)
set_tests_properties(hp.serve.not_counted PROPERTIES PASS_REGULAR_EXPRESSION
                     "\nnot counted: buffers of routers beyond even loads of experts, memory that driver and context keep")
# Chunks of a padded dim over two axes are flat; DTensor's are nested. Where both are the same nothing is said.
hyperparallel_add_hp(explain.flat_chunks explain --mesh a=2,b=2 --from "~(a,b),None" --to None,None --shape 5x3 --dtype f32)
set_tests_properties(hp.explain.flat_chunks PROPERTIES PASS_REGULAR_EXPRESSION
                     "\ndim 0 of the source is in flat chunks, 2/2/1/0; DTensor nests those of its axes, 2/1/1/1\n")
hyperparallel_add_hp(explain.same_chunks explain --mesh a=2,b=2 --from "~(a,b),None" --to "~a,None" --shape 7x3 --dtype f32)
set_tests_properties(hp.explain.same_chunks PROPERTIES FAIL_REGULAR_EXPRESSION "DTensor nests")
# The model's positions bind, and what is longer is named and answered.
hyperparallel_add_hp_json(serve.positions 0 FIGURES positions=131072 caches.0.longest_context=131072 "caches.0.bound_by=\"the model\""
                          "caches.4.bound_by=\"the model\""
                          COMMAND serve "${configs}/llama31_8b.json" --devices 1 --offload 16)
hyperparallel_add_hp(serve.beyond_positions serve "${configs}/llama3_8b.json" --devices 1 --context 131072)
set_tests_properties(hp.serve.beyond_positions PROPERTIES PASS_REGULAR_EXPRESSION
                     "\n131072 tokens are more than the model's 8192 positions: max_position_embeddings is 8192\n.*fits: ")
hyperparallel_add_hp(plan.beyond_positions plan "${configs}/llama3_8b.json" --devices 8 --hardware h200
                     --fix cp=8,zero=3,recompute=full --batch 1 --sequence 16384)
set_tests_properties(hp.plan.beyond_positions PROPERTIES PASS_REGULAR_EXPRESSION
                     "\n16384 tokens are more than the model's 8192 positions: max_position_embeddings is 8192\n.*fits: ")
# Latents: 576 elements a token in each of 61 layers, whole on each device of tp.
hyperparallel_add_hp_json(serve.latents 0 FIGURES memory.token_cache_bytes=70272 plan.ep=8 plan.tp=8 legal=true
                          COMMAND serve "${configs}/deepseek_v3.json" --devices 64 --fix tp=8,ep=8 --batch 64 --weights 8)
hyperparallel_add_hp_page(serve 0 bars,bars,matrix,bars serve "${configs}/llama31_8b.json" --devices 1 --context 131072 --offload 16)
hyperparallel_add_hp_page(explain.own_hardware 0 matrix,matrix,matrix,bars explain --mesh x=2,y=4 --from x,None --to "None,(y,x)"
                          --shape 64x64 --dtype f32 --topology "${configs}/own_hardware.json")
hyperparallel_add_hp_json(serve.windows 0 FIGURES caches.0.longest_context plan.tp=2
                          COMMAND serve "${configs}/gemma2_27b.json" --devices 2 --fix tp=2 --hardware h100)
hyperparallel_add_hp_json(serve.own_hardware 0 FIGURES "hardware=\"my_cluster\"" memory.device_bytes=103079215104
                          COMMAND serve "${configs}/llama3_8b.json" --devices 16 --hardware "${configs}/own_hardware.json")
hyperparallel_add_hp_json(serve.does_not_fit 1 FIGURES "verdict=\"does not fit\""
                          COMMAND serve "${configs}/llama3_8b.json" --devices 1 --context 1000000)
# Where none fits the answer is the fastest of those that are tight, as --fix has it.
set(serve_tight serve "${configs}/llama3_8b.json" --devices 2 --hardware "${configs}/narrow.json" --context 65536 --offload 16
                --allocator 400)
hyperparallel_add_hp_json(serve.tight 0 FIGURES "verdict=\"tight\"" plan.tp=2 COMMAND ${serve_tight})
hyperparallel_add_hp_json(serve.tight_fixed 0 FIGURES "verdict=\"tight\"" plan.tp=2 COMMAND ${serve_tight} --fix tp=2)
# A host's DRAM is one account: (40 GiB - 2 GiB) / 1.03, less weights and activations, is so many tokens of 128 KiB for each of
# two sequences.
hyperparallel_add_hp_json(serve.host 0 FIGURES caches.0.longest_context=86644 "caches.0.bound_by=\"DRAM\"" memory.dram_cache_bytes=0
                          COMMAND serve "${configs}/llama31_8b.json" --devices 1 --batch 2 --hardware "${configs}/host.json")
hyperparallel_add_hp_json(serve.cannot_be 1 FIGURES legal=false why COMMAND serve "${configs}/llama3_8b.json" --devices 3 --fix tp=3)

# Numbers of devices that are no powers of two.
foreach(devices IN ITEMS 7 12)
  hyperparallel_add_hp_json(plan.${devices}_devices 0 FIGURES plans.0.plan.dp search.complete=true
                            COMMAND plan "${configs}/llama3_8b.json" --devices ${devices})
endforeach()
hyperparallel_add_hp_page(plan.cannot_be 1 bars,bars plan "${configs}/llama3_8b.json" --devices 48 --fix tp=3)

hyperparallel_add_hp(offload offload --devices 4 8)
hyperparallel_add_hp(offload.3_devices offload --model llama --devices 3)
hyperparallel_add_hp_json(offload 0 FIGURES models.0.machines.0.devices=4 models.0.machines.0.with_offload.waits_seconds
                          models.0.machines.0.with_offload.peak_bytes host_bytes_per_second=37000000000
                          COMMAND offload --devices 4 --account)
hyperparallel_add_hp_json(offload.none 1 FIGURES models.0.machines.0.as_it_is=null models.0.machines.0.why
                          COMMAND offload --model deepseek --devices 8 --memory 1)

# Tables of pipeline schedules, here and in refusals.cmake.
set(tables "${CMAKE_CURRENT_BINARY_DIR}/sched")
file(WRITE "${tables}/safe.csv" "0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n")
file(WRITE "${tables}/lowered.csv" "0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n")
file(WRITE "${tables}/circle.csv" "0F0,0F1,0B0,0B1\n1F1,1B0,1F0,1B1\n")
file(WRITE "${tables}/missing.csv" "0F0,0F1,0B0,0B1\n1F1,1B0,1F2,1B1\n")
file(WRITE "${tables}/elsewhere.csv" "0F0,0B0\n1F0,0F0,1B0\n")
# Two programs of pytorch issue 172668, alone and within whole schedules: ranks that both send first.
file(WRITE "${tables}/both_send.csv" "0SEND_F1,2RECV_F0,2F0\n1SEND_F0,1RECV_F1,1F1\n")
file(WRITE "${tables}/both_send_whole.csv"
     "0F0,0SEND_F0,0F1,0SEND_F1,2RECV_F0,2F0,2SEND_F0,2RECV_F1,2F1,2SEND_F1,2RECV_B0,2B0,2SEND_B0,2RECV_B1,2B1,2SEND_B1,"
     "0RECV_B0,0B0,0RECV_B1,0B1\n"
     "1RECV_F0,1F0,1SEND_F0,1RECV_F1,1F1,1SEND_F1,3RECV_F0,3F0,3B0,3SEND_B0,3RECV_F1,3F1,3B1,3SEND_B1,1RECV_B0,1B0,"
     "1SEND_B0,1RECV_B1,1B1,1SEND_B1\n")
file(WRITE "${tables}/send_against_gradient.csv"
     "2SEND_F1,0F2,0SEND_F2,2RECV_B0\n3RECV_F1,3SEND_B0,3F1,3B1,1RECV_F2\n")
file(WRITE "${tables}/send_against_gradient_whole.csv"
     "0F0,0SEND_F0,0F1,0SEND_F1,2RECV_F0,2F0,2RECV_F1,2SEND_F0,2F1,2SEND_F1,0F2,0SEND_F2,2RECV_B0,2B0,2RECV_F2,2F2,"
     "2SEND_F2,2SEND_B0,2RECV_B1,2B1,2SEND_B1,2RECV_B2,2B2,2SEND_B2,0RECV_B0,0B0,0RECV_B1,0B1,0RECV_B2,0B2\n"
     "1RECV_F0,1F0,1RECV_F1,1SEND_F0,1F1,1SEND_F1,3RECV_F0,3F0,3B0,3RECV_F1,3SEND_B0,3F1,3B1,1RECV_F2,1F2,1SEND_F2,"
     "3SEND_B1,3RECV_F2,3F2,3B2,3SEND_B2,1RECV_B0,1B0,1SEND_B0,1RECV_B1,1B1,1SEND_B1,1RECV_B2,1B2,1SEND_B2\n")
file(WRITE "${tables}/crossed.csv"
     "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n1RECV_F1,1RECV_F0,1F0,1F1,1B0,1SEND_B0,1B1,1SEND_B1\n")
file(WRITE "${tables}/no_receive.csv" "0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1B0,1SEND_B0\n")
file(WRITE "${tables}/garbage.csv" "0F0,0B0\n1F0,1B0xyz\n")
file(WRITE "${tables}/idle.csv" ",,\n,\n")
hyperparallel_add_hp(help.sched sched --help)
set_tests_properties(hp.help.sched PROPERTIES PASS_REGULAR_EXPRESSION
                     "make .*check .*draw .*list .*split .*hp sched .*Exit status: 0 .*, 1 .*, 2 bad input")
foreach(command IN ITEMS make check draw list split)
  hyperparallel_add_hp(help.sched.${command} sched ${command} --help)
  set_tests_properties(hp.help.sched.${command} PROPERTIES PASS_REGULAR_EXPRESSION
                       "Reads .*Prints .*hp sched ${command}.*Exit status: 0 .*, 1 .*, 2 bad input")
endforeach()
hyperparallel_add_hp(sched.make sched make gpipe --ranks 2 --micro-batches 2)
set_tests_properties(hp.sched.make PROPERTIES PASS_REGULAR_EXPRESSION "^0F0,0F1,,,,0B0,0B1\r?\n,1F0,1F1,1B0,1B1\r?\n$")
hyperparallel_add_hp(sched.make.no_idle sched make GPipe --ranks 2 --micro-batches 2 --no-idle)
set_tests_properties(hp.sched.make.no_idle PROPERTIES PASS_REGULAR_EXPRESSION "^0F0,0F1,0B0,0B1\r?\n1F0,1F1,1B0,1B1\r?\n$")
hyperparallel_add_hp(sched.make.transfers sched make 1F1B --ranks 2 --micro-batches 1 --transfers)
set_tests_properties(hp.sched.make.transfers PROPERTIES PASS_REGULAR_EXPRESSION
  "^0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD,0RESHARD\r?\n1UNSHARD,1RECV_F0,1F0,1B0,1SEND_B0,1REDUCE_GRAD,1RESHARD\r?\n$")
hyperparallel_add_hp(sched.make.file sched make ZBVZeroBubble --ranks 4 --micro-batches 16 --output "${tables}/made.csv" --force)
set_tests_properties(hp.sched.make.file PROPERTIES FIXTURES_SETUP hp_sched_made)
hyperparallel_add_hp(sched.check sched check "${tables}/made.csv" --placement v --times 10,11,8 --latency 1)
set_tests_properties(hp.sched.check PROPERTIES FIXTURES_REQUIRED hp_sched_made PASS_REGULAR_EXPRESSION
                     "^4 ranks, 8 stages there and back, 16 micro-batches\nsafe: .*makespan [0-9]+, ideal 928\n")
hyperparallel_add_hp(sched.check.lowered sched check "${tables}/lowered.csv")
set_tests_properties(hp.sched.check.lowered PROPERTIES PASS_REGULAR_EXPRESSION
  "safe: [^\n]* under ordered queues\n4 sends and receives: [^\n]*\n1 actions of parameters take no time here and are not proved")
hyperparallel_add_hp(sched.check.unbounded sched check "${tables}/lowered.csv" --transport unbounded)
set_tests_properties(hp.sched.check.unbounded PROPERTIES PASS_REGULAR_EXPRESSION
  "safe: [^\n]* under unbounded buffers\n5 transfers and actions of parameters take no time here and are not proved")
hyperparallel_add_hp(sched.check.placed sched check "${tables}/safe.csv" --transport buffered=1)
set_tests_properties(hp.sched.check.placed PROPERTIES PASS_REGULAR_EXPRESSION
  "safe: [^\n]* under 1 buffer for each pair of ranks\n8 sends and receives, put where torch puts them: ")
# Ranks that both send first end in queues and with buffers.
foreach(program IN ITEMS both_send send_against_gradient)
  foreach(transport IN ITEMS ordered buffered=1)
    hyperparallel_add_hp(sched.check.${program}.${transport} sched check "${tables}/${program}_whole.csv" --transport
                         ${transport})
  endforeach()
endforeach()
add_test(NAME hp.sched.check.input
         COMMAND sh -c "'$<TARGET_FILE:hp>' sched make DualPipeV --ranks 2 --micro-batches 4 | '$<TARGET_FILE:hp>' sched check -")
set_tests_properties(hp.sched.check.input PROPERTIES LABELS example PASS_REGULAR_EXPRESSION "makespan 26, ideal 24")
# Rows in any order, and more of them than have a square in 32 bits.
foreach(transport IN ITEMS unbounded ordered buffered=2 blocking)
  add_test(NAME hp.sched.check.many_rows.${transport}
           COMMAND sh -c "awk 'BEGIN { for (i = 0; i < 50000; ++i) { s = i * 7919 % 50000; print s \"F0,\" s \"F1,\" s \"B0,\" s \"B1\" } }' | '$<TARGET_FILE:hp>' sched check - --transport ${transport}")
  set_tests_properties(hp.sched.check.many_rows.${transport} PROPERTIES LABELS example TIMEOUT 60 PASS_REGULAR_EXPRESSION
                       "50000 ranks, 50000 stages as listed.*safe: .*makespan ")
endforeach()
# A rank that only waits holds nothing and takes no time; and what the columns mean.
file(WRITE "${tables}/resting.csv" "0F0,0B0\n,,\n")
hyperparallel_add_hp_json(sched.check.resting 0 FIGURES by_rank.1.begins=0 by_rank.1.ends=0 longest_rank_span=3
                          COMMAND sched check "${tables}/resting.csv")
hyperparallel_add_hp(sched.check.legend sched check "${tables}/safe.csv")
set_tests_properties(hp.sched.check.legend PROPERTIES PASS_REGULAR_EXPRESSION
                     "chunks until W: activations .* from its F to its W or B;\nuntil I: where each is held to its I or B\n$")
# Without memory there is no answer, so neither 0 nor 1. Sanitizers reserve more than any limit.
if(NOT CMAKE_CXX_FLAGS MATCHES "fsanitize")
  add_test(NAME hp.out_of_memory
           COMMAND sh -c "ulimit -v 150000; '$<TARGET_FILE:hp>' sched make GPipe --ranks 512 --micro-batches 10000 --no-idle > /dev/null; echo status $?")
  set_tests_properties(hp.out_of_memory PROPERTIES LABELS example PASS_REGULAR_EXPRESSION
                       "hp sched: there is no answer: out of memory\n.*status 2")
endif()
add_test(NAME hp.sched.check.both
         COMMAND sh -c "'$<TARGET_FILE:hp>' sched make DualPipe --ranks 4 --micro-batches 8 --transfers | '$<TARGET_FILE:hp>' sched check - --placement both --transport blocking")
set_tests_properties(hp.sched.check.both PROPERTIES LABELS example PASS_REGULAR_EXPRESSION
                     "4 ranks, 4 stages both ways, on two ranks each, 8 micro-batches\nsafe: ")
add_test(NAME hp.sched.check.both_inferred
         COMMAND sh -c "'$<TARGET_FILE:hp>' sched make Chimera --ranks 4 --micro-batches 8 | '$<TARGET_FILE:hp>' sched check - --json")
set_tests_properties(hp.sched.check.both_inferred PROPERTIES LABELS example PASS_REGULAR_EXPRESSION "\"makespan\": 30")
hyperparallel_add_hp_json(sched.check 0 FIGURES safe=true ranks=2 stages=4 micro_batches=1 rank_of_stage=[0,1,1,0]
                          makespan=12 ideal=6 bubble=6 bubble_of_span=6 untimed_actions=0
                          transfers=0 transfers_were_placed=false "transport=\"unbounded\""
                          by_rank.1.begins=1 by_rank.0.peak_chunks_until_weight_gradient=2
                          COMMAND sched check "${tables}/safe.csv")
hyperparallel_add_hp_json(sched.check.overlapped 0 FIGURES safe=true makespan=120
                          COMMAND sched check "${tables}/safe.csv" --times 10,10,10 --overlapped 15)
hyperparallel_add_hp_json(sched.check.lowered 0 FIGURES safe=true transfers=4 transfers_were_placed=false "transport=\"ordered\""
                          untimed_actions=1 COMMAND sched check "${tables}/lowered.csv")
hyperparallel_add_hp_json(sched.check.blocking 0 FIGURES safe=true transfers=8 transfers_were_placed=true
                          "transport=\"blocking\"" COMMAND sched check "${tables}/safe.csv" --transport blocking)
hyperparallel_add_hp_json(sched.check.unsafe 1 FIGURES safe=false code="action_is_missing" "why=\"rank 1 never runs 1F0\""
                          COMMAND sched check "${tables}/missing.csv" --micro-batches 2)
hyperparallel_add_hp(sched.draw sched draw 1f1b --ranks 2 --micro-batches 3)
set_tests_properties(hp.sched.draw PROPERTIES PASS_REGULAR_EXPRESSION
                     "^1F1B: 2 ranks.*\n0 .F0F1....B0--F2B1--..B2--. peak 2\n1 .*2 columns a unit of time\n$")
hyperparallel_add_hp(sched.draw.file sched draw "${tables}/made.csv" --placement v --times 10,11,8 --latency 1 --width 80)
set_tests_properties(hp.sched.draw.file PROPERTIES FIXTURES_REQUIRED hp_sched_made PASS_REGULAR_EXPRESSION
                     "made.csv: 4 ranks, 8 stages, 16 micro-batches\n.*a column is 15 units of time")
add_test(NAME hp.sched.draw.input
         COMMAND sh -c "'$<TARGET_FILE:hp>' sched make DualPipeV --ranks 2 --micro-batches 4 | '$<TARGET_FILE:hp>' sched draw - --overlapped 2")
set_tests_properties(hp.sched.draw.input PROPERTIES LABELS example PASS_REGULAR_EXPRESSION "^2 ranks, .*F3b1")
add_test(NAME hp.sched.draw.files
         COMMAND sh -c "'$<TARGET_FILE:hp>' sched draw ZB-V --ranks 4 --micro-batches 8 --svg '${tables}/zbv.svg' --trace '${tables}/zbv.json' --force 2> '${tables}/said' && tail -n 1 '${tables}/zbv.svg' '${tables}/zbv.json'")
add_test(NAME hp.sched.draw.page
         COMMAND sh -c "'$<TARGET_FILE:hp>' sched draw ZB-V --ranks 4 --micro-batches 8 --html '${tables}/zbv.html' --force && grep -o '\"safe\":true.*\"makespan\":[0-9]*' '${tables}/zbv.html'")
set_tests_properties(hp.sched.draw.page PROPERTIES LABELS example PASS_REGULAR_EXPRESSION "safe.*makespan.:51")
set_tests_properties(hp.sched.draw.files PROPERTIES LABELS example PASS_REGULAR_EXPRESSION "^==.*</svg>\n\n==.*\n]}\n$"
                                                    FIXTURES_SETUP hp_trace_written)
# The schedule's own figures: 4 ranks of 48 units, and 51 until the last is done.
set(trace "${tables}/zbv.json")
hyperparallel_add_hp(trace trace "${trace}")
set_tests_properties(hp.trace PROPERTIES PASS_REGULAR_EXPRESSION "^192 spans on 4 rows in 51.000 us\n\n.*rank 3 +48 .*3.000 us\n")
hyperparallel_add_hp_json(trace 0 FIGURES spans=192 total_seconds=5.1e-05 rows.0.spans=48 rows.3.busy_seconds.F=1.6e-05
                          COMMAND trace "${trace}")
hyperparallel_add_hp_page(trace 0 timeline,bars trace "${trace}")
# Exact to the picosecond, as long as a trace may be: a double ends at 2.5 hours.
file(WRITE "${tables}/long.json"
     "{\"traceEvents\":[{\"ph\":\"X\",\"pid\":0,\"tid\":0,\"name\":\"a\",\"cat\":\"c\",\"ts\":0.000003,\"dur\":9007199254.740993},"
     "{\"ph\":\"X\",\"pid\":0,\"tid\":1,\"name\":\"b\",\"cat\":\"c\",\"ts\":9007199254.740993,\"dur\":990992800745.259007}]}")
hyperparallel_add_hp_json(trace.long 0 FIGURES total_picoseconds=999999999999999997 rows.0.busy_picoseconds.c=9007199254740993
                          rows.1.busy_picoseconds.c=990992800745259007 rows.1.idle_picoseconds=9007199254740990
                          COMMAND trace "${tables}/long.json")
if(TARGET moe_layer)  # a real run: eight ranks of two queues
  add_test(NAME hp.trace.run COMMAND sh -c "'$<TARGET_FILE:moe_layer>' --trace '${tables}/run.json' && '$<TARGET_FILE:hp>' trace '${tables}/run.json'")
  set_tests_properties(hp.trace.run PROPERTIES LABELS example TIMEOUT 600 PASS_REGULAR_EXPRESSION
                       "spans on 16 rows in .*rank 7, link .*moe.experts.[a-z]+ .[a-z]+., tile [1-8] of 8 of experts ")
endif()
foreach(test IN ITEMS hp.trace hp.trace.json hp.trace.page)
  if(TEST ${test})
    set_tests_properties(${test} PROPERTIES FIXTURES_REQUIRED hp_trace_written)
  endif()
endforeach()
# What was written is said, on the error stream: the output may be a document.
add_test(NAME hp.sched.draw.written
         COMMAND sh -c "cd '${tables}' && '$<TARGET_FILE:hp>' sched draw ZB-V --ranks 4 --micro-batches 8 --svg w.svg --html w.html --trace w.json --force 2>&1")
set_tests_properties(hp.sched.draw.written PROPERTIES LABELS example PASS_REGULAR_EXPRESSION
                     "^wrote 'w.html'\nwrote 'w.svg'\nwrote 'w.json'\n$")
if(Python3_FOUND)
  add_test(NAME hp.sched.list.count COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/schedule_count.py" $<TARGET_FILE:hp>)
  set_tests_properties(hp.sched.list.count PROPERTIES LABELS example)
endif()
hyperparallel_add_hp(sched.list sched list)
set_tests_properties(hp.sched.list PROPERTIES PASS_REGULAR_EXPRESSION
                     "GPipe +in a loop +1.*ZB-H1 +in a loop +1 +m >= P.*DualPipeV +there and back +2 +m >= 2 P.*DualPipe +both ways, on two ranks each +1 +P even, m even, m >= 2 P.*Chimera .* P even, m even")
hyperparallel_add_hp_json(sched.list 0 FIGURES schedules.0.name="GPipe" schedules.3.chunks=null schedules.8.placement="v"
                          COMMAND sched list)
hyperparallel_add_hp(sched.split sched split --layers 10 --stages 4)
set_tests_properties(hp.sched.split PROPERTIES PASS_REGULAR_EXPRESSION "^Ett\\|tt\\|ttt\\|tttL\n$")
hyperparallel_add_hp(sched.split.torch sched split --layers 10 --stages 4 --format torch --prefix model.blocks)
set_tests_properties(hp.sched.split.torch PROPERTIES PASS_REGULAR_EXPRESSION
                     "^\\[\"model.blocks.2\",\"model.blocks.4\",\"model.blocks.7\"\\]\n$")
hyperparallel_add_hp(sched.split.weights sched split --weights 2,2,2,2,2,2,2 --loss 4 --stages 3)
set_tests_properties(hp.sched.split.weights PROPERTIES PASS_REGULAR_EXPRESSION "^Ettt\\|ttt\\|tL\n$")
# The loss of DeepSeek-V3 stands alone; torch has no name for such a stage.
hyperparallel_add_hp(sched.split.loss_alone sched split --layers 61 --stages 32 --embedding 1 --loss 2)
set_tests_properties(hp.sched.split.loss_alone PROPERTIES PASS_REGULAR_EXPRESSION "^Et\\|\\(tt\\|\\)\\*30L\n$")
hyperparallel_add_hp_json(sched.split.loss_alone 0 FIGURES heaviest=2 lightest=2 stages.31.layers=0 stages.31.weight=2 torch=null
                          COMMAND sched split --layers 61 --stages 32 --embedding 1 --loss 2)
hyperparallel_add_hp(sched.split.embedding_alone sched split --layers 3 --stages 4 --embedding 2 --format torch)
set_tests_properties(hp.sched.split.embedding_alone PROPERTIES PASS_REGULAR_EXPRESSION
                     "^\\[\"layers.0\",\"layers.1\",\"layers.2\"\\]\n$")
hyperparallel_add_hp(sched.split.check sched split --check "Et|(tt|)*30L" --embedding 1 --loss 2)
set_tests_properties(hp.sched.split.check PROPERTIES PASS_REGULAR_EXPRESSION
  "^61 layers in 32 stages: 1, 2 x 30, 0\nthe stages weigh 2 x 32; the heaviest 2, the second-heaviest 2\nof all layouts with E first and L last in as many stages, with or without layers, none has less, nor less behind the heaviest\n$")
# Each key is said of one: all of these layouts are not the least, or are in the heaviest alone.
hyperparallel_add_hp_json(sched.split.check.heavy 1 FIGURES layers=61 heaviest=4 least_heaviest=2 is_least=false is_least_in_ties=false
                          stages.0.layers=3 "least=\"Et|(tt|)*30L\""
                          COMMAND sched split --check "Ettt|(tt|)*29|L" --embedding 1 --loss 2)
hyperparallel_add_hp_json(sched.split.check.ties 0 FIGURES heaviest=3 least_heaviest=3 is_least=true is_least_in_ties=false
                          "least=\"Ett|tt|tt|tttL\"" COMMAND sched split --layers 9 --stages 4 --check "Ettt|ttt|ttt|L")
hyperparallel_add_hp_json(sched.split.check.mtp 0 FIGURES layers=4 heaviest=2 is_least_in_ties=true stages.2.predictions=1
                          stages.2.weight=2 COMMAND sched split --check "E,t*2|(tt|)*1,mL" --mtp 2)
hyperparallel_add_hp_json(sched.split 0 FIGURES layers=7 heaviest=6 lightest=6 stages.1.first_layer=3 stages.2.layers=1
                          "megatron=\"Ettt|ttt|tL\"" torch.1="layers.6"
                          COMMAND sched split --layers 7 --stages 3 --weights 2,2,2,2,2,2,2 --loss 4)
