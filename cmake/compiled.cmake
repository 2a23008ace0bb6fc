# SPDX-License-Identifier: Apache-2.0
#
# Compiled mode: hyperparallel::compiled holds the bodies that header-only units compile themselves (include/**/*.ipp,
# one folder of units: src/). Who links it compiles with HYPERPARALLEL_COMPILED; all units of a program have one mode.
#
# Bodies that need nlohmann-json (src/json_*.cpp) are in it where that is found; units elsewhere compile them themselves.
file(GLOB hyperparallel_units CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.cpp")
find_package(nlohmann_json QUIET)
if(NOT TARGET nlohmann_json::nlohmann_json)
  list(FILTER hyperparallel_units EXCLUDE REGEX "/json_[^/]*$")
  message(STATUS "hyperparallel: nlohmann_json not found, hyperparallel::compiled has no readers of JSON")
endif()
add_library(hyperparallel_compiled STATIC ${hyperparallel_units})
add_library(hyperparallel::compiled ALIAS hyperparallel_compiled)
set_target_properties(hyperparallel_compiled PROPERTIES EXPORT_NAME compiled POSITION_INDEPENDENT_CODE ON)
target_link_libraries(hyperparallel_compiled PUBLIC hyperparallel)
target_compile_definitions(hyperparallel_compiled PUBLIC HYPERPARALLEL_COMPILED)
if(TARGET nlohmann_json::nlohmann_json)
  target_compile_definitions(hyperparallel_compiled PUBLIC HYPERPARALLEL_COMPILED_JSON)
  target_link_libraries(hyperparallel_compiled PRIVATE "$<BUILD_INTERFACE:nlohmann_json::nlohmann_json>")
endif()
# The warnings are of this build alone: a target of the installed set cannot name hyperparallel_warnings.
target_compile_options(hyperparallel_compiled PRIVATE ${hyperparallel_warning_options})
