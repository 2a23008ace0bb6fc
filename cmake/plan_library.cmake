# SPDX-License-Identifier: Apache-2.0
#
# The planner for other languages: the shared library hyperparallel_plan behind include/hyperparallel_plan.h. Header-only
# inside, with hidden symbols and fmt as headers, so that it needs nothing but the C++ runtime.
file(STRINGS "${PROJECT_SOURCE_DIR}/include/hyperparallel_plan.h" hyperparallel_plan_abi_text REGEX "define HYPERPARALLEL_PLAN_ABI [0-9]+")
string(REGEX REPLACE ".* ([0-9]+)$" "\\1" hyperparallel_plan_abi "${hyperparallel_plan_abi_text}")
add_library(hyperparallel_plan SHARED "${PROJECT_SOURCE_DIR}/src/c_abi/plan.cpp")
set_target_properties(
  hyperparallel_plan PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON SOVERSION ${hyperparallel_plan_abi}
                                VERSION ${hyperparallel_plan_abi}.${PROJECT_VERSION})
target_compile_definitions(hyperparallel_plan PRIVATE HYPERPARALLEL_PLAN_BUILDS)
target_include_directories(hyperparallel_plan PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>")
target_link_libraries(hyperparallel_plan PRIVATE hyperparallel_core Boost::headers fmt::fmt-header-only)
target_compile_options(hyperparallel_plan PRIVATE ${hyperparallel_warning_options})

install(TARGETS hyperparallel_plan LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" OPTIONAL)
install(FILES "${PROJECT_SOURCE_DIR}/include/hyperparallel_plan.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
