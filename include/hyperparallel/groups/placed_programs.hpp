// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs on their devices as a type: a placement that does not fit, or whose programs wait for each other, is one error line.
//
//   struct rl : hp::placed_programs<
//                   16, hp::named_group<"all", hp::rank_range{0, 15}>,
//                   hp::program_on<"rollout", "all", 128'470, 40'000, 20'000, hp::residence::swapped>,
//                   hp::program_on<"train", "all", 98'770, 60'000, 30'000>,
//                   hp::edge_between<"samples", "rollout", "train", 0, 1>,
//                   hp::edge_between<"weights", "train", "rollout", 1, 1>,
//                   hp::bytes_of_device<96'000>, hp::rate_of_swaps<50>, hp::colocated_placement> {};
//   rl::graph(), rl::table(), rl::placement()       the values; rows come from the groups, turns in the order of programs
//   static_assert(rl::period.time == 228'840);
//
// `valid_placed_programs` of the same arguments asks silently. Laws: those of placement.hpp.

#include <hyperparallel/groups/placement.hpp>
#include <hyperparallel/groups/process_groups.hpp>
#include <hyperparallel/groups/program_period.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What the arguments of placed_programs are applied to.
struct program_setting {
  group_table table{};
  program_graph graph{};
  program_placement placement{};
};

enum class residence : unsigned char { kept, swapped };

/// An argument: a program on a group, how long it fires, and its bytes on each rank.
template <fixed_string Name, fixed_string Group, extent_t Duration, extent_t Resident = 0, extent_t Working = 0,
          residence Stays = residence::kept>
struct program_on {
  static constexpr void apply(program_setting& s) {
    add_program(s.graph, Name.text, Group.text, Duration);
    s.placement.program.push({Resident, Working, Stays == residence::swapped});
  }
};

/// An argument: an edge between programs that stand before it.
template <fixed_string Name, fixed_string From, fixed_string To, int Ready, int Room,
          edge_reads Reads = edge_reads::every, extent_t Move = 0, int Behind = -1>
struct edge_between {
  static constexpr void apply(program_setting& s) {
    connect(s.graph, {detail::name_or_none(Name.text), detail::find_program(s.graph, From.text),
                      detail::find_program(s.graph, To.text), Ready, Room, Move, Reads, Behind});
  }
};

template <extent_t Bytes>
struct bytes_of_device {
  static constexpr void apply(program_setting& s) { s.placement.device_bytes = Bytes; }
};
template <extent_t BytesInAUnitOfTime>
struct rate_of_swaps {
  static constexpr void apply(program_setting& s) { s.placement.swap_rate = BytesInAUnitOfTime; }
};
struct disjoint_placement {
  static constexpr void apply(program_setting& s) { s.placement.kind = program_sharing::disjoint; }
};
struct colocated_placement {
  static constexpr void apply(program_setting& s) { s.placement.kind = program_sharing::colocated; }
};

namespace detail {

template <class Argument>
concept placed_program_argument =
    process_group_argument<Argument> || requires(program_setting& s) { Argument::apply(s); };

}  // namespace detail

namespace diag {

template <char...>
struct program_named;
template <char...>
struct other_program;
template <char...>
struct edge_named;
template <int>
struct row_number;
template <extent_t>
struct given;
template <extent_t>
struct expected;

template <class Given>
struct argument_of_placed_programs_is_none;
/// `Code` is of a placement_code, programs_code or group_code.
template <auto Code, class... Where>
struct placed_programs_cannot_be;

}  // namespace diag

namespace detail {

template <class Argument>
constexpr void apply_to_setting(program_setting& s) {
  if constexpr (process_group_argument<Argument>)
    Argument::apply(s.table);
  else
    Argument::apply(s);
}

/// Rows where the groups are such that there are any.
template <int World, class... Arguments>
constexpr program_setting setting_of_arguments() {
  program_setting s;
  s.table.world = World;
  (apply_to_setting<Arguments>(s), ...);
  bool placed = check_ranks_of_groups(s.table).ok();
  for (int p = 0; p < s.graph.program.size && placed; ++p) placed = check_group_of_program(s.graph, s.table, p).ok();
  if (placed) s.graph.row = rows_of(s.graph, s.table);
  return s;
}

/// What is to blame, by name, as blamed_groups.
struct blamed_programs {
  placement_status status{};
  short_text program{}, other{}, edge{}, group{}, wanted{};
};

template <int World, class... Arguments>
constexpr blamed_programs blame_programs() {
  const program_setting set = setting_of_arguments<World, Arguments...>();
  blamed_programs b{check_placement(set.graph, set.table, set.placement)};
  const programs_status& s = b.status.programs;
  const int program = s.ok() ? b.status.program : s.program, other = s.ok() ? b.status.other : s.other;
  const int group = s.groups.ok() ? s.group : s.groups.group;
  if (program >= 0) b.program = set.graph.program.item[program].name;
  if (s.code == programs_code::edge_stands_twice)
    b.other = set.graph.edge.item[other].name;
  else if (other >= 0)
    b.other = set.graph.program.item[other].name;
  if (s.edge >= 0) b.edge = set.graph.edge.item[s.edge].name;
  if (group >= 0) b.group = set.table.group.item[group].name;
  if (s.code == programs_code::program_names_no_group) b.wanted = set.graph.program.item[s.program].group;
  return b;
}

template <const blamed_programs& Blamed, short_text blamed_programs::* Name>
struct program_spelling {
  static constexpr const char* text = (Blamed.*Name).text;
  static constexpr int length = text_length(text);
};

template <class... Arguments>
struct first_that_is_no_program_argument {
  using type = accepted;
};
template <class Argument, class... Rest>
struct first_that_is_no_program_argument<Argument, Rest...> {
  using type = diag::argument_of_placed_programs_is_none<Argument>;
};
template <placed_program_argument Argument, class... Rest>
struct first_that_is_no_program_argument<Argument, Rest...> : first_that_is_no_program_argument<Rest...> {};

template <int World, class... Arguments>
struct placed_programs_verdict {
  using type = typename first_that_is_no_program_argument<Arguments...>::type;
};
template <int World, placed_program_argument... Arguments>
struct placed_programs_verdict<World, Arguments...> {
  static constexpr blamed_programs blamed = blame_programs<World, Arguments...>();
  static constexpr const placement_status& status = blamed.status;
  static constexpr const programs_status& programs = status.programs;
  template <auto Code>
  using refused = diag::placed_programs_cannot_be<
      Code, spelled<diag::program_named, program_spelling<blamed, &blamed_programs::program>>,
      spelled<diag::other_program, program_spelling<blamed, &blamed_programs::other>>,
      spelled<diag::edge_named, program_spelling<blamed, &blamed_programs::edge>>,
      spelled<diag::group_named, program_spelling<blamed, &blamed_programs::group>>,
      spelled<diag::wanted_group, program_spelling<blamed, &blamed_programs::wanted>>,
      diag::row_number<programs.ok() ? status.row : programs.row>,
      diag::rank_number<programs.groups.ok() ? programs.rank : programs.groups.rank>,
      diag::given<programs.ok()          ? status.given
                  : programs.groups.ok() ? programs.given
                                         : programs.groups.given>,
      diag::expected<programs.ok() ? status.expected : programs.expected>, diag::world_size<World>>;
  static constexpr auto choose() {
    if constexpr (status.ok())
      return static_cast<accepted*>(nullptr);
    else if constexpr (programs.ok())
      return static_cast<refused<status.code>*>(nullptr);
    else if constexpr (programs.groups.ok())
      return static_cast<refused<programs.code>*>(nullptr);
    else
      return static_cast<refused<programs.groups.code>*>(nullptr);
  }
  using type = std::remove_pointer_t<decltype(choose())>;
};

/// The period without its lists, which end with the constant evaluation.
struct period_figures {
  extent_t time = 0, firings = 1;
};

}  // namespace detail

/// Whether `placed_programs<World, Arguments…>` would be accepted; silent when not.
template <int World, class... Arguments>
concept valid_placed_programs =
    detail::accepts_groups<typename detail::placed_programs_verdict<World, Arguments...>::type>;

/// The type form. Declare it as a named struct, so that symbols and errors say its name.
template <int World, class... Arguments>
struct placed_programs {
  static_assert(insist<typename detail::placed_programs_verdict<World, Arguments...>::type>::met);
  /// The values, made anew by each call; empty where they are refused.
  static constexpr program_setting setting() {
    program_setting s;
    if constexpr (valid_placed_programs<World, Arguments...>) s = detail::setting_of_arguments<World, Arguments...>();
    return s;
  }
  static constexpr group_table table() { return setting().table; }
  static constexpr program_graph graph() { return setting().graph; }
  static constexpr program_placement placement() { return setting().placement; }
  /// With swaps.
  static constexpr detail::period_figures period = [] {
    const program_setting s = setting();
    const program_period p = period_of(with_swaps(s.graph, s.placement));
    return detail::period_figures{p.time, p.firings};
  }();
};

}}  // namespace hyperparallel::v0_2
