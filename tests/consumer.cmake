# SPDX-License-Identifier: Apache-2.0
#
# Small outside projects that use the library as its users do: configured, built and run by cmake/consumer_test.cmake. And hp
# as a file to carry.
if(NOT EXISTS "${PROJECT_SOURCE_DIR}/include/hyperparallel/hyperparallel.hpp"
   OR NOT EXISTS "${PROJECT_SOURCE_DIR}/include/hyperparallel/shard.hpp")
  return()
endif()
set(hyperparallel_consumers find_package find_package_core add_subdirectory fetch_content)
set(hyperparallel_has_compiled OFF)
if(TARGET hyperparallel_compiled)
  set(hyperparallel_has_compiled ON)
  list(APPEND hyperparallel_consumers find_package_compiled)
endif()
set(hyperparallel_installed_tool "")
if(TARGET hp)
  set(hyperparallel_installed_tool hp)
endif()
foreach(way IN LISTS hyperparallel_consumers)
  add_test(NAME consumer.${way}
           COMMAND "${CMAKE_COMMAND}" -DWAY=${way} "-DSOURCE=${CMAKE_CURRENT_SOURCE_DIR}/consumer/${way}"
                   "-DBUILD=${CMAKE_CURRENT_BINARY_DIR}/consumer/${way}" "-DLIBRARY_SOURCE=${PROJECT_SOURCE_DIR}"
                   "-DLIBRARY_BUILD=${PROJECT_BINARY_DIR}" -DCOMPILED=${hyperparallel_has_compiled}
                   -DTOOL=${hyperparallel_installed_tool} "-DGENERATOR=${CMAKE_GENERATOR}"
                   "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DFLAGS=${CMAKE_CXX_FLAGS}"
                   -P "${PROJECT_SOURCE_DIR}/cmake/consumer_test.cmake")
  set_tests_properties(consumer.${way} PROPERTIES LABELS consumer TIMEOUT 600 RESOURCE_LOCK hyperparallel_build_tree)
endforeach()
add_test(NAME consumer.reasons
         COMMAND "${CMAKE_COMMAND}" "-DTEMPLATE=${PROJECT_SOURCE_DIR}/cmake/hyperparallel-config.cmake.in"
                 "-DBUILD=${CMAKE_CURRENT_BINARY_DIR}/consumer/reasons" -P "${PROJECT_SOURCE_DIR}/cmake/config_reasons_test.cmake")
set_tests_properties(consumer.reasons PROPERTIES LABELS consumer TIMEOUT 600)
if(TARGET hp AND Python3_FOUND)
  add_test(NAME consumer.static_tool
           COMMAND "${CMAKE_COMMAND}" "-DBUILD=${CMAKE_CURRENT_BINARY_DIR}/consumer/static_tool"
                   "-DLIBRARY_SOURCE=${PROJECT_SOURCE_DIR}" "-DLIBRARY_BUILD=${PROJECT_BINARY_DIR}"
                   "-DTOOL=$<TARGET_FILE:hp>" "-DGENERATOR=${CMAKE_GENERATOR}" "-DCOMPILER=${CMAKE_CXX_COMPILER}"
                   "-DFLAGS=${CMAKE_CXX_FLAGS}" "-DFLAGS_RELEASE=${CMAKE_CXX_FLAGS_RELEASE}"
                   "-DLINKER_FLAGS=${CMAKE_EXE_LINKER_FLAGS}" "-DPYTHON=${Python3_EXECUTABLE}"
                   -P "${PROJECT_SOURCE_DIR}/cmake/static_tool_test.cmake")
  set_tests_properties(consumer.static_tool PROPERTIES LABELS consumer TIMEOUT 3600 RESOURCE_LOCK hyperparallel_build_tree)
endif()
