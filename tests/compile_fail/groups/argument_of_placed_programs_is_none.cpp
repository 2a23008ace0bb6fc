// SPDX-License-Identifier: Apache-2.0
// An argument of placed programs is none.
// expect: diag::argument_of_placed_programs_is_none<
// expect: rank_range
#include <hyperparallel/mpmd.hpp>

namespace hp = hyperparallel;

using all = hp::named_group<"all", hp::rank_range{0, 7}>;
using rollout = hp::program_on<"rollout", "all", 128, 40, 20>;
using memory = hp::bytes_of_device<60>;
static_assert(hp::valid_placed_programs<8, all, rollout, memory>);
static_assert(!hp::valid_placed_programs<8, all, rollout, memory, hp::rank_range>);

#ifdef NEGATIVE
struct rl : hp::placed_programs<8, all, rollout, memory, hp::rank_range> {};
#else
struct rl : hp::placed_programs<8, all, rollout, memory> {};
#endif

constexpr int rows = rl::graph().row.size;
constexpr hp::extent_t period = rl::period.time;
struct again : rl {};
