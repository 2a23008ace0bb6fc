// SPDX-License-Identifier: Apache-2.0
#pragma once
// The share of its matrix peak that a GPU reaches in a step of training, by published runs: every parameter that hp truth fits.
//
//   hp truth --fit include/hyperparallel/hardware/fitted_shares.hpp truth_tables.jsonl      writes this file
//
// A share makes as many of the device's `fit` runs too slow as too fast; runs whose kernels were measured one by one have no say. A preset
// without fit runs takes the share of the nearest one that has them, or is assumed (preset_parts.hpp). At most 30.

#include <hyperparallel/hardware/device.hpp>
#include <hyperparallel/support/fixed_string.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct fitted_share {
  const char* preset;
  efficiency share;
  int runs;
};

inline constexpr fitted_share fitted_shares[] = {
    {"a100", {716'000}, 20},
    {"h100", {680'000}, 15},
    {"h100_96gb", {425'000}, 5},
    {"gb200", {533'000}, 1},
};

namespace detail {

/// Domain: the preset is among them.
constexpr efficiency fitted_share_of(const char* preset) {
  const fitted_share* found = fitted_shares;
  while (!same_text(found->preset, preset)) ++found;
  return found->share;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
