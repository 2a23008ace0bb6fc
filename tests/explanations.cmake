# SPDX-License-Identifier: Apache-2.0
#
# What the documentation shows of hp explain must be what it prints.
if(Python3_FOUND AND TARGET hp)
  add_test(NAME pages.explanations COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/paste_explanations.py"
                                           $<TARGET_FILE:hp> --check)
  set_tests_properties(pages.explanations PROPERTIES LABELS example)
endif()
if(TARGET hp)
  add_test(NAME hp.explain COMMAND hp explain --mesh x=2,y=4 --from x,None --to "None,(y,x)" --shape 64x64 --dtype f32)
  add_test(NAME hp.help COMMAND hp --help)
  set_tests_properties(hp.explain PROPERTIES LABELS example)
  set_tests_properties(hp.help PROPERTIES LABELS example PASS_REGULAR_EXPRESSION "explain .*replay .*Exit status: 0 good")
endif()
