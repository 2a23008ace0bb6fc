// SPDX-License-Identifier: Apache-2.0
#pragma once
// The words of refused pipeline schedules: the part of the table of refusal_words.hpp that pipeline/ needs.

namespace hyperparallel { inline namespace v0_2 { namespace detail {

struct refusal_words {
  const char* key;
  const char* sentence;
  const char* remedy = "";
};

inline constexpr refusal_words pipeline_refusal_table[] = {
    {"first_argument_of_a_pipeline_is_no_schedule", "the first argument of pipeline, {type 1}, is no schedule",
     "The order is hp::pipeline<schedule, options...>; a schedule has a name, a placement, fits and row"},
    {"option_of_a_pipeline_is_no_option", "{type 1} is no option of pipeline",
     "Behind the schedule stand options: hp::stages<8>, hp::micro_batches<16>, hp::chunks<2>, hp::equal_times<1, 1, "
     "1>"},
    {"pipeline_code::sizes_are_not_positive",
     "a pipeline of {stages} stages, {chunks} on each rank, and {micro_batches} micro-batches has a size below 1",
     "Name them all: hp::pipeline<schedule, hp::stages<8>, hp::micro_batches<16>>"},
    {"pipeline_code::schedule_is_too_large",
     "{stages} stages times {micro_batches} micro-batches leave 32 bits[ ({type 2})]",
     "Plan fewer micro-batches: bubbles do not depend on their number"},
    {"pipeline_code::too_few_micro_batches",
     "schedule {type 2} needs at least {needed} micro-batches on {ranks} ranks, not {micro_batches}",
     "Raise the micro-batches, or take a schedule that starts with fewer, as one_forward_one_backward"},
    {"pipeline_code::micro_batches_do_not_divide",
     "schedule {type 2} runs {micro_batches} micro-batches on {ranks} ranks in {needed} rounds, which do not divide "
     "them",
     "Use a multiple of the ranks"},
    {"pipeline_code::stages_do_not_divide", "{stages} stages do not divide into {chunks} on each rank[ ({type 2})]",
     "Use a multiple of {chunks} stages, or other chunks"},
    {"pipeline_code::slices_do_not_divide",
     "schedule {type 2} cuts micro-batches into {needed} slices, which do not divide its {micro_batches}",
     "Count slices: micro_batches<...> is a multiple of them"},
    {"pipeline_code::ranks_do_not_divide", "schedule {type 2} runs on a multiple of {needed} ranks, not on {ranks}",
     "Use a multiple of {needed}: a bidirectional schedule mirrors one half of its ranks in the other"},
    {"pipeline_code::directions_do_not_divide",
     "micro-batches do not divide into {needed} directions[: schedule {type 2} has {micro_batches} of them]",
     "Use a multiple of {needed}: each direction of a bidirectional schedule has as many as the other"},
    {"pipeline_code::chunks_are_fixed", "schedule {type 2} has {needed} stages on each rank, not {chunks}",
     "Leave chunks<...> out, or give it {needed}"},
    {"pipeline_code::costs_do_not_fit",
     "the costs do not fit the pipeline: times and bytes are one entry, one a stage, or one a stage and micro-batch, "
     "none "
     "negative, and their sum fits 64 bits[ ({type 2})]"},
    {"pipeline_code::action_is_missing", "[rank {on_rank} never|no rank] runs {action}[ (schedule {type 2})]",
     "Each stage runs F, and either B or I and W, of each micro-batch"},
    {"pipeline_code::action_stands_twice", "rank {on_rank} runs {action} twice[ (schedule {type 2})]",
     "Drop one of them"},
    {"pipeline_code::action_is_on_a_wrong_rank",
     "rank {on_rank} runs {action}, but that stage lies on rank {needed}[ (schedule {type 2})]",
     "Move the action to the rank of its stage, or mend the placement"},
    {"pipeline_code::action_is_out_of_range",
     "rank {on_rank} runs {action}, a stage or micro-batch that does not exist[ (schedule {type 2})]"},
    {"pipeline_code::pair_has_no_backward", "rank {on_rank} overlaps {action} with no I or B[ (schedule {type 2})]",
     "Put the backward of the pair right behind its forward"},
    {"pipeline_code::activation_is_elsewhere",
     "rank {on_rank} runs {action} while the activation is not where it should be[ (schedule {type 2})]",
     "Offload after F, reload before I, B and W, and each once"},
    {"pipeline_code::transfer_leads_nowhere",
     "rank {on_rank} runs {action}, but that stage has no neighbour on another rank, or lies on another rank[ "
     "(schedule {type 2})]",
     "A send is named by the stage that sends, a receive by the stage that receives"},
    {"pipeline_code::transfer_is_missing",
     "rank {on_rank} never runs {action}, the other end of a message[ (schedule {type 2})]",
     "Each hop between ranks has one send and one receive: place_transfers puts them"},
    {"pipeline_code::messages_cross",
     "two ranks send and receive in different orders: {circle}, which is another place in the order[ (schedule {type "
     "2})]",
     "Messages have no tags: list the sends of a pair of ranks in the order of the receives"},
    {"pipeline_code::waits_in_a_circle",
     "the ranks wait for each other for ever[ under {under}]: {circle}[ (schedule {type 2})]",
     "Swap two actions of one of these ranks"},
};

}}}  // namespace hyperparallel::v0_2::detail
