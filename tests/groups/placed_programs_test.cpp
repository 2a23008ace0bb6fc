// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/groups/placed_programs.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

using all = hp::named_group<"all", hp::rank_range{0, 15}>;
using rollout = hp::program_on<"rollout", "all", 128'470, 40'000, 20'000, hp::residence::swapped>;
using train = hp::program_on<"train", "all", 98'770, 60'000, 30'000>;
using samples = hp::edge_between<"samples", "rollout", "train", 0, 1>;
using weights = hp::edge_between<"weights", "train", "rollout", 1, 2, hp::edge_reads::newest, 4'100, 0>;
using rate = hp::rate_of_swaps<50>;

struct rl : hp::placed_programs<16, all, rollout, train, samples, weights, hp::bytes_of_device<120'000>, rate,
                                hp::colocated_placement> {};

static_assert(rl::period.time == 128'470 + 1'600 + 98'770 + 4'100 && rl::period.firings == 1,
              "in turns, then the move");
static_assert(rl::graph().row.size == 1 && rl::graph().row[0].turn.size == 2);
static_assert(rl::table().world == 16 && rl::placement().program[0].swapped && !rl::placement().program[1].swapped);
static_assert(rl::graph().edge[1].behind == 0 && rl::graph().edge[1].reads == hp::edge_reads::newest);

// Bytes, kinds, waits, claims, groups and arguments that do not fit, asked silently.
template <class... More>
constexpr bool valid = hp::valid_placed_programs<16, all, rollout, train, samples, weights, rate, More...>;
static_assert(valid<hp::bytes_of_device<120'000>>);
static_assert(!valid<hp::bytes_of_device<119'999>>);
static_assert(!valid<hp::bytes_of_device<120'000>, hp::disjoint_placement>);
static_assert(!valid<hp::bytes_of_device<120'000>, int>);
static_assert(!valid<>);
static_assert(!valid<hp::bytes_of_device<200'000>, hp::edge_between<"round", "train", "rollout", 0, 1>>);
static_assert(!valid<hp::bytes_of_device<200'000>,
                     hp::edge_between<"late", "train", "rollout", 3, 4, hp::edge_reads::every, 0, 1>>);
static_assert(!valid<hp::bytes_of_device<200'000>, hp::edge_between<"nowhere", "train", "reward", 1, 1>>);
static_assert(!valid<hp::bytes_of_device<200'000>, hp::program_on<"reward", "al", 1>>);
static_assert(!valid<hp::bytes_of_device<200'000>, hp::named_group<"all", 3>>);
static_assert(!hp::valid_placed_programs<16>);

using generation = hp::named_group<"generation", hp::rank_range{0, 7}>;
using training = hp::named_group<"training", hp::rank_range{8, 15}>;
struct beside
    : hp::placed_programs<16, generation, training, hp::program_on<"rollout", "generation", 128'470, 40, 20>,
                          hp::program_on<"train", "training", 98'770, 60, 30>,
                          hp::edge_between<"samples", "rollout", "train", 0, 2>,
                          hp::edge_between<"weights", "train", "rollout", 2, 3, hp::edge_reads::newest, 4'100, 1>,
                          hp::bytes_of_device<90>, hp::disjoint_placement> {};
static_assert(beside::period.time == 128'470, "the longer of the two");

TEST(placed_programs, values_are_those_of_the_arguments) {
  const hp::program_setting s = rl::setting();
  EXPECT_TRUE(hp::check_placement(s.graph, s.table, s.placement).ok());
  EXPECT_EQ(hp::period_of(hp::with_swaps(s.graph, s.placement)).time, rl::period.time);
  EXPECT_STREQ(s.graph.program[1].name.text, "train");
  EXPECT_EQ(s.placement.device_bytes, 120'000);
}

}  // namespace
