// SPDX-License-Identifier: Apache-2.0
// processes: 1
#include <gtest/gtest.h>

#include <map>

#include <hyperparallel/layout/tensor_map.hpp>
#include <hyperparallel/mpi/statement.hpp>

#include "support/all_layouts.hpp"

namespace hp = hyperparallel;

namespace {

TEST(statement_of, says_everything_about_a_plan) {
  hp::layout_value from = hp::replicated({2, {2, 4}}, 2), to = from;
  hp::append_cut(from, {0, 1, 1, 4});
  from.partial[0] = hp::reduce_op::sum;
  hp::append_cut(to, {1, 0, 1, 2});
  hp::append_cut(to, {1, 1, 2, 2});
  const std::string text = hp::detail::statement_of(hp::plan_move(from, to, {16, 8}), hp::bf16);
  EXPECT_EQ(text.find("shape 16x8\nelement bf16\nmesh 2x4\nsource [1, -], axis 0 is partial sum\n"), 0U) << text;
  EXPECT_NE(text.find("target [-, 0 1(pre 2, size 2)]\nstep "), std::string::npos) << text;
  EXPECT_NE(hp::detail::statement_of(hp::plan_move(to, to, {16, 8}), std::size_t{12}).find("element of 12 bytes"),
            std::string::npos);
}

/// Law: plans with one statement emit the same transfers.
TEST(statement_of, tells_all_plans_of_a_small_world_apart) {
  std::map<std::string, std::string> transfers;
  const std::vector<hp::layout_value> all = worlds::all_layouts({2, {2, 2}}, 2);
  for (const hp::layout_value& from : all)
    for (const hp::layout_value& to : all) {
      const hp::move_plan p = hp::plan_move(from, to, {8, 4});
      std::string emitted;
      for (int i = 0; i < p.step_count; ++i)
        for (int receiver = 0; receiver < 4; ++receiver) {
          const hp::step_receiver r = hp::receiver_of(p.step[i], p.shape, receiver);
          for (hp::extent_t k = 0; k < r.transfers; ++k) {
            const hp::transfer t = hp::transfer_at(p.step[i], r, k);
            emitted += std::to_string(t.sender) + ">" + std::to_string(receiver);
            for (int d = 0; d < 2; ++d)
              emitted += " " + std::to_string(t.part.dim[d].begin) + " " + std::to_string(t.part.dim[d].end);
          }
        }
      const auto [known, is_new] = transfers.emplace(hp::detail::statement_of(p, hp::f32), emitted);
      EXPECT_TRUE(is_new || known->second == emitted) << known->first;
    }
  EXPECT_EQ(transfers.size(), all.size() * (all.size() - 1) + 1);  // all pairs, and one for all that do not move
}

}  // namespace
