# SPDX-License-Identifier: Apache-2.0
#
# The folders of the light core, layers 0-4. Everything else needs the full target.
set(hyperparallel_core_folders support mesh hardware layout taskflow redistribution operators)

# Sets `result` to ON when `folder` (or the front header of that name) belongs to the light core.
function(hyperparallel_is_core folder result)
  if(folder IN_LIST hyperparallel_core_folders OR folder STREQUAL "shard")
    set(${result} ON PARENT_SCOPE)
  else()
    set(${result} OFF PARENT_SCOPE)
  endif()
endfunction()
