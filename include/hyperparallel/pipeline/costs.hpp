// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the actions of a pipeline cost: time by stage, or by stage and micro-batch, latency between ranks, bytes of
// activations. Times are integers in any one unit.

#include <cstdint>

#include <hyperparallel/support/growing_array.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Time of F, I and W of one stage and one micro-batch. B takes I + W.
struct stage_times {
  std::int64_t forward = 1, input_gradient = 1, weight_gradient = 1;
  constexpr std::int64_t backward() const { return input_gradient + weight_gradient; }
  constexpr std::int64_t all() const { return forward + backward(); }
  friend constexpr bool operator==(const stage_times&, const stage_times&) = default;
};

/// Bytes of one micro-batch's activation of a stage: all are there from the start of F; I ends some of them, W the rest.
struct stage_bytes {
  std::int64_t until_input_gradient = 0, until_weight_gradient = 0;
  constexpr std::int64_t all() const { return until_input_gradient + until_weight_gradient; }
  friend constexpr bool operator==(const stage_bytes&, const stage_bytes&) = default;
};

/// Law of `times` and `bytes`: one entry serves all stages; `stages` entries are one a stage; stages · micro-batches
/// entries are by stage, then micro-batch (sequence slices, experts out of balance). No entry: unit times, no bytes.
struct pipeline_costs {
  growing_array<stage_times> times;
  growing_array<stage_bytes> bytes;
  std::int64_t latency = 0;           ///< of each hop between ranks, after the producer's end; occupies nothing
  std::int64_t overlapped_pair = -1;  ///< an overlapped F and B; −1: as long as one after the other
  std::int64_t recompute = 0;         ///< one RECOMPUTE
};

/// Costs of stages that are all alike.
constexpr pipeline_costs equal_stages(stage_times times, std::int64_t latency = 0) {
  pipeline_costs c;
  c.times.push(times);
  c.latency = latency;
  return c;
}

/// The entry of (stage, micro_batch) in `list`, by the law above.
template <class Entry>
constexpr Entry entry_of(const growing_array<Entry>& list, int stages, int micro_batches, int stage, int k) {
  if (list.size == 0) return Entry{};
  if (list.size == 1) return list[0];
  return list[list.size == stages ? stage : stage * micro_batches + k];
}

/// Whether the lists have one of the lengths that the law names, no amount is negative, and no sum of all of them leaves
/// 64 bits.
constexpr bool costs_fit(const pipeline_costs& c, int stages, int micro_batches) {
  const std::int64_t most = INT64_MAX / 8 / (static_cast<std::int64_t>(stages) * micro_batches + 1);
  const auto length_fits = [&](int size) { return size <= 1 || size == stages || size == stages * micro_batches; };
  const auto fits = [&](std::int64_t amount) { return amount >= 0 && amount <= most; };
  if (!length_fits(c.times.size) || !length_fits(c.bytes.size)) return false;
  for (const stage_times& t : c.times)
    if (!fits(t.forward) || !fits(t.input_gradient) || !fits(t.weight_gradient)) return false;
  for (const stage_bytes& b : c.bytes)
    if (!fits(b.until_input_gradient) || !fits(b.until_weight_gradient)) return false;
  return fits(c.latency) && fits(c.recompute) && c.overlapped_pair >= -1 && c.overlapped_pair <= most;
}

}}  // namespace hyperparallel::v0_2
