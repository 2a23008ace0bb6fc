// SPDX-License-Identifier: Apache-2.0
#pragma once
// A table of process groups as a type: one that cannot be is one error line.
//
//   struct omni : hp::process_groups<64, hp::named_group<"tower", hp::rank_range{0, 15}>,
//                                    hp::named_group<"decoder", hp::rank_range{16, 63}>,
//                                    hp::module_on<"vision", "tower">,
//                                    hp::module_on<"language", "decoder", "layers.*", "head*">, hp::disjoint_groups> {};
//   omni::table()                                        the value
//   static_assert(hp::claim_operators(model(), omni::table()).status.ok());
//
// `valid_process_groups` of the same arguments asks silently. Laws: those of check_groups.hpp.

#include <hyperparallel/groups/check_groups.hpp>
#include <hyperparallel/support/diagnostic.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// An argument of process_groups: a group of ranks and ranges, in the order of positions.
template <fixed_string Name, rank_range... Ranks>
struct named_group {
  static constexpr void apply(group_table& t) { add_group(t, Name.text, Ranks...); }
};

/// An argument of process_groups: a module on a group; without patterns it has the operators below its name.
template <fixed_string Name, fixed_string Group, fixed_string... Patterns>
struct module_on {
  static constexpr void apply(group_table& t) { add_module(t, Name.text, Group.text, Patterns.text...); }
};

/// An argument of process_groups: no two groups share a rank.
struct disjoint_groups {
  static constexpr void apply(group_table& t) { t.disjoint = true; }
};
/// An argument of process_groups: every rank of the world is in a group.
struct complete_groups {
  static constexpr void apply(group_table& t) { t.complete = true; }
};

namespace detail {

template <class Argument>
concept process_group_argument = requires(group_table& t) { Argument::apply(t); };

}  // namespace detail

namespace diag {

template <char...>
struct group_named;
template <char...>
struct other_group;
template <char...>
struct wanted_group;
template <char...>
struct module_named;
template <int>
struct rank_number;
template <int>
struct last_rank;
template <int>
struct world_size;

template <class Given>
struct argument_of_process_groups_is_none;
template <group_code Code, class... Where>
struct process_groups_cannot_be;

}  // namespace diag

namespace detail {

template <int World, class... Arguments>
constexpr group_table table_of_arguments() {
  group_table t;
  t.world = World;
  (Arguments::apply(t), ...);
  return t;
}

/// What is to blame, by name: texts in place of the table, which ends with the constant evaluation.
struct blamed_groups {
  group_status status{};
  short_text group{}, other{}, wanted{}, module{};
};

template <int World, class... Arguments>
constexpr blamed_groups blame_groups() {
  const group_table t = table_of_arguments<World, Arguments...>();
  blamed_groups b{check_groups(t)};
  const group_status& s = b.status;
  if (s.group >= 0) b.group = t.group.item[s.group].name;
  if (s.module >= 0) b.module = t.placed.item[s.module].name;
  if (s.code == group_code::groups_share_a_rank) b.other = t.group.item[s.other].name;
  if (s.code == group_code::module_names_no_group) b.wanted = t.placed.item[s.module].group;
  return b;
}

template <const blamed_groups& Blamed, short_text blamed_groups::* Name>
struct group_spelling {
  static constexpr const char* text = (Blamed.*Name).text;
  static constexpr int length = text_length(text);
};

template <class... Arguments>
struct first_that_is_no_group_argument {
  using type = accepted;
};
template <class Argument, class... Rest>
struct first_that_is_no_group_argument<Argument, Rest...> {
  using type = diag::argument_of_process_groups_is_none<Argument>;
};
template <process_group_argument Argument, class... Rest>
struct first_that_is_no_group_argument<Argument, Rest...> : first_that_is_no_group_argument<Rest...> {};

template <int World, class... Arguments>
struct process_groups_verdict {
  using type = typename first_that_is_no_group_argument<Arguments...>::type;
};
template <int World, process_group_argument... Arguments>
struct process_groups_verdict<World, Arguments...> {
  static constexpr blamed_groups blamed = blame_groups<World, Arguments...>();
  static constexpr group_code code = blamed.status.code;
  template <group_code Code, class = void>
  struct choose {
    using type =
        diag::process_groups_cannot_be<Code, spelled<diag::group_named, group_spelling<blamed, &blamed_groups::group>>,
                                       spelled<diag::other_group, group_spelling<blamed, &blamed_groups::other>>,
                                       spelled<diag::wanted_group, group_spelling<blamed, &blamed_groups::wanted>>,
                                       spelled<diag::module_named, group_spelling<blamed, &blamed_groups::module>>,
                                       diag::rank_number<blamed.status.rank>, diag::last_rank<blamed.status.given>,
                                       diag::world_size<World>>;
  };
  template <class Unused>
  struct choose<group_code::ok, Unused> {
    using type = accepted;
  };
  using type = typename choose<code>::type;
};

template <class Verdict>
inline constexpr bool accepts_groups = false;
template <>
inline constexpr bool accepts_groups<accepted> = true;

}  // namespace detail

/// Whether `process_groups<World, Arguments…>` would be accepted; silent when not.
template <int World, class... Arguments>
concept valid_process_groups =
    detail::accepts_groups<typename detail::process_groups_verdict<World, Arguments...>::type>;

/// The type form. Declare it as a named struct, so that symbols and errors say its name.
template <int World, class... Arguments>
struct process_groups {
  static_assert(insist<typename detail::process_groups_verdict<World, Arguments...>::type>::met);
  /// The value, made anew by each call.
  static constexpr group_table table() {
    group_table t;
    if constexpr (valid_process_groups<World, Arguments...>) t = detail::table_of_arguments<World, Arguments...>();
    return t;
  }
  /// Ranks of a group; 0 of none of that name.
  template <fixed_string Group>
  static constexpr extent_t size = [] {
    const group_table t = table();
    const int g = find_group(t, Group.text);
    return g < 0 ? extent_t{0} : rank_count(t.group.item[g]);
  }();
};

/// An argument of process_groups as module_on, of a module whose parameters are not trained, see frozen_modules.hpp.
template <fixed_string Name, fixed_string Group, fixed_string... Patterns>
struct frozen_module_on {
  static constexpr void apply(group_table& t) {
    const int module = add_module(t, Name.text, Group.text, Patterns.text...);
    t.placed.item[module].frozen = true;
  }
};

}}  // namespace hyperparallel::v0_2
