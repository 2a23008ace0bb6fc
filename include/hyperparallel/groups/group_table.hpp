// SPDX-License-Identifier: Apache-2.0
#pragma once
// Process groups: which ranks run which module of a model, as a table beside the model, which knows nothing of it.
//
//   hp::group_table t;
//   t.world = 64;
//   hp::add_group(t, "tower", hp::rank_range{0, 15});
//   hp::add_group(t, "decoder", hp::rank_range{16, 63});
//   hp::add_module(t, "vision", "tower");                           operators vision and vision.*
//   hp::add_module(t, "language", "decoder", "layers.*", "head*");  operators that one of the patterns describes
//
// A group is a set of ranks in the order of their positions; several modules may be on one. check_groups.hpp says what a
// table has to hold, module_claims.hpp holds it against a model, process_groups.hpp makes it a type, io/group_file.hpp a file.
// Ranks stay ranges: a table takes memory by its entries, not by its ranks.

#include <hyperparallel/graph/sharding_plan.hpp>
#include <hyperparallel/mesh/coordinates.hpp>
#include <hyperparallel/support/growing_array.hpp>
#include <hyperparallel/support/integer.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Ranks `first` to `last`, both among them.
struct rank_range {
  int first = 0, last = 0;
  constexpr rank_range() = default;
  // Implicit on purpose: a list of ranks reads as one.
  constexpr rank_range(int rank) : first(rank), last(rank) {}
  constexpr rank_range(int first_rank, int last_rank) : first(first_rank), last(last_rank) {}
  friend constexpr bool operator==(const rank_range&, const rank_range&) = default;
};

struct process_group {
  short_text name{};
  growing_array<rank_range> ranks{};  ///< in the order of positions
  friend constexpr bool operator==(const process_group&, const process_group&) = default;
};

/// A module of a model and the group that it is on.
struct placed_module {
  short_text name{};
  short_text group{};
  growing_array<short_text> operators{};  ///< patterns of names; none: the module's name and all names below it
  bool frozen = false;                    ///< its parameters are not trained, see frozen_modules.hpp
  friend constexpr bool operator==(const placed_module&, const placed_module&) = default;
};

struct group_table {
  short_text name{};
  int world = 0;          ///< ranks that there are
  bool disjoint = false;  ///< asks that no two groups share a rank
  bool complete = false;  ///< asks that every rank of the world is in a group
  growing_array<process_group> group{};
  growing_array<placed_module> placed{};
  friend constexpr bool operator==(const group_table&, const group_table&) = default;
};

/// Several tables of one model, each with its name.
struct group_tables {
  growing_array<group_table> table{};
  friend constexpr bool operator==(const group_tables&, const group_tables&) = default;
};

namespace detail {

/// A name that would be cut becomes the empty one, which every table refuses.
constexpr short_text name_or_none(const char* name) { return short_text(fits(name) ? name : ""); }

/// Number of the element of that name, or -1. O(elements · name).
template <class Named>
constexpr int find_named(const growing_array<Named>& all, const char* name) {
  for (int i = 0; i < all.size; ++i)
    if (same_text(all.item[i].name.text, name)) return i;
  return -1;
}

}  // namespace detail

/// Appends a group of ranks and ranges; returns its number.
template <class... Ranges>
constexpr int add_group(group_table& t, const char* name, const Ranges&... ranks) {
  process_group g{detail::name_or_none(name)};
  (g.ranks.push(rank_range(ranks)), ...);
  return t.group.push(g);
}

/// Appends a module on the group of that name; returns its number.
template <class... Patterns>
constexpr int add_module(group_table& t, const char* name, const char* group, const Patterns&... patterns) {
  placed_module m{detail::name_or_none(name), detail::name_or_none(group)};
  (m.operators.push(detail::name_or_none(patterns)), ...);
  return t.placed.push(m);
}

/// Number of the table, group or module of that name, or -1. O(names · length).
constexpr int find_table(const group_tables& all, const char* name) { return detail::find_named(all.table, name); }
constexpr int find_group(const group_table& t, const char* name) { return detail::find_named(t.group, name); }
constexpr int find_module(const group_table& t, const char* name) { return detail::find_named(t.placed, name); }

/// Ranks of a group. Domain: no range runs backwards. O(ranges).
constexpr extent_t rank_count(const process_group& g) {
  extent_t n = 0;
  for (const rank_range& r : g.ranks) n += extent_t{r.last} - r.first + 1;
  return n;
}

/// The rank at a position of the group. Domain: 0 ≤ position < rank_count(g). O(ranges).
constexpr int rank_at(const process_group& g, int position) {
  int i = 0;
  for (; position > g.ranks.item[i].last - g.ranks.item[i].first; ++i)
    position -= g.ranks.item[i].last - g.ranks.item[i].first + 1;
  return g.ranks.item[i].first + position;
}

/// The position of a rank in the group, or -1. Law: position_in(g, rank_at(g, p)) = p where no rank stands twice. O(ranges).
constexpr int position_in(const process_group& g, int rank) {
  int before = 0;
  for (const rank_range& r : g.ranks) {
    if (rank >= r.first && rank <= r.last) return before + rank - r.first;
    before += r.last - r.first + 1;
  }
  return -1;
}

/// The ranks one by one, by position: what a `rank_list` of a mesh points to. O(ranks).
constexpr growing_array<int> ranks_of(const process_group& g) {
  growing_array<int> all;
  all.reserve(static_cast<int>(rank_count(g)));
  for (const rank_range& r : g.ranks)
    for (int rank = r.first; rank <= r.last; ++rank) all.push(rank);
  return all;
}

namespace detail {

/// Whether the module has the operator of that name: one of its patterns describes the name, or, where it has none, the
/// name is the module's or begins with it and a dot. O(patterns · length²).
constexpr bool has_operator(const placed_module& m, const char* name) {
  for (const short_text& pattern : m.operators)
    if (name_matches(pattern.text, name)) return true;
  const int length = text_length(m.name.text);
  for (int i = 0; i < length; ++i)
    if (name[i] != m.name.text[i]) return false;
  return m.operators.empty() && (name[length] == '\0' || name[length] == '.');
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
