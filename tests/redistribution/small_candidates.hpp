// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every candidate of every move of a small mesh, on links of both kinds.

#include <hyperparallel/redistribution/candidate_parts.hpp>

#include <vector>

#include "support/all_layouts.hpp"
#include "support/small_links.hpp"

namespace small_candidates {

namespace hp = hyperparallel;

/// Every candidate of every pair of layouts of a 2x2 mesh, with terms, on both kinds of links.
template <class Visit>
void visit(const Visit& visit) {
  const hp::shape s{8, 4};
  const std::vector<hp::layout_value> all = worlds::partial_layouts({2, {2, 2}}, 2, {hp::reduce_op::sum});
  for (const hp::interconnect& net : {tested::node_links(), tested::mesh_links({2, {2, 2}})})
    for (const hp::layout_value& from : all)
      for (const hp::layout_value& to : all) {
        const hp::candidate_source candidates = hp::candidates_of(from, to, s, net);
        for (int c = 0; c < hp::move_candidate_count; ++c) {
          const auto candidate = static_cast<hp::move_candidate>(c);
          const hp::candidate_result built = hp::build_candidate(candidates, candidate);
          if (built.code == hp::candidate_code::ok) visit(from, to, s, candidate, net, built.parts);
        }
      }
}

}  // namespace small_candidates
