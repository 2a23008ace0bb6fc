// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the replay of a pipeline schedule says: times, bubbles in both definitions, and peaks of activations.

#include <cstdint>

#include <hyperparallel/pipeline/sizes.hpp>
#include <hyperparallel/support/integer.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// One rank's share; of a rank that runs nothing zeros. Peaks count in the order of the list: +1 at the start of F, −1 at the end of what ends it.
struct rank_account {
  std::int64_t busy = 0, first_start = 0, last_end = 0;
  int peak_until_weight_gradient = 0;  ///< chunk activations of one micro-batch, each held until W or B
  int peak_until_input_gradient = 0;   ///< each held until I or B
  std::int64_t peak_bytes = 0;         ///< of activations
  constexpr std::int64_t span() const { return last_end - first_start; }
  friend constexpr bool operator==(const rank_account&, const rank_account&) = default;
};

/// Law: of a schedule that was refused no amount meets a limit: each is `not_counted`.
template <class Sizes>
struct basic_pipeline_account {
  pipeline_status status{};
  std::int64_t makespan = not_counted;           ///< last end over all ranks; times begin at 0
  std::int64_t longest_rank_span = not_counted;  ///< the largest over ranks of last end − first start
  std::int64_t ideal = not_counted;              ///< ⌈work of all ranks / ranks⌉: no schedule on these ranks is shorter
  typename Sizes::template per_rank<rank_account> rank{};

  constexpr bool ok() const { return status.ok(); }
  constexpr std::int64_t bubble() const { return ok() ? makespan - ideal : not_counted; }
  /// Of the zero-bubble papers: legitimate where the next step may start skewed.
  constexpr std::int64_t bubble_of_span() const { return ok() ? longest_rank_span - ideal : not_counted; }
  constexpr int peak_until_weight_gradient() const {
    int most = 0;
    for (const rank_account& r : rank) most = r.peak_until_weight_gradient > most ? r.peak_until_weight_gradient : most;
    return ok() ? most : 0x7fffffff;
  }
  constexpr int peak_until_input_gradient() const {
    int most = 0;
    for (const rank_account& r : rank) most = r.peak_until_input_gradient > most ? r.peak_until_input_gradient : most;
    return ok() ? most : 0x7fffffff;
  }
  constexpr std::int64_t peak_bytes() const {
    std::int64_t most = 0;
    for (const rank_account& r : rank) most = larger(most, r.peak_bytes);
    return ok() ? most : not_counted;
  }
};
using pipeline_account = basic_pipeline_account<growing_pipeline_sizes>;

}}  // namespace hyperparallel::v0_2
