// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether hardware can be: a device all of whose rates are stated, links whose groups nest, and that join the ranks
// which are to work together. Every price of a program asks it first.
//
// Law: on hardware that is refused nothing has a price; a 0 is then no time but the absence of one.

#include <hyperparallel/hardware/device.hpp>
#include <hyperparallel/hardware/topology.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct hardware_status {
  device_status device{};
  topology_status topology{};
  constexpr bool ok() const { return device.code == device_code::ok && topology.code == topology_code::ok; }
  friend constexpr bool operator==(const hardware_status&, const hardware_status&) = default;
};

/// Both parts by themselves, and whether the links join the ranks `first` … `last`. O(tiers + levels).
constexpr hardware_status check_hardware(const device_value& d, const topology_value& t, int first, int last) {
  hardware_status s{check(d), check(t)};
  if (s.topology.code == topology_code::ok) s.topology = check_span(t, first, last);
  return s;
}

/// The same of ranks 0 … `devices` - 1.
constexpr hardware_status check_hardware(const device_value& d, const topology_value& t, int devices = 1) {
  return check_hardware(d, t, 0, devices - 1);
}

}}  // namespace hyperparallel::v0_2
