// SPDX-License-Identifier: Apache-2.0
#pragma once
// Semantic version of the library (semver.org): the numbers CMake reads and users may test.
//
// Law: until 1.0.0 a minor release may change the public surface; a patch release never does.

#define HYPERPARALLEL_VERSION_MAJOR 0
#define HYPERPARALLEL_VERSION_MINOR 1
#define HYPERPARALLEL_VERSION_PATCH 0

namespace hyperparallel {

struct version_number {
  int major_number, minor_number, patch_number;
  friend constexpr bool operator==(const version_number&, const version_number&) = default;
};

inline constexpr version_number version{HYPERPARALLEL_VERSION_MAJOR, HYPERPARALLEL_VERSION_MINOR,
                                        HYPERPARALLEL_VERSION_PATCH};

}  // namespace hyperparallel
