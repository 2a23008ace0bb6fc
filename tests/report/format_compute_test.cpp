// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/report/format_compute.hpp>

#include <hyperparallel/layers/linear.hpp>
#include <hyperparallel/operators/operator_list.hpp>
#include <hyperparallel/strategy/partition.hpp>
#include <hyperparallel/strategy/strategies.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

namespace hp = hyperparallel;

struct normalised_sum {
  static constexpr const char *name = "normalised_sum", *text = "*H,*H,H->*H,*H";
  static constexpr int flops_per_point = 5;
};

hp::sharded_program program() {
  hp::model_builder m({.operators = hp::operators<hp::builtin, normalised_sum>::list});
  const int batch = m.dim("batch", 8), hidden = m.dim("hidden", 16), wide = m.dim("ffn", 32);
  const int x = m.input("x", {batch, hidden}), r = m.input("r", {batch, hidden});
  const int norm = m.apply<normalised_sum>("norm", {x, r, m.parameter("weight", {hidden})});
  const int up = hp::linear_layer{"up", {wide}}(m, norm + 1);
  hp::linear_layer{"down", {hidden}}(m, up);
  hp::strategy_value s;
  const char* const names[] = {"dp", "tp"};
  const int sizes[] = {2, 4};
  s.mesh = hp::make_mesh(names, 2, sizes, 2).mesh;
  hp::add_data_parallel(s, "dp");
  hp::detail::add_column_parallel(s, "up", "tp");
  hp::detail::add_row_parallel(s, "down", "tp");
  return hp::partition(m.graph, s);
}

// A user's operator and built-in ones: rule, placement, pending sums, work of one of the eight devices.
TEST(FormatCompute, ShowsRulePlacementAndWork) {
  const hp::sharded_program p = program();
  ASSERT_EQ(p.status.code, hp::strategy_code::ok);
  EXPECT_EQ(hp::compute_text(p),
            "operator  kind            rule            sharded                        pending  flop  bytes\n"
            "--------  --------------  --------------  -----------------------------  -------  ----  -----\n"
            "norm      normalised_sum  aH,aH,H->aH,aH  batch 8 / dp 2                 -         320   1088\n"
            "up        contract        ca,ab->cb       batch 8 / dp 2, ffn 32 / tp 4  -        1024    896\n"
            "down      contract        ca,ab->cb       batch 8 / dp 2, ffn 32 / tp 4  tp       1024    896\n");
}

TEST(FormatCompute, ChoosesByName) {
  const hp::sharded_program p = program();
  const std::string one = hp::compute_text(p, "d*n");
  EXPECT_EQ(one.find("norm"), std::string::npos);
  EXPECT_NE(one.find("down"), std::string::npos);
}

}  // namespace
