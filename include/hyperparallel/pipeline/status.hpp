// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a pipeline schedule does not exist or is not safe: a code, and the rank, action and number that it concerns.

#include <hyperparallel/pipeline/action.hpp>
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
  switch (c) {
    case pipeline_code::ok:
      return "ok";
    case pipeline_code::sizes_are_not_positive:
      return "sizes_are_not_positive";
    case pipeline_code::schedule_is_too_large:
      return "schedule_is_too_large";
    case pipeline_code::too_few_micro_batches:
      return "too_few_micro_batches";
    case pipeline_code::micro_batches_do_not_divide:
      return "micro_batches_do_not_divide";
    case pipeline_code::stages_do_not_divide:
      return "stages_do_not_divide";
    case pipeline_code::slices_do_not_divide:
      return "slices_do_not_divide";
    case pipeline_code::ranks_do_not_divide:
      return "ranks_do_not_divide";
    case pipeline_code::directions_do_not_divide:
      return "directions_do_not_divide";
    case pipeline_code::chunks_are_fixed:
      return "chunks_are_fixed";
    case pipeline_code::costs_do_not_fit:
      return "costs_do_not_fit";
    case pipeline_code::action_is_missing:
      return "action_is_missing";
    case pipeline_code::action_stands_twice:
      return "action_stands_twice";
    case pipeline_code::action_is_on_a_wrong_rank:
      return "action_is_on_a_wrong_rank";
    case pipeline_code::action_is_out_of_range:
      return "action_is_out_of_range";
    case pipeline_code::pair_has_no_backward:
      return "pair_has_no_backward";
    case pipeline_code::activation_is_elsewhere:
      return "activation_is_elsewhere";
    case pipeline_code::transfer_leads_nowhere:
      return "transfer_leads_nowhere";
    case pipeline_code::transfer_is_missing:
      return "transfer_is_missing";
    case pipeline_code::messages_cross:
      return "messages_cross";
    case pipeline_code::waits_in_a_circle:
      return "waits_in_a_circle";
  }
  return "unknown";
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
