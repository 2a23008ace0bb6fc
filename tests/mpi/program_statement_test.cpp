// SPDX-License-Identifier: Apache-2.0
// processes: 1
#include <hyperparallel/mpi/program_statement.hpp>

#include <hyperparallel/strategy/partition.hpp>

#include "world/training_models.hpp"

#include <gtest/gtest.h>

#include <set>

namespace hp = hyperparallel;

namespace {

std::string statement(const hp::graph& g, const char* name, int ranks = 8) {
  const hp::sharded_program p = hp::partition(g, hp::strategy_called(name, ranks).strategy);
  return hp::detail::statement_of(p, hp::kinds_of_moves(p));
}

TEST(program_statement, is_the_same_for_the_same_program_alone) {
  const hp::graph g = training::small_step(1, 1);
  std::set<std::string> known;
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const char* const name = hp::named_strategy_at(i).name;
    const std::string text = statement(g, name);
    EXPECT_EQ(text, statement(g, name));
    EXPECT_TRUE(known.insert(text).second) << name;
  }
  EXPECT_NE(statement(g, "dp"), statement(training::small_step(2, 1), "dp"));
  EXPECT_NE(statement(g, "dp"), statement(training::small_step(1, 2), "dp"));
  hp::graph other = g;
  for (hp::graph_operator& op : other.op)
    if (op.kind == hp::id_of<hp::ops::rms_norm>) op.real[0] *= 1 + 1e-15;
  EXPECT_NE(statement(g, "dp"), statement(other, "dp"));
}

TEST(program_statement, goes_from_coarse_to_fine) {
  const std::string text = statement(training::small_step(2, 1), "dp-tp", 4);
  EXPECT_EQ(text.find("mesh dp=2, tp=2\n2 micro-batches\n"), 0U) << text.substr(0, 80);
  EXPECT_NE(text.find("\ntensor tokens 8x16 i32\n"), std::string::npos);
  EXPECT_NE(text.find("\nvalue of tokens [0, -] in storage "), std::string::npos);
  EXPECT_LT(text.find("\ntensor "), text.find("\nvalue of "));
  EXPECT_LT(text.find("\nvalue of "), text.find("\nmove of value "));
  EXPECT_NE(text.find(", update\n"), std::string::npos);
  EXPECT_EQ(text.back(), '\n');
}

}  // namespace
