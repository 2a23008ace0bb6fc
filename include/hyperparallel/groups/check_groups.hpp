// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a table of process groups has to hold, without a model.
//
// Laws of an accepted table: names are there, none too long and each once; every group has ranks, each once, of the world,
// and at least one module; every module is on a group that there is; where the table asks, no two groups share a rank, and
// every rank is in one. The first failure is named with its group, module and rank. Complexity: O(ranges · log ranges +
// names²) time, O(ranges) memory, however many ranks there are.

#include <hyperparallel/groups/group_table.hpp>
#include <hyperparallel/strategy/interval_packing.hpp>
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class group_code : unsigned char {
  ok,
  world_cannot_be,  ///< of `given` ranks
  table_has_no_group,
  group_name_is_empty_or_too_long,   ///< group `group`
  group_stands_twice,                ///< group `group`, first as `other`
  group_has_no_ranks,                ///< group `group`; module `module` is on it, or none
  ranks_run_backwards,               ///< group `group`: from `rank` to `given`
  rank_is_outside_the_world,         ///< group `group`, `rank`
  module_name_is_empty_or_too_long,  ///< module `module`
  module_stands_twice,               ///< module `module`, first as `other`
  pattern_is_empty_or_too_long,      ///< module `module`, pattern `given`
  module_names_no_group,             ///< module `module`; group `group` has the nearest name
  group_has_no_module,               ///< group `group`
  rank_stands_twice,                 ///< `rank` in group `group`
  groups_share_a_rank,               ///< `rank` in groups `other` and `group`
  rank_has_no_group,                 ///< `rank`
  table_stands_twice,                ///< table `table`, first as `other`
  graph_is_refused,
  module_has_no_operator,    ///< module `module` of the `given` names
  operator_has_no_module,    ///< name `named`
  operator_has_two_modules,  ///< name `named`: modules `other` and `module`
};

constexpr const char* name_of(group_code c) {
  return detail::enum_name(
      "ok\0world_cannot_be\0table_has_no_group\0group_name_is_empty_or_too_long\0group_stands_twice\0group_has_no_"
      "ranks\0"
      "ranks_run_backwards\0rank_is_outside_the_world\0module_name_is_empty_or_too_long\0module_stands_twice\0"
      "pattern_is_empty_or_too_long\0module_names_no_group\0group_has_no_module\0rank_stands_twice\0groups_share_a_"
      "rank\0"
      "rank_has_no_group\0table_stands_twice\0graph_is_refused\0module_has_no_operator\0operator_has_no_module\0"
      "operator_has_two_modules",
      c);
}

/// What is to blame, by number; -1 where nothing of its kind is.
struct group_status {
  group_code code = group_code::ok;
  int group = -1, module = -1, other = -1, rank = -1, given = -1, named = -1, table = -1;
  constexpr bool ok() const { return code == group_code::ok; }
  friend constexpr bool operator==(const group_status&, const group_status&) = default;
};

namespace detail {

constexpr group_status check_group(const group_table& t, int g) {
  const process_group& one = t.group.item[g];
  if (one.name.text[0] == '\0') return {.code = group_code::group_name_is_empty_or_too_long, .group = g};
  if (const int first = find_group(t, one.name.text); first != g)
    return {.code = group_code::group_stands_twice, .group = g, .other = first};
  if (one.ranks.empty()) {
    int m = 0;
    while (m < t.placed.size && t.placed.item[m].group != one.name) ++m;
    return {.code = group_code::group_has_no_ranks, .group = g, .module = m < t.placed.size ? m : -1};
  }
  for (const rank_range& r : one.ranks) {
    if (r.first > r.last)
      return {.code = group_code::ranks_run_backwards, .group = g, .rank = r.first, .given = r.last};
    if (r.first < 0 || r.last >= t.world)
      return {.code = group_code::rank_is_outside_the_world,
              .group = g,
              .rank = r.first < 0 || r.first >= t.world ? r.first : r.last};
  }
  return {};
}

constexpr group_status check_module(const group_table& t, int m) {
  const placed_module& one = t.placed.item[m];
  if (one.name.text[0] == '\0') return {.code = group_code::module_name_is_empty_or_too_long, .module = m};
  if (const int first = find_module(t, one.name.text); first != m)
    return {.code = group_code::module_stands_twice, .module = m, .other = first};
  for (int p = 0; p < one.operators.size; ++p)
    if (one.operators.item[p].text[0] == '\0')
      return {.code = group_code::pattern_is_empty_or_too_long, .module = m, .given = p};
  if (find_group(t, one.group.text) < 0)
    return {.code = group_code::module_names_no_group,
            .group = nearest_name_of(
                t.group.size, [&](int g) { return t.group.item[g].name.text; }, one.group.text),
            .module = m};
  return {};
}

/// The ranges of all groups by rising first rank, walked once. The first rank that is shared begins a range, so the walk
/// finds the least.
constexpr group_status check_ranks(const group_table& t) {
  growing_array<rank_range> range;
  growing_array<int> owner, order;
  growing_array<extent_t> key;
  for (int g = 0; g < t.group.size; ++g)
    for (const rank_range& r : t.group.item[g].ranks) {
      order.push(range.push(r));
      owner.push(g);
      key.push(-extent_t{r.first});
    }
  sort_by_falling(order, key);
  growing_array<int> reach(t.group.size, -1);  // of each group: its last rank so far
  for (const int i : order) {
    int& last = reach.item[owner.item[i]];
    if (range.item[i].first <= last)
      return {.code = group_code::rank_stands_twice, .group = owner.item[i], .rank = range.item[i].first};
    last = range.item[i].last;
  }
  int last = -1, whose = -1;  // of all groups
  for (const int i : order) {
    if (range.item[i].first <= last && t.disjoint)
      return {
          .code = group_code::groups_share_a_rank, .group = owner.item[i], .other = whose, .rank = range.item[i].first};
    if (range.item[i].first > last + 1 && t.complete) return {.code = group_code::rank_has_no_group, .rank = last + 1};
    if (range.item[i].last <= last) continue;
    last = range.item[i].last;
    whose = owner.item[i];
  }
  if (t.complete && last + 1 < t.world) return {.code = group_code::rank_has_no_group, .rank = last + 1};
  return {};
}

}  // namespace detail

/// Why the table is none; the first reason in the order of its groups, its modules, and its ranks.
constexpr group_status check_groups(const group_table& t) {
  if (t.world < 1 || t.world > detail::max_devices) return {.code = group_code::world_cannot_be, .given = t.world};
  if (t.group.empty()) return {.code = group_code::table_has_no_group};
  group_status s;
  for (int g = 0; g < t.group.size && s.ok(); ++g) s = detail::check_group(t, g);
  for (int m = 0; m < t.placed.size && s.ok(); ++m) s = detail::check_module(t, m);
  if (!s.ok()) return s;
  growing_array<bool> used(t.group.size, false);
  for (const placed_module& m : t.placed) used.item[find_group(t, m.group.text)] = true;
  for (int g = 0; g < t.group.size; ++g)
    if (!used.item[g]) return {.code = group_code::group_has_no_module, .group = g};
  return detail::check_ranks(t);
}

/// The same of each table, whose names differ; `table` says which.
constexpr group_status check_tables(const group_tables& all) {
  for (int i = 0; i < all.table.size; ++i) {
    group_status s = check_groups(all.table.item[i]);
    if (const int first = find_table(all, all.table.item[i].name.text); s.ok() && first != i)
      s = {.code = group_code::table_stands_twice, .other = first};
    s.table = s.ok() ? -1 : i;
    if (!s.ok()) return s;
  }
  return {};
}

}}  // namespace hyperparallel::v0_2
