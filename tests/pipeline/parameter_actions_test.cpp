// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/parameter_actions.hpp>

#include <hyperparallel/pipeline/place_transfers.hpp>
#include <hyperparallel/pipeline/replay.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "pipeline/schedule_oracle.hpp"

namespace hp = hyperparallel;

namespace {

using schedule_oracle::kind;

TEST(parameter_actions, stages_are_unsharded_before_use_and_reduced_behind_their_last_gradient) {
  for (const hp::named_schedule& named : hp::schedule_table.item)
    for (int chunks = 1; chunks <= 6; ++chunks)
      for (int most = 2; most <= 4; ++most) {
        const hp::pipeline_shape n{4, chunks, 8};
        if (!named.check(n).ok()) continue;
        const hp::pipeline_schedule s = named.generate(n, true), all = hp::with_parameter_actions(s, most);
        EXPECT_TRUE(hp::check_schedule(all).ok());
        EXPECT_TRUE(hp::check_schedule(hp::place_transfers(all), hp::blocking_rows::value).ok());
        schedule_oracle::rows compute;
        for (const auto& row : schedule_oracle::rows_of(all)) {
          std::set<int> unsharded, reduced;
          std::map<int, int> over;
          compute.emplace_back();
          for (const hp::pipeline_action& a : row) {
            EXPECT_TRUE(a.kind != kind::unshard || unsharded.insert(a.stage).second);
            EXPECT_TRUE(a.kind != kind::reshard || unsharded.erase(a.stage) == 1);
            if (a.kind == kind::reduce_gradient) {
              EXPECT_TRUE(reduced.insert(a.stage).second);
              EXPECT_EQ(over[a.stage], s.share());
            }
            EXPECT_LE(unsharded.size(), static_cast<std::size_t>(most));
            if (!hp::is_compute(a.kind)) continue;
            EXPECT_EQ(unsharded.count(a.stage), 1u) << named.name;
            over[a.stage] += a.kind == kind::backward || a.kind == kind::weight_gradient;
            compute.back().push_back(a);
          }
          EXPECT_TRUE(unsharded.empty());
          EXPECT_EQ(reduced.size(), static_cast<std::size_t>(chunks * s.copies));
        }
        EXPECT_EQ(compute, schedule_oracle::rows_of(s));
      }
}

}  // namespace
