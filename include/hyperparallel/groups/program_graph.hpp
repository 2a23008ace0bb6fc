// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs that run beside each other, on groups of ranks: actor, rollout, reward, reference, as a graph of values.
//
//   hp::program_graph g;
//   const int rollout = hp::add_program(g, "rollout", "generation", 357'400), train = hp::add_program(g, "train", "training", 269'800);
//   hp::connect(g, {.name = "samples", .from = rollout, .to = train, .ready = 0, .room = 1});
//   hp::connect(g, {.name = "weights", .from = train, .to = rollout, .ready = 2, .room = 2, .reads = hp::edge_reads::newest});
//
// Every program fires again and again, firing 0 first, one firing at a time. An edge carries versions of a set of tensors:
// 0 to `ready` - 1 are there before anything fires, and firing k of its writer writes version `ready` + k.
// Firing k of a reader waits for version k. It reads that one (`every`), or the newest that is there (`newest`), which is then
// at most `ready` firings of the writer behind. Firing k of the writer waits until a reader that takes every version has done
// firing k + `ready` - `room`, so no more than `room` versions are held, that which is written among them.
// A *row* is a set of ranks and the order in which the programs on them take their turns: the first of firing k + 1
// follows the last of firing k. So times are max-plus: the period is the greatest ratio, over cycles of waits, of durations
// to firings. check_programs.hpp says what a graph has to hold, staleness.hpp what `behind` claims.

#include <hyperparallel/groups/group_table.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct group_program {
  short_text name{};
  short_text group{};     ///< of a group_table
  extent_t duration = 0;  ///< of a firing, in any unit
  friend constexpr bool operator==(const group_program&, const group_program&) = default;
};

enum class edge_reads : unsigned char { every, newest };

struct program_edge {
  short_text name{};
  int from = -1, to = -1;  ///< programs
  int ready = 0;           ///< versions that are there before the first firing
  int room = 1;            ///< versions that may be held; at least `ready`, at least 1
  extent_t move = 0;       ///< time from the end of the writer's firing until the version is there
  edge_reads reads = edge_reads::every;
  int behind =
      -1;  ///< claims that what is made with a version is used at most so many firings late; -1: claims nothing
  friend constexpr bool operator==(const program_edge&, const program_edge&) = default;
};

struct program_row {
  growing_array<rank_range> ranks{};
  growing_array<int> turn{};  ///< programs in the order of their turns
  friend constexpr bool operator==(const program_row&, const program_row&) = default;
};

struct program_graph {
  growing_array<group_program> program{};
  growing_array<program_edge> edge{};
  growing_array<program_row> row{};
  friend constexpr bool operator==(const program_graph&, const program_graph&) = default;
};

/// Appends a program on the group of that name; returns its number.
constexpr int add_program(program_graph& g, const char* name, const char* group, extent_t duration = 0) {
  return g.program.push({detail::name_or_none(name), detail::name_or_none(group), duration});
}

/// Appends an edge; returns its number.
constexpr int connect(program_graph& g, const program_edge& e) { return g.edge.push(e); }

namespace detail {

/// Number of the program or edge of that name, or -1.
constexpr int find_program(const program_graph& g, const char* name) { return detail::find_named(g.program, name); }

}  // namespace detail
constexpr int find_edge(const program_graph& g, const char* name) { return detail::find_named(g.edge, name); }

}}  // namespace hyperparallel::v0_2
