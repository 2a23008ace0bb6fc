// SPDX-License-Identifier: Apache-2.0
// Programs on the same devices keep more than fits while one of them fires.
// expect: diag::placed_programs_cannot_be<
// expect: placement_code::phase_does_not_fit
// expect: program_named<'t', 'r', 'a', 'i', 'n'>
// expect: row_number<0>
// expect: given<130>
// expect: expected<120>
#include <hyperparallel/mpmd.hpp>

namespace hp = hyperparallel;

using all = hp::named_group<"all", hp::rank_range{0, 7}>;
using rollout = hp::program_on<"rollout", "all", 128, 40, 20>;
using swapped = hp::program_on<"rollout", "all", 128, 40, 20, hp::residence::swapped>;
using train = hp::program_on<"train", "all", 99, 60, 30>;
using samples = hp::edge_between<"samples", "rollout", "train", 0, 1>;
using weights = hp::edge_between<"weights", "train", "rollout", 1, 1>;
using memory = hp::bytes_of_device<120>;
using rate = hp::rate_of_swaps<10>;
static_assert(hp::valid_placed_programs<8, all, swapped, train, samples, weights, memory, rate>);
static_assert(!hp::valid_placed_programs<8, all, rollout, train, samples, weights, memory, rate>);

#ifdef NEGATIVE
struct rl : hp::placed_programs<8, all, rollout, train, samples, weights, memory, rate> {};
#else
struct rl : hp::placed_programs<8, all, swapped, train, samples, weights, memory, rate> {};
#endif

constexpr int rows = rl::graph().row.size;
constexpr hp::extent_t period = rl::period.time;
struct again : rl {};
