// SPDX-License-Identifier: Apache-2.0
#pragma once
// S1: how long a context fits on a die and what memory it takes, with the cache of keys and values in HBM and in DRAM,
// from the sizes of public models and the preset of the die alone. Nothing is fitted: A11 is the published figure with
// a model that is.
//
// One sequence in bf16 on a die of Matrix384 that has its part of the shared DRAM. "Hidden": as many layers' caches lie
// in DRAM as the time of prefill, or of decode, is not longer for.

#include <string>

#include <fmt/format.h>

#include <hyperparallel/planner/known_hardware.hpp>
#include <hyperparallel/planner/longest_context.hpp>

#include "anchor.hpp"
#include "offload_published.hpp"
#include "public_decoders.hpp"

namespace tables {

/// Longest contexts of one sequence on one die, and the HBM that its cache takes.
class cache_offload {
 public:
  /// On a die of Matrix384 as it is given: alone, or with its part of the shared DRAM.
  cache_offload(const hp::decoder& decoder, const hp::device_value& die) : d(decoder), device(die) {}

  hp::extent_t in_hbm() const { return hp::longest_context(d, {}, device, {}).tokens; }
  hp::extent_t in_dram() const { return hp::longest_context(d, {.offloaded_layers = d.layers}, device, {}).tokens; }
  hp::extent_t hidden(hp::serving_step step) const {
    return hp::longest_hidden_context(d, {}, device, links, {}, step).tokens;
  }
  double gain(hp::extent_t tokens) const { return static_cast<double>(tokens) / static_cast<double>(in_hbm()); }
  /// At the longest context that fits without DRAM: the least HBM that offload takes which prefill hides, over that
  /// without.
  double least_peak() const {
    hp::serving_plan p{.context = in_hbm()};
    const hp::extent_t before = hp::estimate_serving(d, p, device, links).memory.peak();
    hp::extent_t least = before;
    for (; p.offloaded_layers <= d.layers; ++p.offloaded_layers) {
      const hp::serving_estimate e = hp::estimate_serving(d, p, device, links);
      if (e.prefill.hides_dram() && e.memory.peak() < least) least = e.memory.peak();
    }
    return static_cast<double>(least) / static_cast<double>(before);
  }

 private:
  hp::decoder d;
  hp::device_value device;
  hp::interconnect links = hp::interconnect_of(hp::matrix384::topology);
};

inline anchor_rows cache_offload_rows() {
  using namespace published;
  const hp::device_value die = hp::device_in_pool(*hp::find_hardware("matrix384"));
  constexpr double gain = static_cast<double>(sequence_after) / sequence_before;
  anchor_rows rows;
  const auto add = [&](const std::string& what, const char* unit, std::optional<double> theirs, double ours,
                       int decimals) {
    rows.push_back({"S1", what, unit, theirs, ours, criterion::printed, 0, decimals});
  };
  struct {
    const char* name;
    hp::decoder decoder;
  } constexpr models[] = {{"Llama-2-7B", llama2_7b}, {"Llama-3-8B", llama3_8b}};
  for (const auto& m : models) {
    const cache_offload c(m.decoder, die);
    const auto kilo = [](hp::extent_t tokens) { return static_cast<double>(tokens) / 1024; };
    add(fmt::format("{}: longest context, cache in HBM", m.name), "K tokens", std::nullopt, kilo(c.in_hbm()), 0);
    add(fmt::format("{}: longer by offload that prefill hides", m.name), "x", gain,
        c.gain(c.hidden(hp::serving_step::prefill)), 2);
    add(fmt::format("{}: longer by offload that decode hides", m.name), "x", gain,
        c.gain(c.hidden(hp::serving_step::decode)), 2);
    add(fmt::format("{}: longer by offload of all of the cache", m.name), "x", gain, c.gain(c.in_dram()), 2);
    add(fmt::format("{}: peak at the longest context, by offload that prefill hides", m.name), "%",
        100 * (peak_after / peak_before - 1), 100 * (c.least_peak() - 1), 1);
  }
  return rows;
}

}  // namespace tables
