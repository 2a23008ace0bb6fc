// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/report/format_operators.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

#include <hyperparallel/mesh/device_matrix.hpp>
#include <hyperparallel/operators/rule_text.hpp>

namespace hp = hyperparallel;

namespace {

TEST(format_operators, rules_read_back) {
  for (const char* text : {"mk,kn->mn", "bsH->bsH", "(ab)c->abc", ".n->mn", "tE->t,t", "a2->a", ",a->a"}) {
    const hp::rule_result r = hp::rule_from("rule", text, hp::contraction);
    ASSERT_EQ(r.status.code, hp::rule_code::ok) << text;
    EXPECT_EQ(hp::to_text(r.rule), text);
    EXPECT_EQ(fmt::format("{}", hp::rule_from("rule", hp::to_text(r.rule).c_str(), hp::contraction).rule), text);
  }
}

// The dims under `*` get letters that the text does not use.
TEST(format_operators, rules_with_a_star_read_back_to_the_same_factors) {
  const hp::operand_ranks ranks{2, {3, 2}};
  hp::factor_rule r = hp::rule_from("rule", "*a,ac->*c", hp::contraction, ranks).rule;
  EXPECT_EQ(hp::to_text(r), "bda,ac->bdc");
  const hp::factor_rule again = hp::rule_from("rule", hp::to_text(r).c_str(), hp::contraction).rule;
  for (int f = 0; f < r.factor_count; ++f) r.factor[f].letter = again.factor[f].letter;
  EXPECT_EQ(again, r);
}

TEST(format_operators, factors_without_letters_get_one_by_kind) {
  hp::factor_rule r;
  const int rows = hp::add_factor(r), halo = hp::add_factor(r, hp::factor_kind::permutation),
            whole = hp::add_factor(r, hp::factor_kind::need_replication);
  for (hp::tensor_factors* t : {&hp::add_operand(r), &hp::add_result(r)})
    for (const int f : {rows, halo, whole}) hp::add_dim(*t, f);
  EXPECT_EQ(hp::to_text(r), "a~bC->a~bC");
}

TEST(format_operators, words_name_operands_and_reductions) {
  hp::factor_rule r = hp::rule_from("rule", "ab,ab->ab", {}).rule;
  EXPECT_EQ(hp::to_text(r, r.partials), "nothing");
  EXPECT_EQ(hp::to_text(r, hp::refuse_partials()), "refuses");
  EXPECT_EQ(hp::to_text(r, hp::linear_together(0b11u)), "0: sum, avg together; 1: sum, avg together");
  EXPECT_EQ(hp::to_text(r, hp::moves_elements(1u)), "0: every reduction each");
  hp::partial_words w = hp::refuse_partials();
  EXPECT_EQ(hp::to_text(r, hp::detail::falling(w, 1)), "1: max→min, min→max each");
}

/// Every code has its own sentence, and a sentence about an axis names it.
TEST(format_operators, refusals_are_sentences_with_names) {
  const char* names[] = {"dp", "tp"};
  const int sizes[] = {2, 4};
  const hp::mesh_value m = hp::make_mesh(names, 2, sizes, 2).mesh;
  std::set<std::string> seen;
  for (int code = 0; code <= static_cast<int>(hp::propagation_code::result_has_too_many_cuts); ++code) {
    const hp::propagation_status s{static_cast<hp::propagation_code>(code), 1, 2, 1};
    const std::string text = fmt::format("{}", hp::named(s, m));
    EXPECT_NE(text, "unknown");
    EXPECT_TRUE(seen.insert(text).second) << text;
  }
  EXPECT_EQ(fmt::format("{}", hp::named({hp::propagation_code::dim_must_be_whole, 1, 2, 1}, m)),
            "dim 2 of operand 1 must be whole on every device, axis tp shards it");
  EXPECT_EQ(hp::to_text(hp::propagation_status{hp::propagation_code::partial_operand_is_refused, 0, -1, 0}),
            "operand 0 is partial along axis 0: reduce it first");
  seen.clear();
  for (int code = 0; code <= static_cast<int>(hp::extents_code::work_overflows); ++code)
    seen.insert(hp::to_text(hp::extents_status{static_cast<hp::extents_code>(code), 1, 2, 3, 4}));
  EXPECT_EQ(seen.count("unknown"), 0u);
  EXPECT_GE(seen.size(), 8u);
}

TEST(format_operators, resolutions_say_what_moves) {
  const hp::mesh_shape m{2, {2, 4}};
  const hp::factor_rule matmul = hp::rule_from("matmul", "mk,kn->mn", hp::contraction).rule;
  hp::layout_value a = hp::replicated(m, 2), b = hp::replicated(m, 2);
  const hp::layout_value* operand[] = {&a, &b};
  const hp::shape shapes[] = {hp::shape{8, 8}, hp::shape{8, 8}};
  EXPECT_EQ(hp::to_text(hp::resolve(matmul, operand, shapes, 2)), "nothing moves");
  hp::append_cut(a, {0, 0, 1, 2});
  hp::append_cut(b, {1, 0, 1, 2});
  const std::string text = hp::to_text(hp::resolve(matmul, operand, shapes, 2));
  EXPECT_EQ(text.rfind("operand 1 moves 32 elements to (None, None); price 32, best of ", 0), 0u) << text;
}

}  // namespace
