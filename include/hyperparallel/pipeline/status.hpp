// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a pipeline schedule does not exist or is not safe: a code, and the rank, action and number that it concerns.

#include <hyperparallel/pipeline/action.hpp>
#include <hyperparallel/support/enum_text.hpp>
#include <hyperparallel/support/static_vector.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class pipeline_code : unsigned char {
  ok,
  sizes_are_not_positive,       ///< ranks, chunks of a rank or micro-batches below 1
  schedule_is_too_large,        ///< stages · micro-batches above `most_stage_micro_batches`
  too_few_micro_batches,        ///< `needed` at least
  micro_batches_do_not_divide,  ///< by `needed`, the rounds of an interleaved schedule
  stages_do_not_divide,         ///< by `needed`, the stages of a rank
  slices_do_not_divide,         ///< the micro-batches, by `needed` slices
  ranks_do_not_divide,          ///< by `needed`, the directions of a bidirectional schedule
  directions_do_not_divide,     ///< the micro-batches, by `needed` directions
  chunks_are_fixed,             ///< the schedule has `needed` stages on a rank
  costs_do_not_fit,             ///< lists of another length than costs.hpp says, negative times, or an overflow
  action_is_missing,            ///< of a file, where `rank` is −1, a stage that no rank runs
  action_stands_twice,
  action_is_on_a_wrong_rank,  ///< `needed` is the stage's rank
  action_is_out_of_range,     ///< of a file: a stage or micro-batch that does not exist
  pair_has_no_backward,       ///< an overlapped forward that no I or B follows
  activation_is_elsewhere,    ///< offloaded before its F or twice, reloaded unasked, or a gradient while it is away
  transfer_leads_nowhere,     ///< a send or receive without a stage at its other end, on one rank, or on a wrong rank
  transfer_is_missing,        ///< something waits for it, or its other end stands alone
  messages_cross,             ///< two ranks send and receive in different orders: see `cycle`
  waits_in_a_circle,          ///< deadlock: see `cycle`
};

/// The key of a code in the table of refusals.
constexpr const char* name_of(pipeline_code c) {
  return detail::enum_name(
      "ok\0sizes_are_not_positive\0schedule_is_too_large\0too_few_micro_batches\0micro_batches_do_not_divide\0"
      "stages_do_not_divide\0slices_do_not_divide\0ranks_do_not_divide\0directions_do_not_divide\0chunks_are_fixed\0"
      "costs_do_not_fit\0action_is_missing\0action_stands_twice\0action_is_on_a_wrong_rank\0action_is_out_of_range\0"
      "pair_has_no_backward\0activation_is_elsewhere\0transfer_leads_nowhere\0transfer_is_missing\0messages_cross\0"
      "waits_in_a_circle",
      c);
}

/// An action that a rank cannot begin, and where it stands in the rank's list.
struct waiting_action {
  int rank = -1, position = -1;
  pipeline_action action{};
  pipeline_action needs{};
  friend constexpr bool operator==(const waiting_action&, const waiting_action&) = default;
};

inline constexpr int most_waiting_actions = 8;

struct pipeline_status {
  pipeline_code code = pipeline_code::ok;
  int rank = -1;      ///< −1: concerns no rank
  int position = -1;  ///< in the rank's list, idle slots not counted
  pipeline_action action{};
  int needed = 0;
  /// Of a deadlock: each waits for an action of the next one's rank, the last for one of the first's; a longer circle
  /// shows its beginning.
  static_vector<waiting_action, most_waiting_actions> cycle{};

  constexpr bool ok() const { return code == pipeline_code::ok; }
  friend constexpr bool operator==(const pipeline_status&, const pipeline_status&) = default;
};

}}  // namespace hyperparallel::v0_2
