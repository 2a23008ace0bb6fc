// SPDX-License-Identifier: Apache-2.0
// Two groups share a rank where disjoint ones are asked for.
// expect: diag::process_groups_cannot_be<
// expect: group_code::groups_share_a_rank
// expect: group_named<'d', 'e', 'c', 'o', 'd', 'e', 'r'>
// expect: other_group<'t', 'o', 'w', 'e', 'r'>
// expect: rank_number<3>
#include <hyperparallel/mpmd.hpp>

namespace hp = hyperparallel;

using tower = hp::named_group<"tower", hp::rank_range{0, 3}>;
using decoder = hp::named_group<"decoder", hp::rank_range{4, 7}>;
using vision = hp::module_on<"vision", "tower">;
using language = hp::module_on<"language", "decoder">;
using wide = hp::named_group<"decoder", hp::rank_range{3, 7}>;
static_assert(hp::valid_process_groups<8, tower, decoder, vision, language, hp::disjoint_groups>);
static_assert(!hp::valid_process_groups<8, tower, wide, vision, language, hp::disjoint_groups>);

#ifdef NEGATIVE
struct omni : hp::process_groups<8, tower, wide, vision, language, hp::disjoint_groups> {};
#else
struct omni : hp::process_groups<8, tower, decoder, vision, language, hp::disjoint_groups> {};
#endif

constexpr int groups = omni::table().group.size;
constexpr hp::extent_t ranks = omni::size<"tower">;
struct again : omni {};
