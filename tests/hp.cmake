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
set_tests_properties(hp.help PROPERTIES PASS_REGULAR_EXPRESSION "explain .*replay .*tables .*Exit status: 0 good")
foreach(subcommand IN ITEMS tables)
  hyperparallel_add_hp(help.${subcommand} ${subcommand} --help)
  set_tests_properties(hp.help.${subcommand} PROPERTIES PASS_REGULAR_EXPRESSION
                       "--json .*hp ${subcommand} .*Exit status: 0 .*, 1 .*, 2 bad input")
endforeach()

hyperparallel_add_hp(explain explain --mesh x=2,y=4 --from x,None --to "None,(y,x)" --shape 64x64 --dtype f32)
hyperparallel_add_hp(tables tables)
hyperparallel_add_hp_json(tables 0 FIGURES holds=true anchors.0.id="A1" anchors.0.published anchors.0.ours
                          parameters.0.mark COMMAND tables)
