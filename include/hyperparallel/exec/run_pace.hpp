// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long the tasks of a run last where it is to take the time of simulated hardware.
//
//   hp::program_options o{.topology = links, .pace = {hp::h100::device, 1000}};   // a thousand times as slow as eight GPUs
//
// Each task does its work, and then sleeps until it has lasted what the clock of the plan says (price/clock.hpp): moves
// the price of their links, compute steps that of the device, without a core. So a run overlaps as the plan lets it on as many
// ranks as the plan has, whatever cores there are. Law: bits are those of a run without a pace. Units: picoseconds of the hardware.

#include <cstdint>

#include <hyperparallel/hardware/device.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct run_pace {
  device_value device{};
  std::int64_t slower = 0;  ///< times as long as on the hardware; 0: tasks last as long as their work takes
  constexpr bool is_asked() const { return slower > 0; }
};

}}  // namespace hyperparallel::v0_2
