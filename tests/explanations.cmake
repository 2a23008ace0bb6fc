# SPDX-License-Identifier: Apache-2.0
#
# What the documentation shows of hp explain must be what it prints.
if(Python3_FOUND AND TARGET hp)
  add_test(NAME pages.explanations COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/paste_explanations.py"
                                           $<TARGET_FILE:hp> --check)
  set_tests_properties(pages.explanations PROPERTIES LABELS example)
endif()
