# SPDX-License-Identifier: Apache-2.0
#
# toml++ as headers alone, also where its package offers a shared library: hyperparallel_toml exists where they are found.
if(TARGET hyperparallel_toml)
  return()
endif()
find_path(tomlplusplus_INCLUDE_DIR toml++/toml.h)
mark_as_advanced(tomlplusplus_INCLUDE_DIR)
if(tomlplusplus_INCLUDE_DIR)
  add_library(hyperparallel_toml INTERFACE)
  target_include_directories(hyperparallel_toml SYSTEM INTERFACE "${tomlplusplus_INCLUDE_DIR}")
endif()
