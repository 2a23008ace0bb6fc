# SPDX-License-Identifier: Apache-2.0
#
# What the documentation shows of hp_explain must be what it prints.
if(Python3_FOUND AND TARGET hp_explain)
  add_test(NAME pages.explanations COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/paste_explanations.py"
                                           $<TARGET_FILE:hp_explain> --check)
  set_tests_properties(pages.explanations PROPERTIES LABELS example)
endif()
