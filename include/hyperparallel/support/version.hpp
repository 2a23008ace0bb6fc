// SPDX-License-Identifier: Apache-2.0
#pragma once
// Semantic version of the library (semver.org): the numbers CMake reads and users may test.
//
// Laws: until 1.0.0 a minor release may change the public surface; a patch release never does. All names are in an
// inline namespace of the minor release, so units that were compiled against two of them do not link: nobody writes it,
// `hyperparallel::` and `hp::` reach through it.

#define HYPERPARALLEL_VERSION_MAJOR 0
#define HYPERPARALLEL_VERSION_MINOR 2
#define HYPERPARALLEL_VERSION_PATCH 0

namespace hyperparallel { inline namespace v0_2 {

struct version_number {
  int major_number, minor_number, patch_number;
  friend constexpr bool operator==(const version_number&, const version_number&) = default;
};

inline constexpr version_number version{HYPERPARALLEL_VERSION_MAJOR, HYPERPARALLEL_VERSION_MINOR,
                                        HYPERPARALLEL_VERSION_PATCH};

}}  // namespace hyperparallel::v0_2
