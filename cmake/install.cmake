# SPDX-License-Identifier: Apache-2.0
include(CMakePackageConfigHelpers)

set(hyperparallel_config_folder "${CMAKE_INSTALL_LIBDIR}/cmake/hyperparallel")

# Several sets, so that a user of the core alone needs neither Boost nor fmt, and nobody needs MPI who does not ask.
install(TARGETS hyperparallel_core EXPORT hyperparallel-core)
install(EXPORT hyperparallel-core NAMESPACE hyperparallel:: DESTINATION "${hyperparallel_config_folder}")
if(TARGET hyperparallel)
  install(TARGETS hyperparallel EXPORT hyperparallel-full)
  install(EXPORT hyperparallel-full NAMESPACE hyperparallel:: DESTINATION "${hyperparallel_config_folder}")
endif()
if(TARGET hyperparallel_compiled)
  install(TARGETS hyperparallel_compiled EXPORT hyperparallel-compiled ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT hyperparallel-compiled NAMESPACE hyperparallel:: DESTINATION "${hyperparallel_config_folder}")
endif()
if(TARGET hyperparallel_mpi)
  install(TARGETS hyperparallel_mpi EXPORT hyperparallel-mpi)
  install(EXPORT hyperparallel-mpi NAMESPACE hyperparallel:: DESTINATION "${hyperparallel_config_folder}")
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/hyperparallel" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/hyperparallel-config.cmake.in" "${PROJECT_BINARY_DIR}/hyperparallel-config.cmake"
  INSTALL_DESTINATION "${hyperparallel_config_folder}")
# Headers fit any machine, the static library only that of its kind.
set(hyperparallel_independence ARCH_INDEPENDENT)
if(TARGET hyperparallel_compiled)
  set(hyperparallel_independence "")
endif()
write_basic_package_version_file("${PROJECT_BINARY_DIR}/hyperparallel-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion ${hyperparallel_independence})
install(FILES "${PROJECT_BINARY_DIR}/hyperparallel-config.cmake"
              "${PROJECT_BINARY_DIR}/hyperparallel-config-version.cmake"
        DESTINATION "${hyperparallel_config_folder}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
        DESTINATION "${CMAKE_INSTALL_DOCDIR}")
# Pages and examples lie to each other as here, so that links lead somewhere.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" "${PROJECT_SOURCE_DIR}/examples" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
