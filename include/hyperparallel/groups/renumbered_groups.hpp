// SPDX-License-Identifier: Apache-2.0
#pragma once
// Groups of any ranks as groups of neighbours: sub-models run on ranks one behind another, and where these live is another matter.
//
//   const hp::renumbered_groups n = hp::renumber(table);      {"tower": [0, 2, 4], "decoder": [1, 3, 5]}
//   hp::submodel_plan plan{n.table, …};                       {"tower": [0-2], "decoder": [3-5]}
//   n.old_rank[3]                                             1: over MPI the process of rank 3 of the plan
//
// Laws: names, modules and sizes stay, and the position of a rank in its group; groups of equal ranks keep equal ones; `old_rank`
// is a permutation of the world, ranks in no group behind all others. Prices are those of neighbours: on links of several levels
// the clock takes each group to be as near as its new ranks are. Refused: what check_groups refuses, and groups that share some of
// their ranks and not all, or in another order, since a rank runs one program. O(ranks · log ranks).

#include <hyperparallel/groups/submodels.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct renumbered_groups {
  submodel_status status{};
  group_table table{};
  growing_array<int> old_rank{};  ///< of each new rank
};

constexpr renumbered_groups renumber(const group_table& t) {
  renumbered_groups out;
  if (const group_status s = check_groups(t); !s.ok()) {
    out.status = {.code = submodel_code::groups_are_refused, .groups = s};
    return out;
  }
  growing_array<int> new_rank(t.world, -1), group(t.world, -1);
  out.table = t;
  for (int g = 0; g < t.group.size; ++g) {
    const growing_array<int> ranks = ranks_of(t.group.item[g]);
    const int first = new_rank.item[ranks.item[0]] < 0 ? out.old_rank.size : new_rank.item[ranks.item[0]];
    const bool is_new = first == out.old_rank.size;
    for (int i = 0; i < ranks.size; ++i) {
      const int rank = ranks.item[i], other = group.item[rank];
      const int same = group.item[ranks.item[0]];  // the group that it has to be, where it is not new
      const bool fits = is_new ? other < 0
                               : other >= 0 && other == same && new_rank.item[rank] == first + i &&
                                     rank_count(t.group.item[same]) == ranks.size;
      if (!fits) {
        out.status = {.code = submodel_code::groups_overlap,
                      .group = g,
                      .other = other < 0 ? same : other,
                      .rank = other < 0 ? ranks.item[0] : rank};
        return out;
      }
      if (!is_new) continue;
      new_rank.item[rank] = out.old_rank.push(rank);
    }
    for (const int rank : ranks)
      if (is_new) group.item[rank] = g;
    out.table.group.item[g].ranks.clear();
    out.table.group.item[g].ranks.push(rank_range{first, first + ranks.size - 1});
  }
  for (int rank = 0; rank < t.world; ++rank)
    if (group.item[rank] < 0) out.old_rank.push(rank);
  return out;
}

}}  // namespace hyperparallel::v0_2
