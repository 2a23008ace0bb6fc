// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which programs share devices, and whether what they hold fits there in every phase.
//
//   disjoint     no two programs share a rank
//   colocated    programs that share a rank share all of theirs, and take turns on them
//   overlapping  groups meet in any way
//
//   hp::program_placement at{.kind = hp::program_sharing::colocated, .device_bytes = 96'000'000'000, .swap_rate = 50'000};
//   at.program.push({.resident = 40'000'000'000, .working = 20'000'000'000});                     of each program, a rank
//   at.program.push({.resident = 60'000'000'000, .working = 30'000'000'000, .swapped = true});
//   hp::check_placement(graph, table, at).ok(), hp::period_of(hp::with_swaps(graph, at))
//
// A *phase* of a row is the turn of one program on it: the ranks hold what all programs of the row keep between firings and
// what the one that fires works with. A program that is `swapped` hands what it keeps to a slower tier when its turn ends
// and takes it back before it fires, so it holds nothing in the phases of others; both copies are part of its turn, and
// where it is alone on its rows it never swaps. Laws: accepted are exactly the placements with which no phase of a row
// exceeds the bytes of a device and whose groups are as the kind says; `with_swaps` adds two copies to each firing of a
// program that swaps and changes nothing else. Complexity: that of check_programs, and O(turns²).

#include <hyperparallel/groups/check_programs.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class program_sharing : unsigned char { disjoint, colocated, overlapping };

constexpr const char* name_of(program_sharing k) { return detail::enum_name("disjoint\0colocated\0overlapping", k); }

/// Bytes of a program on each of its ranks.
struct memory_of_program {
  extent_t resident = 0;  ///< kept between its firings, versions that it reads and writes among them
  extent_t working = 0;   ///< beyond these, while it fires
  bool swapped = false;   ///< what is resident leaves the device while others fire
  friend constexpr bool operator==(const memory_of_program&, const memory_of_program&) = default;
};

struct program_placement {
  program_sharing kind = program_sharing::overlapping;
  extent_t device_bytes = 0;
  extent_t swap_rate = 0;  ///< bytes that a rank copies from or to the slower tier in a unit of the graph's time
  growing_array<memory_of_program> program{};
  friend constexpr bool operator==(const program_placement&, const program_placement&) = default;
};

enum class placement_code : unsigned char {
  ok,
  programs_are_refused,      ///< `programs` says why
  memory_of_other_programs,  ///< `given` programs of `expected`
  device_has_no_bytes,       ///< `given`
  bytes_are_negative,        ///< of program `program`
  swap_has_no_rate,          ///< `given`, and program `program` swaps
  programs_share_a_rank,     ///< `program` and `other` in row `row`, and the placement is disjoint
  groups_differ,             ///< of `program` and `other` in row `row`, and the placement is colocated
  phase_does_not_fit,        ///< of program `program` in row `row`: `given` bytes of `expected`
  swaps_overflow             ///< the time of program `program` with its swaps
};

constexpr const char* name_of(placement_code c) {
  return detail::enum_name(
      "ok\0programs_are_refused\0memory_of_other_programs\0device_has_no_bytes\0bytes_are_negative\0swap_has_no_rate\0"
      "programs_share_a_rank\0groups_differ\0phase_does_not_fit\0swaps_overflow",
      c);
}

struct placement_status {
  placement_code code = placement_code::ok;
  programs_status programs{};
  int program = -1, other = -1, row = -1;
  extent_t given = 0, expected = 0;
  constexpr bool ok() const { return code == placement_code::ok; }
  friend constexpr bool operator==(const placement_status&, const placement_status&) = default;
};

namespace detail {

/// Bytes on each rank of a row while the program of a turn fires; `not_counted` where that leaves 64 bits.
/// Domain: bytes are not negative.
constexpr extent_t bytes_of_phase(const program_graph& g, const program_placement& at, int row, int turn) {
  const growing_array<int>& turns = g.row.item[row].turn;
  extent_t sum = at.program.item[turns.item[turn]].working;
  for (int i = 0; i < turns.size; ++i) {
    const memory_of_program& m = at.program.item[turns.item[i]];
    if ((i == turn || !m.swapped) && add_overflows(sum, m.resident, sum)) return not_counted;
  }
  return sum;
}

/// Whether the program leaves its devices between firings: it is to, and is not alone on all of its rows.
constexpr bool swaps(const program_graph& g, const program_placement& at, int program) {
  if (!at.program.item[program].swapped) return false;
  for (const program_row& row : g.row)
    for (const int p : row.turn)
      if (p == program && row.turn.size > 1) return true;
  return false;
}

}  // namespace detail

/// The graph with the time of swaps in its firings. Domain: a placement that check_placement accepts.
constexpr program_graph with_swaps(program_graph g, const program_placement& at) {
  for (int p = 0; p < g.program.size; ++p)
    if (detail::swaps(g, at, p))
      g.program.item[p].duration += 2 * ceil_divide(at.program.item[p].resident, at.swap_rate);
  return g;
}

namespace detail {

constexpr placement_status check_memory(const program_graph& g, const program_placement& at) {
  using enum placement_code;
  if (at.program.size != g.program.size)
    return {.code = memory_of_other_programs, .given = at.program.size, .expected = g.program.size};
  if (at.device_bytes < 1) return {.code = device_has_no_bytes, .given = at.device_bytes};
  for (int p = 0; p < g.program.size; ++p) {
    const memory_of_program& m = at.program.item[p];
    if (m.resident < 0 || m.working < 0) return {.code = bytes_are_negative, .program = p};
    if (!swaps(g, at, p)) continue;
    if (at.swap_rate < 1) return {.code = swap_has_no_rate, .program = p, .given = at.swap_rate};
    extent_t time = 0;
    if (add_overflows(m.resident, m.resident, time) ||
        add_overflows(2 * ceil_divide(m.resident, at.swap_rate), g.program.item[p].duration, time))
      return {.code = swaps_overflow, .program = p};
  }
  return {};
}

/// Whether two programs are on the same rows.
constexpr bool same_rows(const program_graph& g, int a, int b) {
  for (const program_row& row : g.row) {
    bool has_a = false, has_b = false;
    for (const int p : row.turn) {
      has_a = has_a || p == a;
      has_b = has_b || p == b;
    }
    if (has_a != has_b) return false;
  }
  return true;
}

constexpr placement_status check_kind(const program_graph& g, program_sharing kind, int row) {
  const growing_array<int>& turn = g.row.item[row].turn;
  for (int i = 1; i < turn.size; ++i) {
    const int first = turn.item[0], p = turn.item[i];
    if (kind == program_sharing::disjoint)
      return {.code = placement_code::programs_share_a_rank, .program = p, .other = first, .row = row};
    if (kind == program_sharing::colocated && !same_rows(g, p, first))
      return {.code = placement_code::groups_differ, .program = p, .other = first, .row = row};
  }
  return {};
}

}  // namespace detail

/// Whether the programs run as check_programs says, and what they hold fits; the first phase that does not is named.
constexpr placement_status check_placement(const program_graph& g, const group_table& t, const program_placement& at) {
  placement_status s;
  s.programs = check_programs(g, t);
  if (!s.programs.ok()) s.code = placement_code::programs_are_refused;
  if (s.ok()) s = detail::check_memory(g, at);
  for (int r = 0; r < g.row.size && s.ok(); ++r) s = detail::check_kind(g, at.kind, r);
  for (int r = 0; r < g.row.size && s.ok(); ++r)
    for (int i = 0; i < g.row.item[r].turn.size && s.ok(); ++i)
      if (const extent_t bytes = detail::bytes_of_phase(g, at, r, i); bytes > at.device_bytes)
        s = {.code = placement_code::phase_does_not_fit,
             .program = g.row.item[r].turn.item[i],
             .row = r,
             .given = bytes,
             .expected = at.device_bytes};
  if (s.ok() && !detail::times_fit(with_swaps(g, at))) s.code = placement_code::swaps_overflow;
  return s;
}

}}  // namespace hyperparallel::v0_2
