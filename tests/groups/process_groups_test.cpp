// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/groups/process_groups.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

struct omni
    : hp::process_groups<64, hp::named_group<"tower", hp::rank_range{0, 14}, 15>,
                         hp::named_group<"decoder", hp::rank_range{16, 63}>, hp::module_on<"vision", "tower">,
                         hp::module_on<"audio", "tower">, hp::module_on<"language", "decoder", "layers.*", "head*">,
                         hp::disjoint_groups, hp::complete_groups> {};
static_assert(omni::size<"tower"> == 16 && omni::size<"decoder"> == 48 && omni::size<"none"> == 0);

constexpr hp::group_table by_hand() {
  hp::group_table t;
  t.world = 64;
  t.disjoint = t.complete = true;
  hp::add_group(t, "tower", hp::rank_range{0, 14}, 15);
  hp::add_group(t, "decoder", hp::rank_range{16, 63});
  hp::add_module(t, "vision", "tower");
  hp::add_module(t, "audio", "tower");
  hp::add_module(t, "language", "decoder", "layers.*", "head*");
  return t;
}
static_assert(omni::table() == by_hand());

static_assert([] {
  const hp::group_table t =
      hp::process_groups<2, hp::named_group<"tower", 0, 1>, hp::frozen_module_on<"vision", "tower", "patch*">,
                         hp::module_on<"audio", "tower">>::table();
  return t.placed[0].frozen && t.placed[0].operators[0] == hp::short_text("patch*") && !t.placed[1].frozen;
}());

using tower = hp::named_group<"tower", hp::rank_range{0, 3}>;
using decoder = hp::named_group<"decoder", hp::rank_range{4, 7}>;
using vision = hp::module_on<"vision", "tower">;
using language = hp::module_on<"language", "decoder">;

static_assert(hp::valid_process_groups<8, tower, decoder, vision, language>);
static_assert(!hp::valid_process_groups<0, tower, decoder, vision, language>);
static_assert(!hp::valid_process_groups<8>);
static_assert(!hp::valid_process_groups<7, tower, decoder, vision, language>);
static_assert(!hp::valid_process_groups<8, tower, decoder, vision>);
static_assert(!hp::valid_process_groups<8, tower, vision, language>);
static_assert(!hp::valid_process_groups<8, tower, tower, vision>);
static_assert(!hp::valid_process_groups<8, tower, vision, vision>);
static_assert(!hp::valid_process_groups<8, hp::named_group<"tower">, vision>);
static_assert(!hp::valid_process_groups<8, hp::named_group<"">, vision>);
static_assert(!hp::valid_process_groups<8, hp::named_group<"tower", 1, 1>, vision>);
static_assert(!hp::valid_process_groups<8, hp::named_group<"tower", hp::rank_range{2, 1}>, vision>);
static_assert(!hp::valid_process_groups<8, hp::named_group<"tower", -1>, vision>);
static_assert(!hp::valid_process_groups<8, tower, vision, hp::complete_groups>);
static_assert(!hp::valid_process_groups<8, tower, int>);

using shared = hp::named_group<"decoder", hp::rank_range{3, 7}>;
static_assert(hp::valid_process_groups<8, tower, shared, vision, language>);
static_assert(!hp::valid_process_groups<8, tower, shared, vision, language, hp::disjoint_groups>);

TEST(process_groups, the_value_is_the_same_at_run_time) { EXPECT_EQ(omni::table(), by_hand()); }

}  // namespace
