// SPDX-License-Identifier: Apache-2.0
#pragma once
// A move by the name of its candidate: the plans that carry it out, and what its busiest device receives.
//
// Laws: the parts are those that `choose_move` builds for the candidate on the same links. The busiest device is that of
// each step by itself: an upper bound of what one device receives in all steps. Candidates of several steps of a padded
// dim are those of the longer tensor (padded_move.hpp). Units: elements.

#include <hyperparallel/redistribution/busiest_receiver.hpp>
#include <hyperparallel/redistribution/candidates.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

move_parts parts_of_candidate_in_library(const layout_value& source, const layout_value& target, const shape& s,
                                         move_candidate candidate, const interconnect& links);
constexpr move_parts parts_of_candidate_here(const layout_value& source, const layout_value& target, const shape& s,
                                             move_candidate candidate, const interconnect& links) {
  if (candidate != move_candidate::exchange) {
    const extended_pair longer = extend(source, target, s);
    if (!longer.exists) return build_candidate(candidates_of(source, target, s, links), candidate).parts;
    move_parts parts =
        build_candidate(candidates_of(longer.source, longer.target, longer.shape, links), candidate).parts;
    for (int i = 0; i < parts.count; ++i) parts.part[i].padding = longer.padding;
    return parts;
  }
  move_parts parts;
  parts.count = 1;
  parts.part[0] = plan_move(source, target, s);
  return parts;
}

/// Domain: `plan_move` accepts the pair and the candidate can be built.
constexpr move_parts parts_of_candidate(const layout_value& source, const layout_value& target, const shape& s,
                                        move_candidate candidate, const interconnect& links) {
  HYPERPARALLEL_TWIN(detail::parts_of_candidate_in_library(source, target, s, candidate, links));
  return detail::parts_of_candidate_here(source, target, s, candidate, links);
}

/// Domain: one mesh.
constexpr extent_t most_received_by_steps(const move_parts& parts) {
  extent_t n = 0;
  for (int i = 0; i < parts.count; ++i)
    for (int k = 0; k < parts.part[i].step_count; ++k) {
      move_plan one;
      one.shape = parts.part[i].shape;
      one.step[one.step_count++] = parts.part[i].step[k];
      one.reduced = one.step[0].reduced;
      one.filled = one.step[0].filled;
      n += most_received(one);
    }
  return n;
}

}}}  // namespace hyperparallel::v0_2::detail
