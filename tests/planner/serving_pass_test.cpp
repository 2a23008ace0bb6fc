// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/serving_pass.hpp>

#include <hyperparallel/hardware/presets.hpp>

#include <gtest/gtest.h>

#include <algorithm>

#include "small_decoders.hpp"

namespace hp = hyperparallel;

namespace {

/// The sums that prefill has in closed form, token by token and chunk by chunk.
TEST(ServingPass, PositionsAreThoseOfLoops) {
  for (hp::extent_t tokens = 1; tokens <= 24; ++tokens)
    for (hp::extent_t window = 1; window <= 26; ++window) {
      hp::extent_t seen = 0;
      for (hp::extent_t t = 0; t < tokens; ++t) seen += std::min(t + 1, window);
      EXPECT_EQ(hp::detail::seen_positions(tokens, window), seen);
      for (hp::extent_t chunk = 1; chunk <= 25; ++chunk) {
        hp::extent_t read = 0;
        for (hp::extent_t begin = chunk; begin < tokens; begin += chunk) read += std::min(begin, window);
        EXPECT_EQ(hp::detail::positions_before_chunks(tokens, chunk, window), read) << tokens << " " << chunk;
      }
    }
}

// Links add to a pass what they take, and change no other roof.
TEST(ServingPass, LinksAreAfterTheOtherRoofs) {
  const hp::interconnect ub = hp::interconnect_of(hp::matrix384::topology);
  for (const hp::decoder& d : small_decoders::all()) {
    const hp::serving_plan p{.tp = 2, .batch = 3, .chunk = 4, .offloaded_layers = 1};
    if (!hp::check_serving(d, p, 2).ok()) continue;
    const hp::serving_amounts a = hp::serving_amounts_of(d, p, 0);
    const hp::detail::serving_pass pass(a, p, hp::matrix384::device, ub);
    for (hp::extent_t context = 1; context <= 9; ++context)
      for (const bool prefill : {false, true}) {
        const hp::serving_phase all = prefill ? pass.prefill(context) : pass.decode(context);
        hp::serving_phase beside = prefill ? pass.prefill_beside_links(context) : pass.decode_beside_links(context);
        EXPECT_GT(all.of(hp::serving_roof::links), 0);
        EXPECT_EQ(beside.of(hp::serving_roof::links), 0);
        EXPECT_EQ(all.stage_time(), beside.stage_time() + all.of(hp::serving_roof::links));
        EXPECT_EQ(all.hides_dram(), beside.hides_dram());
      }
  }
}

}  // namespace
