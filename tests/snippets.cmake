# SPDX-License-Identifier: Apache-2.0
#
# The snippets that the documentation shows: each is a program that must build and run. That the pages show them
# unchanged is checked by tools/check_snippets.py. They run for a moment, so they are not optimised, but for the preset
# native, which looks for warnings.
file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/snippets/*.cpp")
add_custom_target(all_snippets)
foreach(source IN LISTS sources)
  cmake_path(GET source STEM stem)
  if(stem MATCHES "^reference_(model_config|process_groups)$" AND NOT TARGET nlohmann_json::nlohmann_json)
    continue()
  endif()
  add_executable(snippet_${stem} "${source}")
  target_link_libraries(snippet_${stem} PRIVATE ${hyperparallel_own_library} hyperparallel_warnings)
  add_dependencies(all_snippets snippet_${stem})
  if(NOT HYPERPARALLEL_NATIVE)
    target_compile_options(snippet_${stem} PRIVATE -O0)
  endif()
  file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/snippets/${stem}")
  add_test(NAME docs.${stem} COMMAND snippet_${stem} WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/snippets/${stem}")
  set_tests_properties(docs.${stem} PROPERTIES LABELS docs TIMEOUT 600)
endforeach()
