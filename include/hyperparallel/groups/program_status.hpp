// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a graph of programs is refused: codes, and what is to blame.

#include <hyperparallel/groups/check_groups.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class programs_code : unsigned char {
  ok,
  graph_has_no_program,
  program_name_is_empty_or_too_long,  ///< program `program`
  program_stands_twice,               ///< program `program`, first as `other`
  duration_is_negative,               ///< of program `program`: `given`
  edge_name_is_empty_or_too_long,     ///< edge `edge`
  edge_stands_twice,                  ///< edge `edge`, first as `other`
  edge_end_is_no_program,             ///< edge `edge`: `given` of the `expected` programs
  ready_is_negative,                  ///< of edge `edge`: `given`
  room_is_too_small,                  ///< of edge `edge`: `given` for `expected`
  move_is_negative,                   ///< of edge `edge`: `given`
  times_overflow,
  row_has_no_ranks,              ///< row `row`
  row_runs_backwards,            ///< row `row`: from `rank` to `given`
  rows_share_a_rank,             ///< `rank` in rows `other` and `row`
  turn_is_no_program,            ///< of row `row`: `given` of the `expected` programs
  program_has_two_turns,         ///< program `program` in row `row`
  programs_wait_for_each_other,  ///< program `program` for `other` over `edge` or in `row`, and so on back to it
  wait_is_missing,               ///< of program `program` for `other`, over `edge` or in `row`
  staleness_is_unbounded,        ///< of edge `edge`: what is made with it goes round through program `program`
  staleness_is_exceeded,         ///< edge `edge` claims `given`, and it is `expected`
  groups_are_refused,            ///< `groups` says why
  program_names_no_group,        ///< program `program`; group `group` has the nearest name
  row_is_outside_the_world,      ///< `rank` of row `row`; there are `given`
  row_misses_a_program,          ///< row `row` has `rank`, which program `program` runs on too
  row_has_a_foreign_program,     ///< row `row` has no rank of program `program`
  rank_has_no_row                ///< `rank` of program `program`
};

constexpr const char* name_of(programs_code c) {
  return detail::enum_name(
      "ok\0graph_has_no_program\0program_name_is_empty_or_too_long\0program_stands_twice\0duration_is_negative\0"
      "edge_name_is_empty_or_too_long\0edge_stands_twice\0edge_end_is_no_program\0ready_is_negative\0room_is_too_"
      "small\0"
      "move_is_negative\0times_overflow\0row_has_no_ranks\0row_runs_backwards\0rows_share_a_rank\0turn_is_no_program\0"
      "program_has_two_turns\0programs_wait_for_each_other\0wait_is_missing\0staleness_is_unbounded\0"
      "staleness_is_exceeded\0groups_are_refused\0program_names_no_group\0row_is_outside_the_world\0"
      "row_misses_a_program\0row_has_a_foreign_program\0rank_has_no_row",
      c);
}

/// What is to blame, by number; -1 where nothing of its kind is.
struct programs_status {
  programs_code code = programs_code::ok;
  int program = -1, other = -1, edge = -1, row = -1, group = -1, rank = -1;
  extent_t given = 0, expected = 0;
  group_status groups{};
  constexpr bool ok() const { return code == programs_code::ok; }
  friend constexpr bool operator==(const programs_status&, const programs_status&) = default;
};

}}  // namespace hyperparallel::v0_2
