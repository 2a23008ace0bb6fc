// SPDX-License-Identifier: Apache-2.0
#pragma once
// The ways that bytes go between processes, and their names.

namespace hyperparallel { inline namespace v0_2 {

enum class mpi_transport : unsigned char {
  automatic,      ///< shared windows within a host, derived types across
  shared_window,  ///< windows alone: an error where the ranks are on several hosts
  derived_types,  ///< messages alone, here and below
  packed,
};

constexpr const char* name_of(mpi_transport transport) {
  constexpr const char* names[] = {"automatic", "shared window", "derived types", "packed"};
  return names[static_cast<int>(transport)];
}

}}  // namespace hyperparallel::v0_2
