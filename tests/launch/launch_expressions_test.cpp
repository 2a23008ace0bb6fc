// SPDX-License-Identifier: Apache-2.0
// Sums and tests of shell scripts: as a shell has them, or nothing where that is not certain.
#include "launch/launch_expressions.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "support/tries.hpp"

namespace {

namespace hp = hyperparallel;
namespace launch = hp_tool::launch;
using launch::value_of_sum;
using launch::verdict_of_test;
using maybe = launch::shell_verdict;
using amount = std::optional<long long>;

TEST(launch_expressions, sums_have_the_value_that_their_terms_have) {
  std::mt19937 random(11);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int n = tested::tries(2000, 40000); n > 0; --n) {
    const long long a = below(1000), b = 1 + below(99), c = below(1000);
    const std::string text = " " + std::to_string(a) + " - (TP +" + std::to_string(c) + ")*2 / $B + ${TP}";
    EXPECT_EQ(value_of_sum(text, {{"TP", "8"}, {"B", std::to_string(b)}}), a - (8 + c) * 2 / b + 8) << text;
  }
  EXPECT_EQ(value_of_sum("", {}), amount());
  EXPECT_EQ(value_of_sum("TP", {}), amount());
  EXPECT_EQ(value_of_sum("1 / 0", {}), amount());
  EXPECT_EQ(value_of_sum("(1", {}), amount());
  EXPECT_EQ(value_of_sum("1 > 0 ? 1 : 2", {}), amount());
  EXPECT_EQ(value_of_sum("999999999 * 999999999", {}), amount());
  EXPECT_EQ(value_of_sum("1234567890", {}), amount()) << "of more than nine digits";
}

TEST(launch_expressions, numbers_compare_as_in_a_shell) {
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < 4; ++b) {
      const auto test = [&](const char* op) { return verdict_of_test({std::to_string(a), op, std::to_string(b)}); };
      EXPECT_EQ(test("-eq"), a == b);
      EXPECT_EQ(test("-ne"), a != b);
      EXPECT_EQ(test("-lt"), a < b);
      EXPECT_EQ(test("-le"), a <= b);
      EXPECT_EQ(test("-gt"), a > b);
      EXPECT_EQ(test("-ge"), a >= b);
      EXPECT_EQ(verdict_of_test({"!", std::to_string(a), "=", std::to_string(b)}), a != b);
    }
}

TEST(launch_expressions, texts_are_the_same_or_empty) {
  EXPECT_EQ(verdict_of_test({"bf16", "=", "bf16"}), true);
  EXPECT_EQ(verdict_of_test({"bf16", "==", "fp8"}), false);
  EXPECT_EQ(verdict_of_test({"bf16", "!=", "fp8"}), true);
  EXPECT_EQ(verdict_of_test({"-z", "$NOT_SET"}), true);
  EXPECT_EQ(verdict_of_test({"-n", "$NOT_SET"}), false);
  EXPECT_EQ(verdict_of_test({"-n", "x"}), true);
  EXPECT_EQ(verdict_of_test({"$NOT_SET"}), false);
  EXPECT_EQ(verdict_of_test({"$NOT_SET", "=", ""}), true);
}

TEST(launch_expressions, what_only_a_run_knows_has_no_verdict) {
  EXPECT_EQ(verdict_of_test({}), maybe());
  EXPECT_EQ(verdict_of_test({"-f", "train.py"}), maybe());
  EXPECT_EQ(verdict_of_test({"!", "-f", "train.py"}), maybe());
  EXPECT_EQ(verdict_of_test({"$(hostname)", "=", "x"}), maybe());
  EXPECT_EQ(verdict_of_test({"$#", "-lt", "3"}), maybe());
  EXPECT_EQ(verdict_of_test({"xy", "==", "x*"}), maybe());
  EXPECT_EQ(verdict_of_test({"$NOT_SET", "-gt", "1"}), maybe());
  EXPECT_EQ(verdict_of_test({"a", "=~", "b"}), maybe());
  EXPECT_EQ(verdict_of_test({"a", "=", "b", "-o", "c"}), maybe());
}

TEST(launch_expressions, verdicts_join_as_in_three_valued_logic) {
  const maybe all[] = {true, false, {}};
  for (const maybe a : all)
    for (const maybe b : all) {
      const auto could = [&](bool joined_by_and) {
        bool yes = false, no = false;  // over what the two may turn out to be
        for (const bool x : {true, false})
          for (const bool y : {true, false})
            if ((!a.is_known() || a == x) && (!b.is_known() || b == y))
              ((joined_by_and ? x && y : x || y) ? yes : no) = true;
        return yes && no ? maybe() : maybe(yes);
      };
      EXPECT_EQ(launch::both(a, b), could(true));
      EXPECT_EQ(launch::either(a, b), could(false));
    }
}

TEST(launch_expressions, patterns_of_a_case) {
  EXPECT_EQ(launch::verdict_of_pattern("8B", "8B"), true);
  EXPECT_EQ(launch::verdict_of_pattern("8B", "70B"), false);
  EXPECT_EQ(launch::verdict_of_pattern("$(size)", "*"), true);
  EXPECT_EQ(launch::verdict_of_pattern("$(size)", "8B"), maybe());
  EXPECT_EQ(launch::verdict_of_pattern("8B", "8*"), maybe());
  EXPECT_EQ(launch::verdict_of_pattern("$SIZE", ""), true) << "what is not set is empty";
}

TEST(launch_expressions, joints_of_tests) {
  EXPECT_EQ(launch::joined(true, "&&", false), false);
  EXPECT_EQ(launch::joined(maybe(), "&&", false), false);
  EXPECT_EQ(launch::joined(maybe(), "||", false), maybe());
  EXPECT_EQ(launch::joined(false, "||", true), true);
  EXPECT_EQ(launch::joined(true, "", maybe()), maybe());
}

}  // namespace
