// SPDX-License-Identifier: Apache-2.0
#pragma once
// The words of refused process groups: the part of the table of refusal_words.hpp that groups/ needs.

#include <hyperparallel/support/refusal_words_of_pipelines.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

inline constexpr refusal_words group_refusal_table[] = {
    {"argument_of_process_groups_is_none", "{type 1} is no argument of process_groups",
     "Behind the number of ranks stand hp::named_group<\"name\", ranks...>, hp::module_on<\"module\", \"group\">, "
     "hp::disjoint_groups "
     "and hp::complete_groups"},
    {"group_code::world_cannot_be", "a world of {world_size} ranks cannot be",
     "Give it 1 to 2^30 ranks, more than the last rank of a group"},
    {"group_code::table_has_no_group", "the table has no group", "Name at least one group of ranks"},
    {"group_code::group_name_is_empty_or_too_long", "the name of a group is empty, or longer than 31 characters"},
    {"group_code::group_stands_twice", "group {group_named} stands twice",
     "List all ranks of a group once; several modules may be on it"},
    {"group_code::group_has_no_ranks", "group {group_named} has no ranks[, and module {module_named} is on it]",
     "Give it ranks, or drop it"},
    {"group_code::ranks_run_backwards",
     "group {group_named} has ranks from {rank_number} to {last_rank}, which runs backwards",
     "The first rank comes first, both are among them"},
    {"group_code::rank_is_outside_the_world",
     "rank {rank_number} of group {group_named} is outside the world of {world_size} ranks",
     "Count ranks from 0, or give the world more"},
    {"group_code::module_name_is_empty_or_too_long", "the name of a module is empty, or longer than 31 characters"},
    {"group_code::module_stands_twice", "module {module_named} stands twice",
     "Place a module on one group; give it all of its patterns there"},
    {"group_code::pattern_is_empty_or_too_long",
     "a pattern of module {module_named} is empty, or longer than 31 characters"},
    {"group_code::module_names_no_group",
     "module {module_named} is on group {wanted_group}, which does not exist: the nearest is {group_named}",
     "Correct the name, or add the group"},
    {"group_code::group_has_no_module", "no module is on group {group_named}[ of {group_size} ranks]",
     "Place a module on it, or drop it"},
    {"group_code::rank_stands_twice", "rank {rank_number} stands twice in group {group_named}",
     "List each rank of a group once"},
    {"group_code::groups_share_a_rank",
     "groups {other_group} and {group_named} share rank {rank_number}, and the table asks for disjoint groups",
     "Take the rank from one of them, put their modules on one group, or leave disjoint_groups out"},
    {"group_code::rank_has_no_group",
     "rank {rank_number} of the {world_size} is in no group, and the table asks for a complete one",
     "Give it to a group, or leave complete_groups out"},
    {"group_code::table_stands_twice", "table {table_named} stands twice", "Name each table once"},
    {"group_code::graph_is_refused", "the model cannot be built", "See the status of its graph"},
    {"group_code::module_has_no_operator",
     "module {module_named} on group {group_named} has none of the {operators_asked} operators of the model[: the "
     "nearest is {nearest_operator}]",
     "Compare its name and patterns with the operators' names"},
    {"group_code::operator_has_no_module", "operator {operator_named} belongs to none of the {modules} modules",
     "Give a module a pattern that describes it"},
    {"group_code::operator_has_two_modules",
     "operator {operator_named} belongs to modules {other_module} and {module_named}",
     "Narrow a pattern: every operator has one module"},
    {"split_code::devices_are_not_positive", "{devices_given} devices cannot be split"},
    {"split_code::split_has_no_module", "there is no module to split devices among"},
    {"split_code::size_is_not_positive",
     "entry {entry_number} of module {module_named} has {devices_given} devices, expected at least 1"},
    {"split_code::time_is_negative", "entry {entry_number} of module {module_named} has a negative time"},
    {"split_code::module_has_no_size",
     "module {module_named} needs {devices_expected} devices, and none of its entries has as many",
     "Give its time with more devices"},
    {"split_code::devices_are_too_few",
     "{devices_given} devices are fewer than the {devices_expected} that the modules need at least"},
};

}}}  // namespace hyperparallel::v0_2::detail
