// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a graph of programs has to hold, by itself and against a table of process groups.
//
//   hp::program_graph g = …;                          programs and edges
//   g.row = hp::rows_of(g, table, {rollout, train});  rows from the groups, and one order of turns for all of them
//   hp::check_programs(g, table).ok()
//
// Laws of an accepted graph: names are there and each once; no number is negative, and sums of times fit 64 bits; an edge
// has room for what is ready and for one version at least; rows share no rank; no programs wait for each other, so all fire
// for ever; no edge claims to be less behind than it is. Against a table: every program is on a group; a row has exactly the
// programs whose ranks meet its own, and every rank of a program is in a row, so no device ever runs two programs and all
// ranks of a program are gathered before it fires. Rows of one order never wait for each other unless edges do.
// The first failure is named. Complexity: O(programs³ + names² + rows · ranges · programs).

#include <hyperparallel/groups/staleness.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

constexpr programs_status check_program(const program_graph& g, int p) {
  using enum programs_code;
  const group_program& one = g.program.item[p];
  if (one.name.text[0] == '\0') return {.code = program_name_is_empty_or_too_long, .program = p};
  if (const int first = find_program(g, one.name.text); first != p)
    return {.code = program_stands_twice, .program = p, .other = first};
  if (one.duration < 0) return {.code = duration_is_negative, .program = p, .given = one.duration};
  return {};
}

constexpr programs_status check_edge(const program_graph& g, int i) {
  using enum programs_code;
  const program_edge& e = g.edge.item[i];
  const int programs = g.program.size;
  if (e.name.text[0] == '\0') return {.code = edge_name_is_empty_or_too_long, .edge = i};
  if (const int first = find_edge(g, e.name.text); first != i)
    return {.code = edge_stands_twice, .other = first, .edge = i};
  const int ends[] = {e.from, e.to};
  for (const int end : ends)
    if (end < 0 || end >= programs)
      return {.code = edge_end_is_no_program, .edge = i, .given = end, .expected = programs};
  if (e.ready < 0) return {.code = ready_is_negative, .edge = i, .given = e.ready};
  if (e.room < 1 || e.room < e.ready)
    return {.code = room_is_too_small, .edge = i, .given = e.room, .expected = larger(1, e.ready)};
  if (e.move < 0) return {.code = move_is_negative, .edge = i, .given = e.move};
  return {};
}

constexpr programs_status check_row(const program_graph& g, int r) {
  using enum programs_code;
  const program_row& row = g.row.item[r];
  if (row.ranks.empty()) return {.code = row_has_no_ranks, .row = r};
  for (const rank_range& each : row.ranks)
    if (each.first > each.last) return {.code = row_runs_backwards, .row = r, .rank = each.first, .given = each.last};
  for (int i = 0; i < row.turn.size; ++i) {
    const int p = row.turn.item[i];
    if (p < 0 || p >= g.program.size)
      return {.code = turn_is_no_program, .row = r, .given = p, .expected = g.program.size};
    for (int before = 0; before < i; ++before)
      if (row.turn.item[before] == p) return {.code = program_has_two_turns, .program = p, .row = r};
  }
  return {};
}

/// Rows as groups that must not share a rank.
constexpr programs_status check_ranks_of_rows(const program_graph& g) {
  group_table t;
  t.disjoint = true;
  for (const program_row& row : g.row) t.group.push({{}, row.ranks});
  const group_status s = check_ranks(t);
  if (s.ok()) return {};
  return {.code = programs_code::rows_share_a_rank,
          .other = s.other < 0 ? s.group : s.other,
          .row = s.group,
          .rank = s.rank};
}

/// Whether the sums with which periods are found fit 64 bits: all times, times all firings on the way, once for each wait
/// and program.
constexpr bool times_fit(const program_graph& g) {
  const extent_t programs = g.program.size;
  extent_t time = 1, firings = 1 + programs, waits = programs + 2 * extent_t{g.edge.size}, product = 0;
  for (const group_program& p : g.program)
    if (add_overflows(time, p.duration, time)) return false;
  for (const program_edge& e : g.edge) {
    if (add_overflows(time, e.move, time)) return false;
    firings += extent_t{e.ready} + e.room;
  }
  for (const program_row& row : g.row) waits += row.turn.size;
  firings += waits;
  return firings <= INT32_MAX && !multiply_overflows(time, firings, product) &&
         !multiply_overflows(product, larger(10, (programs + 2) * waits), product);
}

/// The least rank of both lists; -1 of none.
constexpr int first_common_rank(const growing_array<rank_range>& a, const growing_array<rank_range>& b) {
  int least = -1;
  for (const rank_range& x : a)
    for (const rank_range& y : b) {
      const int first = x.first < y.first ? y.first : x.first, last = x.last < y.last ? x.last : y.last;
      if (first <= last && (least < 0 || first < least)) least = first;
    }
  return least;
}

/// The first rank of `r` that no row has; -1 of none.
constexpr int rank_without_row(const program_graph& g, const rank_range& r) {
  int at = r.first;
  for (bool covered = true; covered && at <= r.last;) {
    covered = false;
    for (const program_row& row : g.row)
      for (const rank_range& each : row.ranks)
        if (each.first <= at && at <= each.last && at <= r.last) {
          at = each.last + 1;
          covered = true;
        }
  }
  return at <= r.last ? at : -1;
}

constexpr programs_status check_ranks_of_groups(const group_table& t) {
  programs_status s{.code = programs_code::groups_are_refused};
  if (t.world < 1 || t.world > max_devices) s.groups = {.code = group_code::world_cannot_be, .given = t.world};
  for (int i = 0; i < t.group.size && s.groups.ok(); ++i) s.groups = check_group(t, i);
  if (s.groups.ok()) s.groups = check_ranks(t);
  return s.groups.ok() ? programs_status{} : s;
}

constexpr programs_status check_row_of_program(const program_graph& g, const process_group& group, int p, int r) {
  const program_row& row = g.row.item[r];
  const int common = first_common_rank(group.ranks, row.ranks);
  bool listed = false;
  for (const int turn : row.turn) listed = listed || turn == p;
  if (listed == (common >= 0)) return {};
  if (listed) return {.code = programs_code::row_has_a_foreign_program, .program = p, .row = r};
  return {.code = programs_code::row_misses_a_program, .program = p, .row = r, .rank = common};
}

constexpr programs_status check_group_of_program(const program_graph& g, const group_table& t, int p) {
  const group_program& one = g.program.item[p];
  if (find_group(t, one.group.text) >= 0) return {};
  return {.code = programs_code::program_names_no_group,
          .program = p,
          .group = nearest_name_of(t.group.size, [&](int i) { return t.group.item[i].name.text; }, one.group.text)};
}

}  // namespace detail

/// By itself. The first reason in the order of its programs, edges and rows; then what they mean together.
constexpr programs_status check_programs(const program_graph& g) {
  if (g.program.empty()) return {.code = programs_code::graph_has_no_program};
  programs_status s;
  for (int p = 0; p < g.program.size && s.ok(); ++p) s = detail::check_program(g, p);
  for (int e = 0; e < g.edge.size && s.ok(); ++e) s = detail::check_edge(g, e);
  for (int r = 0; r < g.row.size && s.ok(); ++r) s = detail::check_row(g, r);
  if (s.ok()) s = detail::check_ranks_of_rows(g);
  if (s.ok() && !detail::times_fit(g)) s.code = programs_code::times_overflow;
  if (s.ok()) s = detail::blame_cycle(detail::order_of_firing(g.program.size, waits_of(g)));
  return s.ok() ? detail::check_staleness(g) : s;
}

/// Against the groups as well; these need no modules.
constexpr programs_status check_programs(const program_graph& g, const group_table& t) {
  programs_status s = check_programs(g);
  if (s.ok()) s = detail::check_ranks_of_groups(t);
  for (int p = 0; p < g.program.size && s.ok(); ++p) s = detail::check_group_of_program(g, t, p);
  for (int r = 0; r < g.row.size && s.ok(); ++r)
    for (const rank_range& each : g.row.item[r].ranks)
      if (each.first < 0 || each.last >= t.world)
        return {.code = programs_code::row_is_outside_the_world,
                .row = r,
                .rank = each.first < 0 || each.first >= t.world ? each.first : each.last,
                .given = t.world};
  for (int p = 0; p < g.program.size && s.ok(); ++p) {
    const process_group& group = t.group.item[find_group(t, g.program.item[p].group.text)];
    for (int r = 0; r < g.row.size && s.ok(); ++r) s = detail::check_row_of_program(g, group, p, r);
    for (const rank_range& each : group.ranks)
      if (const int rank = detail::rank_without_row(g, each); rank >= 0 && s.ok())
        s = {.code = programs_code::rank_has_no_row, .program = p, .rank = rank};
  }
  return s;
}

/// The rows of programs on their groups: ranks that run the same programs are one row, whose turns come in `order`, a list
/// of all programs. Domain: groups as check_programs accepts them. O(ranges² · programs).
constexpr growing_array<program_row> rows_of(const program_graph& g, const group_table& t,
                                             const growing_array<int>& order) {
  growing_array<program_row> rows;
  growing_array<int> cut, sorted;  // where a range begins, or the one before has ended
  growing_array<extent_t> key;
  for (const group_program& p : g.program)
    for (const rank_range& r : t.group.item[find_group(t, p.group.text)].ranks) {
      sorted.push(cut.push(r.first));
      sorted.push(cut.push(r.last + 1));
    }
  for (const int at : cut) key.push(-extent_t{at});
  detail::sort_by_falling(sorted, key);
  for (int i = 0; i + 1 < sorted.size; ++i) {
    const rank_range stretch{cut.item[sorted.item[i]], cut.item[sorted.item[i + 1]] - 1};
    if (stretch.first > stretch.last) continue;
    program_row row;
    for (const int p : order)
      if (position_in(t.group.item[find_group(t, g.program.item[p].group.text)], stretch.first) >= 0) row.turn.push(p);
    if (row.turn.empty()) continue;
    int same = 0;
    while (same < rows.size && !(rows.item[same].turn == row.turn)) ++same;
    if (same == rows.size) rows.push(row);
    growing_array<rank_range>& ranks = rows.item[same].ranks;
    if (!ranks.empty() && ranks.last().last + 1 == stretch.first)
      ranks.last().last = stretch.last;
    else
      ranks.push(stretch);
  }
  return rows;
}
/// In the order in which the programs stand in the graph.
constexpr growing_array<program_row> rows_of(const program_graph& g, const group_table& t) {
  growing_array<int> order;
  for (int p = 0; p < g.program.size; ++p) order.push(p);
  return rows_of(g, t, order);
}

}}  // namespace hyperparallel::v0_2
