// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether hardware can be: a device all of whose rates are stated, links whose groups nest (a topology) or whose axes
// are all stated (a full mesh), and that join the ranks which are to work together. Every price of a program asks it
// first.
//
// Law: on hardware that is refused nothing has a price; a 0 is then no time but the absence of one.

#include <hyperparallel/hardware/device.hpp>
#include <hyperparallel/hardware/full_mesh.hpp>
#include <hyperparallel/hardware/topology.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Links as hardware has them: a topology or a full mesh.
template <class Links>
concept hardware_links = requires(const Links& links) {
  { check(links).level };
};

struct hardware_status {
  device_status device{};
  topology_status topology{};
  constexpr bool ok() const { return device.code == device_code::ok && topology.code == topology_code::ok; }
  friend constexpr bool operator==(const hardware_status&, const hardware_status&) = default;
};

/// Both parts by themselves, and whether the links, a topology or a full mesh, join the ranks `first` … `last`.
/// O(tiers + levels).
template <hardware_links Links>
constexpr hardware_status check_hardware(const device_value& d, const Links& links, int first, int last) {
  hardware_status s{check(d), check(links)};
  if (s.topology.code == topology_code::ok) s.topology = check_span(links, first, last);
  return s;
}

/// The same of ranks 0 … `devices` - 1.
template <hardware_links Links>
constexpr hardware_status check_hardware(const device_value& d, const Links& links, int devices = 1) {
  return check_hardware(d, links, 0, devices - 1);
}

}}  // namespace hyperparallel::v0_2
