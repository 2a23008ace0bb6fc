// SPDX-License-Identifier: Apache-2.0
// Ranks that no module is on.
// expect: diag::process_groups_cannot_be<
// expect: group_code::group_has_no_module
// expect: group_named<'d', 'e', 'c', 'o', 'd', 'e', 'r'>
#include <hyperparallel/mpmd.hpp>

namespace hp = hyperparallel;

using tower = hp::named_group<"tower", hp::rank_range{0, 3}>;
using decoder = hp::named_group<"decoder", hp::rank_range{4, 7}>;
using vision = hp::module_on<"vision", "tower">;
using language = hp::module_on<"language", "decoder">;
static_assert(hp::valid_process_groups<8, tower, decoder, vision, language>);
static_assert(!hp::valid_process_groups<8, tower, decoder, vision>);

#ifdef NEGATIVE
struct omni : hp::process_groups<8, tower, decoder, vision> {};
#else
struct omni : hp::process_groups<8, tower, decoder, vision, language> {};
#endif

constexpr int groups = omni::table().group.size;
constexpr hp::extent_t ranks = omni::size<"tower">;
struct again : omni {};
