// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which programs fire on which thread.
//
// Programs of one row, which take turns, share a thread; a program of several rows is on that of the first, one without a row
// on its own. Fewer threads have the rows dealt to them. Laws: every program is in one list, in the order of its turns;
// no list is empty. O(programs + turns).

#include <algorithm>
#include <vector>

#include <hyperparallel/groups/program_graph.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// `threads`: at most so many lists; 0: as many as there are rows.
inline std::vector<std::vector<int>> thread_lists(const program_graph& g, int threads) {
  std::vector<std::vector<int>> lists(static_cast<std::size_t>(g.row.size));
  std::vector<bool> is_listed(static_cast<std::size_t>(g.program.size));
  const auto add = [&](std::vector<int>& to, int p) {
    if (!is_listed[static_cast<std::size_t>(p)]) to.push_back(p);
    is_listed[static_cast<std::size_t>(p)] = true;
  };
  for (int r = 0; r < g.row.size; ++r)
    for (const int p : g.row[r].turn) add(lists[static_cast<std::size_t>(r)], p);
  for (int p = 0; p < g.program.size; ++p)
    if (!is_listed[static_cast<std::size_t>(p)]) add(lists.emplace_back(), p);
  std::erase_if(lists, [](const std::vector<int>& l) { return l.empty(); });
  for (const auto n = static_cast<std::size_t>(std::max(threads, 0)); n > 0 && lists.size() > n; lists.pop_back()) {
    std::vector<int>& to = lists[(lists.size() - 1) % n];
    to.insert(to.end(), lists.back().begin(), lists.back().end());
  }
  return lists;
}

}}}  // namespace hyperparallel::v0_2::detail
