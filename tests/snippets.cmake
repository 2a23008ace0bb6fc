# SPDX-License-Identifier: Apache-2.0
#
# The snippets that the documentation shows are compiled.
file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/snippets/*.cpp")
if(sources)
  add_library(snippets OBJECT ${sources})
  target_link_libraries(snippets PRIVATE hyperparallel::hyperparallel hyperparallel_warnings)
  hyperparallel_add_build_test(docs.snippets snippets docs)
endif()
