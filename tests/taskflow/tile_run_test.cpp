// SPDX-License-Identifier: Apache-2.0
// Runs are maximal, and their tasks differ in item and consecutive part alone, whatever the flow.

#include <gtest/gtest.h>

#include "flows.hpp"

namespace {

using namespace taskflow_test;

/// Tiles of three stages, the middle one with its waits cut at one tile.
struct stages {
  int tiles;

  template <class Flow>
  constexpr void operator()(Flow& f) const {
    hp::add_event(f, 0, 3);
    hp::task_draft d;
    d.signals = 1;
    for (int stage = 0; stage < 3; ++stage) {
      d.signal[0] = stage;
      hp::append(f, d, tiles);
      d.waits = 1;
      d.wait[0].event = stage;
    }
  }
};

constexpr int runs_of(stages build) {
  constexpr int most = 64;
  hp::fixed_taskflow<hp::taskflow_size{most, most, most, most, 3, 0, most, most}> f;
  build(f);
  int runs = 0;
  for (int t = 0; t < f.size.tasks; t = hp::end_of_run(f, t)) ++runs;
  return runs;
}
static_assert(runs_of({1}) == 3 && runs_of({2}) == 3 && runs_of({20}) == 3);

TEST(TileRun, AnyDifferenceEndsARun) {
  for (int changed = 0; changed < 13; ++changed) {
    const stages build{6};
    hp::owned_taskflow f(hp::measure(build));
    build(f);
    EXPECT_EQ(hp::end_of_run(f, 6), 12);
    EXPECT_EQ(hp::end_of_run(f, 8), 12) << "also from within";
    for (int stage = 0; stage <= 3; ++stage) EXPECT_EQ(f.run[stage], 6 * stage) << "as the builder noted";
    hp::task& k = f.task[9];
    int* const field[] = {&k.wait_begin, &k.wait_end, &k.signal_begin, &k.signal_end,  &k.access_begin,
                          &k.access_end, &k.rank,     &k.part,         &k.first_event, &k.first_slot};
    if (changed < 10) ++*field[changed];
    if (changed == 10) k.kind = hp::resource::copy_in;
    if (changed == 11) ++k.duration;
    if (changed == 12) k.part = 0;
    EXPECT_EQ(hp::end_of_run(f, 6), 9) << changed;
    EXPECT_EQ(hp::end_of_run(f, 6, 8), 8) << "no further than it is asked";
  }
}

}  // namespace
