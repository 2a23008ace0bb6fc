// SPDX-License-Identifier: Apache-2.0
// Rollout waits for weights and training for samples, and neither is there at the start.
// expect: diag::placed_programs_cannot_be<
// expect: programs_code::programs_wait_for_each_other
// expect: program_named<
// expect: edge_named<
#include <hyperparallel/mpmd.hpp>

namespace hp = hyperparallel;

using generation = hp::named_group<"generation", hp::rank_range{0, 3}>;
using training = hp::named_group<"training", hp::rank_range{4, 7}>;
using rollout = hp::program_on<"rollout", "generation", 128, 40, 20>;
using train = hp::program_on<"train", "training", 99, 60, 30>;
using samples = hp::edge_between<"samples", "rollout", "train", 0, 1>;
using weights = hp::edge_between<"weights", "train", "rollout", 1, 1>;
using none_ready = hp::edge_between<"weights", "train", "rollout", 0, 1>;
using memory = hp::bytes_of_device<90>;
static_assert(hp::valid_placed_programs<8, generation, training, rollout, train, samples, weights, memory>);
static_assert(!hp::valid_placed_programs<8, generation, training, rollout, train, samples, none_ready, memory>);

#ifdef NEGATIVE
struct rl : hp::placed_programs<8, generation, training, rollout, train, samples, none_ready, memory> {};
#else
struct rl : hp::placed_programs<8, generation, training, rollout, train, samples, weights, memory> {};
#endif

constexpr int rows = rl::graph().row.size;
constexpr hp::extent_t period = rl::period.time;
struct again : rl {};
