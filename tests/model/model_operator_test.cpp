// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/model/model_operator.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

namespace hp = hyperparallel;

struct text_counts {
  int operands = 0, results = 0;
  bool letters_only = true, has_arrow = false;
};

text_counts count(const std::string& text) {
  text_counts c;
  const std::size_t arrow = text.find("->");
  c.has_arrow = arrow != std::string::npos;
  if (!c.has_arrow) return c;
  const auto parts = [](const std::string& side) {
    int n = 1;
    for (const char x : side) n += x == ',';
    return n;
  };
  c.operands = parts(text.substr(0, arrow));
  c.results = parts(text.substr(arrow + 2));
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char x = text[i];
    const bool letter = (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z');
    const bool of_arrow = i == arrow || i == arrow + 1;
    c.letters_only = c.letters_only && (letter || x == '*' || x == ',' || of_arrow);
  }
  return c;
}

TEST(model_operator, rows_have_names_of_their_own_and_well_formed_texts) {
  std::set<std::string> names;
  for (int i = 0; i < hp::model_op_count; ++i) {
    const hp::model_op op = static_cast<hp::model_op>(i);
    const hp::operator_row& row = hp::row_of(op);
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_STREQ(hp::name_of(op), row.name);
    EXPECT_GE(row.flops_per_point, 0);
    const std::string text = row.text;
    if (text.empty()) continue;
    const text_counts c = count(text);
    EXPECT_TRUE(c.has_arrow && c.letters_only) << row.name;
    EXPECT_LE(c.operands, hp::max_operator_operands) << row.name;
    EXPECT_LE(c.results, hp::max_operator_results) << row.name;
    std::set<char> letters;
    for (const char x : text)
      if (x >= 'A' && x <= 'z') letters.insert(x);
    EXPECT_LE(static_cast<int>(letters.size()), hp::max_operator_loops) << row.name;
  }
}

// Enumerator and row stand in one order.
TEST(model_operator, rows_are_the_enumerators) {
  EXPECT_STREQ(hp::name_of(hp::model_op::contract), "contract");
  EXPECT_STREQ(hp::name_of(hp::model_op::rms_norm_gradient), "rms_norm_gradient");
  EXPECT_STREQ(hp::name_of(hp::model_op::attention_merge), "attention_merge");
  EXPECT_STREQ(hp::name_of(hp::model_op::biased_top_k), "biased_top_k");
  EXPECT_STREQ(hp::name_of(hp::model_op::dispatch_weighted), "dispatch_weighted");
  EXPECT_STREQ(hp::name_of(hp::model_op::cross_entropy_gradient), "cross_entropy_gradient");
  EXPECT_STREQ(hp::name_of(hp::model_op::adamw_master), "adamw_master");
  EXPECT_STREQ(hp::name_of(hp::model_op::update_bias), "update_bias");
}

// What takes terms is linear in them: sums, factors, accumulators in all operands alike, routing in its rows alone.
TEST(model_operator, only_linear_operators_take_terms) {
  std::set<std::string> pass, linear;
  for (int i = 0; i < hp::model_op_count; ++i) {
    const hp::operator_row& row = hp::row_of(static_cast<hp::model_op>(i));
    unsigned alone = 0;
    for (int o = 0; o < hp::max_operands; ++o)
      if (word_of(row.partials, o, hp::reduce_op::sum).mode == hp::partial_mode::each) alone |= 1u << o;
    if (row.partials == hp::linear_together(~0u)) pass.insert(row.name);
    if (alone == 0) continue;
    linear.insert(row.name);
    EXPECT_EQ(row.partials, hp::linear_in_each(alone)) << row.name;
    EXPECT_EQ(alone & (alone - 1), 0u) << row.name << ": of several terms at once none is linear";
    EXPECT_LT(alone, 1u << count(row.text).operands) << row.name;
  }
  EXPECT_EQ(pass, (std::set<std::string>{"sum", "scale", "accumulate"}));
  EXPECT_EQ(linear, (std::set<std::string>{"dispatch", "undispatch", "combine", "dispatch_weighted",
                                           "combine_weight_gradient"}));
}

}  // namespace
