# SPDX-License-Identifier: Apache-2.0
#
# One definition rule: two units that both include everything link into one program.
if(EXISTS "${PROJECT_SOURCE_DIR}/include/hyperparallel/hyperparallel.hpp")
  add_executable(link_two_units link/first.cpp link/second.cpp)
  target_link_libraries(link_two_units PRIVATE hyperparallel::hyperparallel hyperparallel_warnings)
  add_test(NAME link.two_units COMMAND link_two_units)
  set_tests_properties(link.two_units PROPERTIES LABELS link)
endif()
