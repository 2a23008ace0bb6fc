// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/ops/block_steps.hpp>

#include <gtest/gtest.h>

#include "operator_cases.hpp"

namespace {

using namespace kernel_test;
namespace mk = hp::kernels;

// Points of a list of loops, its tables and its walk are one numbering: row-major in the order of the list.
TEST(BlockSteps, TablesAndWalksAgreeWithTheDefinition) {
  std::mt19937 random(1);
  for (const char* text : {"abc->cab", "a->ba", "abcd->db", "->a", "ab->"}) {
    const run_case<double> c(hp::id_of<hp::ops::reduce>, text, "n", {}, random);
    const hp::operator_call call = c.whole();
    mk::detail::loop_list list;
    for (int l = c.op.loop_count - 1; l >= 0; --l) list.push(l);
    const mk::detail::loop_steps steps[2] = {mk::detail::steps_of(call, c.rule().operand[0]),
                                             mk::detail::steps_of(call, c.rule().result[0])};
    std::vector<extent_t> table[2];
    for (int t = 0; t < 2; ++t) mk::detail::offsets_of(call, list, steps[t], table[t]);
    std::vector<extent_t> seen[2];
    mk::detail::for_each_point(call, list, steps, [&](const extent_t(&offset)[2]) {
      for (int t = 0; t < 2; ++t) seen[t].push_back(offset[t]);
    });
    EXPECT_EQ(static_cast<extent_t>(table[0].size()), mk::detail::points_of(call, list));
    for (int t = 0; t < 2; ++t) {
      EXPECT_EQ(seen[t], table[t]) << text;
      const hp::tensor_factors& tensor = t == 0 ? c.rule().operand[0] : c.rule().result[0];
      for (std::size_t p = 0; p < table[t].size(); ++p) {
        extent_t index[hp::max_operator_loops] = {}, rest = static_cast<extent_t>(p), expected = 0;
        for (int i = list.count - 1; i >= 0; --i) {
          index[list.loop[i]] = rest % call.loop[list.loop[i]].extent;
          rest /= call.loop[list.loop[i]].extent;
        }
        for (int d = 0; d < tensor.rank; ++d)
          expected = expected * call.loop[tensor.term[d]].extent + index[tensor.term[d]];
        ASSERT_EQ(table[t][p], expected) << text;
      }
    }
  }
}

TEST(BlockSteps, ListsChooseByOtherTensors) {
  std::mt19937 random(2);
  const run_case<double> c(hp::id_of<hp::ops::contract>, "abk,kcb->cab", "nn", {}, random);
  const hp::tensor_factors &a = c.rule().operand[0], &b = c.rule().operand[1], &r = c.rule().result[0];
  const auto letters = [&](const mk::detail::loop_list& list) {
    std::string s;
    for (int i = 0; i < list.count; ++i) s += c.letter_of(list.loop[i]);
    return s;
  };
  EXPECT_EQ(letters(mk::detail::loops_of(r)), "cab");
  EXPECT_EQ(letters(mk::detail::loops_of(r, {&a, &b}, {})), "b");
  EXPECT_EQ(letters(mk::detail::loops_of(a, {}, {&r})), "k");
  EXPECT_EQ(letters(mk::detail::loops_of(a, {&r}, {&b})), "a");
}

TEST(BlockSteps, RefusalsNameTheOperator) {
  std::mt19937 random(3);
  const run_case<double> c(hp::id_of<hp::ops::scale>, "->", "n", {}, random);
  const hp::operator_call call = c.whole();
  mk::expect(true, call, "never");
  try {
    mk::detail::last_loop(call, c.rule().operand[0]);
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), "scale: an operand has no dims");
  }
}

}  // namespace
