# SPDX-License-Identifier: Apache-2.0
#
# The pictures of pipeline schedules in the documentation must be what hp sched draws.
if(Python3_FOUND AND TARGET hp)
  add_test(NAME pages.pipeline_pictures COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/paste_pipeline_pictures.py"
                                                $<TARGET_FILE:hp> --check)
  set_tests_properties(pages.pipeline_pictures PROPERTIES LABELS example)
endif()
