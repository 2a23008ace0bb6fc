// SPDX-License-Identifier: Apache-2.0
#pragma once
// A9: MoE layers swapped to the host under falling budgets, B mean layers of L:
//
//   (L - B)+ <= moved / mean <= (L - B + 1)+;   a larger budget has no lower peak;   only small budgets wait
//
// Layers alike, tokens spread evenly. No source states the times: a layer's attention is as long as its copy needs.

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "anchor.hpp"
#include "host_swap.hpp"
#include "offload_parameters.hpp"
#include "offload_published.hpp"
#include "offload_trace.hpp"

namespace tables {

inline constexpr std::int64_t mean_swap_layer =
    std::int64_t{published::swap_tokens} * published::swap_top_k * published::swap_pair_bytes;

/// `tenths` of a mean layer as the budget.
inline host_swap swap_at(const offload_parameters& p, int tenths) {
  const std::int64_t attention = p.swap_attention.value;
  hp::growing_array<swap_layer> layer;
  for (int l = 0; l < published::swap_layers; ++l) layer.push({mean_swap_layer, attention, attention, 4 * attention});
  const host_swap r = swap_to_host(
      layer, {.budget = mean_swap_layer * tenths / 10, .mean = mean_swap_layer, .out = p.link(), .in = p.link()});
  if (r.code != host_swap_code::ok) throw std::logic_error(fmt::format("host swap: {}", to_text(r.code)));
  return r;
}

inline anchor_rows host_swap_sweep(const offload_parameters& p) {
  using namespace published;
  anchor_rows rows{{"A9", "host swap: a mean layer", "GiB", 0.531,
                    static_cast<double>(mean_swap_layer) / static_cast<double>(hp::GiB), criterion::absolute, 0.001,
                    3}};
  const auto layers = [](std::int64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(mean_swap_layer);
  };
  const double all = swap_layers;
  const int largest = static_cast<int>(std::lround(swap_largest_budget * 10)),
            smallest = static_cast<int>(std::lround(swap_smallest_budget * 10));
  for (int tenths = largest; tenths >= smallest; tenths -= 8) {
    const host_swap r = swap_at(p, tenths);
    const double budget = tenths / 10.0;
    rows.push_back(
        {"A9",
         fmt::format("moved, budget {:.1f} layers: at most {:.1f}; peak {:.1f}, step {:.3f} s, wait {:.1f} ms", budget,
                     std::max(0.0, all - budget + 1), layers(r.peak), seconds(r.time), seconds(r.wait) * 1e3),
         "layers", std::nullopt, layers(r.moved), criterion::at_least, std::max(0.0, all - budget), 1});
  }
  double excess = -all, least_rise = all, waits = 0;
  for (int tenths = largest; tenths >= 0; --tenths) {
    const host_swap r = swap_at(p, tenths);
    excess = std::max(excess, layers(r.moved) - std::max(0.0, (10 * swap_layers - tenths + 10) / 10.0));
    if (tenths < largest) least_rise = std::min(least_rise, layers(swap_at(p, tenths + 1).peak - r.peak));
    if (r.wait > 0) waits = std::max(waits, tenths / 10.0);
  }
  const std::string sweep = fmt::format("budgets 0 … {:.1f} by 0.1: ", swap_largest_budget);
  rows.push_back(
      {"A9", sweep + "most of moved - (L - B + 1)+", "layers", std::nullopt, excess, criterion::at_most, 0, 1});
  rows.push_back(
      {"A9", sweep + "least rise of the peak", "layers", std::nullopt, least_rise, criterion::at_least, 0, 1});
  rows.push_back({"A9", sweep + "largest that waits", "layers", std::nullopt, waits, criterion::at_most,
                  swap_smallest_budget, 1, standing::calibration});
  return rows;
}

}  // namespace tables
