// SPDX-License-Identifier: Apache-2.0
#pragma once
// The ways to carry out a move that a choice is made among, and why one of them may be missing.
//
//   exchange        the plan by fewest bytes (move_plan.hpp): one step, or collect and spread where terms meet
//   one_shot        every receiver reduces all terms of what it wants, in one step
//   normal_form     slices, one step of constant size, gathers: replicas hold distinct parts as long as they can, so
//                   that no block is larger than the source's and the target's
//   outer_first     axis by axis; gathers along outer axes first, while blocks are small; reductions inner axes first
//   inner_first     the other order
//   sliced          like outer_first after idle axes have taken slices, which they gather last
//   parked          like outer_first, but axes whose digits are for each other hold a spare factor instead of gathering
//   both_orders     on a full mesh of two dimensions: outer_first on one part of the tensor, inner_first on the other,
//                   at the same time; shares by which gathers of both orders end together
//   halves          the same with equal shares, and parked: best where all steps carry the same (all-to-all)
//
// Law: names and texts are distinct, and every enumerator has one.

namespace hyperparallel { inline namespace v0_2 {

enum class move_candidate : unsigned char {
  exchange,
  one_shot,
  normal_form,
  outer_first,
  inner_first,
  sliced,
  parked,
  both_orders,
  halves,
};
inline constexpr int move_candidate_count = 9;

constexpr const char* name_of(move_candidate candidate) {
  constexpr const char* names[] = {"exchange", "one-shot", "normal form", "outer first", "inner first",
                                   "sliced",   "parked",   "both orders", "halves"};
  return names[static_cast<int>(candidate)];
}

/// Why there is no such candidate for a move.
enum class candidate_code : unsigned char {
  ok,
  move_is_refused,  ///< by `plan_move`
  nothing_moves,    ///< the exchange is not needed, so nothing else is
  tensor_is_empty,
  cut_points_do_not_refine,  ///< digits are needed for layouts on the way
  too_many_dims,             ///< digits and what lies between exceed `max_dims`
  too_many_steps,            ///< more than `max_move_steps`
  nothing_is_reduced,
  no_axis_is_idle,        ///< or no dim divides further
  no_axis_is_in_the_way,  ///< or no dim divides further
  mesh_is_not_two_dimensional,
  no_dim_can_be_shared,
  // Set by the choice (choose_move.hpp):
  links_do_not_carry_it,
  folds_in_another_order,
  exceeds_the_memory_limit,
};

constexpr const char* text_of(candidate_code code) {
  constexpr const char* texts[] = {"",
                                   "the move is refused",
                                   "nothing moves",
                                   "the tensor is empty",
                                   "the cut points do not refine",
                                   "it needs too many dims",
                                   "it takes too many steps",
                                   "nothing is reduced",
                                   "no axis is idle",
                                   "no axis is in the way",
                                   "the links are no full mesh of two dimensions",
                                   "no dim can be shared",
                                   "the links do not carry it",
                                   "it folds terms in another order",
                                   "it exceeds the memory limit"};
  return texts[static_cast<int>(code)];
}

}}  // namespace hyperparallel::v0_2
