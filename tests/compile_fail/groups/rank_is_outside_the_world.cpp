// SPDX-License-Identifier: Apache-2.0
// A group has more ranks than there are.
// expect: diag::process_groups_cannot_be<
// expect: group_code::rank_is_outside_the_world
// expect: rank_number<7>
// expect: world_size<6>
#include <hyperparallel/mpmd.hpp>

namespace hp = hyperparallel;

using tower = hp::named_group<"tower", hp::rank_range{0, 3}>;
using decoder = hp::named_group<"decoder", hp::rank_range{4, 7}>;
using vision = hp::module_on<"vision", "tower">;
using language = hp::module_on<"language", "decoder">;
static_assert(hp::valid_process_groups<8, tower, decoder, vision, language>);
static_assert(!hp::valid_process_groups<6, tower, decoder, vision, language>);

#ifdef NEGATIVE
struct omni : hp::process_groups<6, tower, decoder, vision, language> {};
#else
struct omni : hp::process_groups<8, tower, decoder, vision, language> {};
#endif

constexpr int groups = omni::table().group.size;
constexpr hp::extent_t ranks = omni::size<"tower">;
struct again : omni {};
