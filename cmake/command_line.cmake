# SPDX-License-Identifier: Apache-2.0
#
# hyperparallel_command_line: the parser of every program with arguments, CLI11 compiled once. It exists where CLI11 is
# found and a program that reads arguments is offered.
find_package(CLI11 QUIET)
if(NOT TARGET CLI11::CLI11)
  message(STATUS "hyperparallel: CLI11 not found, hp and programs with arguments are not built")
  return()
endif()
add_library(hyperparallel_command_line STATIC EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/examples/command_line.cpp")
target_compile_features(hyperparallel_command_line PUBLIC cxx_std_20)
target_link_libraries(hyperparallel_command_line PRIVATE hyperparallel_warnings CLI11::CLI11)
hyperparallel_optimise_lightly(hyperparallel_command_line)
