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

hyperparallel_add_hp(help --help)
set_tests_properties(hp.help PROPERTIES PASS_REGULAR_EXPRESSION "explain .*replay .*tables .*models .*offload .*Exit status: 0 good")
foreach(subcommand IN ITEMS explain replay tables models offload)
  hyperparallel_add_hp(help.${subcommand} ${subcommand} --help)
  set_tests_properties(hp.help.${subcommand} PROPERTIES PASS_REGULAR_EXPRESSION
                       "--json .*hp ${subcommand} .*Exit status: 0 .*, 1 .*, 2 bad input")
endforeach()

hyperparallel_add_hp(explain explain --mesh x=2,y=4 --from x,None --to "None,(y,x)" --shape 64x64 --dtype f32)
hyperparallel_add_hp_json(explain 0 FIGURES "source.layout=\"(x, None)\"" source.mesh.y=4 kind="exchange" steps.0.kind="pull"
                          certificate.received_by_all_bytes=8192 certificate.least_of_any_program_bytes=8192
                          certificate.peak_bytes=10240 ways.0.seconds links.0.bytes_per_second=10000000000
                          COMMAND explain --mesh x=2,y=4 --from x,None --to "None,(y,x)" --shape 64x64 --dtype f32)
hyperparallel_add_hp_json(explain.other_mesh 0 FIGURES target.mesh.z=8 target.shape=[4096]
                          certificate.received_by_all_bytes certificate.peak_with_source="kept"
                          COMMAND explain --mesh x=2,y=4 --from x,None --to-mesh z=8 --to-shape 4096 --to z --shape 64x64
                                  --dtype f32)

set(own "${CMAKE_CURRENT_SOURCE_DIR}/vectors")
hyperparallel_add_hp_json(replay 0 FIGURES passed=85 failed=0 files.0.passed=85 files.0.ours_at_bound=65
                          files.0.theirs_stated=16 files.0.moves.0.id files.0.failures=[]
                          COMMAND replay --table --verbose "${own}/moves.jsonl")
hyperparallel_add_hp_json(replay.wrong 1 FIGURES passed=0 failed=108 files.0.failures.107.reason
                          COMMAND replay --verbose "${own}/wrong_moves.jsonl")

hyperparallel_add_hp(tables tables)
hyperparallel_add_hp_json(tables 0 FIGURES holds=true anchors.0.id="A1" anchors.0.published anchors.0.ours
                          parameters.0.mark COMMAND tables)

hyperparallel_add_hp(models models)
# Numbers of devices that are no powers of two have plans too, with as many sequences as are planned by default.
foreach(devices IN ITEMS 7 12)
  hyperparallel_add_hp(models.${devices}_devices models --model llama --devices ${devices} --no-accounts)
endforeach()
hyperparallel_add_hp_json(models 0 FIGURES searches.0.model="Llama-3-8B" searches.0.devices=4 searches.0.sequences=32
                          searches.0.search.complete=true searches.0.plans.0.behind_share=0.0
                          searches.0.plans.0.step_seconds searches.0.account.memory.peak_bytes
                          COMMAND models --model llama --devices 4)
hyperparallel_add_hp_json(models.none 1 FIGURES searches.0.plans=[] searches.0.why searches.0.search.device_bytes=68719476736
                          COMMAND models --model deepseek --devices 8)

hyperparallel_add_hp(offload offload --devices 4 8)
hyperparallel_add_hp(offload.3_devices offload --model llama --devices 3)
hyperparallel_add_hp_json(offload 0 FIGURES models.0.machines.0.devices=4 models.0.machines.0.with_offload.waits_seconds
                          models.0.machines.0.with_offload.peak_bytes host_bytes_per_second=37000000000
                          COMMAND offload --devices 4 --account)
hyperparallel_add_hp_json(offload.none 1 FIGURES models.0.machines.0.as_it_is=null models.0.machines.0.why
                          COMMAND offload --model deepseek --devices 8 --memory 1)
