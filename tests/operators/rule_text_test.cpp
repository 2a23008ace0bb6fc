// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/rule_text.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace {

namespace hp = hyperparallel;
using code = hp::rule_code;
using hp::factor_kind;
using hp::reduce_op;

constexpr hp::rule_status status(const char* text, const hp::rule_traits& traits = {}) {
  return hp::rule_from("rule", text, traits).status;
}

constexpr hp::factor_rule product = hp::rule_from("product", "egch,eghf->egcf", hp::contraction).rule;
static_assert(product.operand_count == 2 && product.result_count == 1 && product.factor_count == 5);
static_assert(product.factor[3] == hp::factor{'h', factor_kind::reduction, reduce_op::sum, false, false, 0});
static_assert(product.factor[4] == hp::factor{'f', factor_kind::pass_through, reduce_op::none, false, false, 0});
static_assert(product.operand[0].plain && product.operand[0].mask == 0b01111 && product.operand[1].mask == 0b11011 &&
              product.result[0].mask == 0b10111);
static_assert(product.partials == hp::linear_in_each(0b11u) && product.flops_per_point == 2);

// Capitals and digits are whole on every device, in the result or not; a digit is its extent.
constexpr hp::factor_rule softmax = hp::rule_from("softmax", "tE->tE", {}).rule;
constexpr hp::factor_rule packed = hp::rule_from("packed", "t2f->tf", {}).rule;
static_assert(softmax.factor[1] == hp::factor{'E', factor_kind::need_replication, reduce_op::none, false, false, 0});
static_assert(packed.factor[1] == hp::factor{'2', factor_kind::need_replication, reduce_op::none, false, false, 2});

// Only factors that pass through yield.
constexpr hp::factor_rule yielding = hp::rule_from("yielding", "abK,abK->a", {.yields = true}).rule;
static_assert(yielding.factor[0].yields && !yielding.factor[1].yields && !yielding.factor[2].yields);

// What one result lacks and another has passes through, and is reduced where it is missing.
constexpr hp::factor_rule totals = hp::rule_from("totals", "ab->a,ab", {reduce_op::max}).rule;
static_assert(totals.factor[1] == hp::factor{'b', factor_kind::pass_through, reduce_op::max, false, false, 0});
static_assert(totals.factor[0].op == reduce_op::none && totals.reduced == 0 && !totals.plain);
static_assert(hp::rule_from("made", "a->ab,a", {}).rule.factor[1].op == reduce_op::none);  // no operand has it

// Dims of several factors, of none, and several results.
constexpr hp::factor_rule split = hp::rule_from("split", "(ab)c.->abc,a", {reduce_op::none}).rule;
static_assert(split.operand[0].rank == 3 && split.result_count == 2 && split.result[1].rank == 1);
static_assert(split.operand[0].first[1] == 2 && split.operand[0].first[2] == 3 && split.operand[0].first[3] == 3);
static_assert(!split.operand[0].plain && split.result[0].plain);
static_assert(hp::rule_from("max", "tk->t", {reduce_op::max}).rule.factor[1].op == reduce_op::max);
static_assert(status("->").code == code::ok);     // one scalar operand
static_assert(status("a->ab").code == code::ok);  // b is created by the operator

static_assert(status("mk,kn") == hp::rule_status{code::text_is_malformed, 5});
static_assert(status("m-k->mk") == hp::rule_status{code::text_is_malformed, 1});
static_assert(status("m->m->m") == hp::rule_status{code::text_is_malformed, 4});
static_assert(status("m0->m") == hp::rule_status{code::text_is_malformed, 1});
static_assert(status("(ab->ab") == hp::rule_status{code::text_is_malformed, 3});
static_assert(status("()a->a") == hp::rule_status{code::text_is_malformed, 1});
static_assert(status("(a(b))->ab") == hp::rule_status{code::text_is_malformed, 2});
static_assert(status("a)->a") == hp::rule_status{code::text_is_malformed, 1});
static_assert(status("a->(a") == hp::rule_status{code::text_is_malformed, 5});
static_assert(status("a,a,a,a,a,a,a,a,a->a") == hp::rule_status{code::too_many_operands, 15});
static_assert(status("a->a,a,a,a,a,a") == hp::rule_status{code::too_many_results, 12});
static_assert(status("abcdefghi->a") == hp::rule_status{code::too_many_dims, 8});
static_assert(status("a........->a") == hp::rule_status{code::too_many_dims, 8});
static_assert(status("(abcdefghijklm)->a") == hp::rule_status{code::too_many_terms, 13});

/// One letter more than a rule has factors, eight an operand.
constexpr hp::rule_status overfull() {
  char text[2 * hp::max_factors + 8] = {};
  int at = 0;
  for (int f = 0; f <= hp::max_factors; ++f) {
    if (f > 0 && f % hp::max_dims == 0) text[at++] = ',';
    text[at++] = static_cast<char>(f < 26 ? 'a' + f : 'A' + f - 26);
  }
  text[at] = '-';
  text[at + 1] = '>';
  return status(text);
}
static_assert(overfull() == hp::rule_status{code::too_many_factors, hp::max_factors + hp::max_factors / hp::max_dims});
static_assert(status("ii->i") == hp::rule_status{code::factor_is_used_twice_in_one_tensor, 0});
static_assert(status("i(ji)->ij") == hp::rule_status{code::factor_is_used_twice_in_one_tensor, 0});
static_assert(status("ij->jj") == hp::rule_status{code::factor_is_used_twice_in_one_tensor, 1});
static_assert(status("ij->i", {reduce_op::none}) == hp::rule_status{code::kind_does_not_fit_the_results, 1});

// `*` and repeated parts, by the ranks of the operands.
constexpr hp::rule_status status_of(const char* text, const hp::operand_ranks& ranks) {
  return hp::rule_from("rule", text, {}, ranks).status;
}
constexpr hp::factor_rule norm = hp::rule_from("norm", "*H,H->*H", {}, {2, {3, 1}}).rule;
static_assert(norm.factor_count == 3 && norm.operand[0].rank == 3 && norm.operand[1].mask == 0b100);
static_assert(norm.result[0] == norm.operand[0] && norm.factor[2].letter == 'H' && norm.factor[0].letter == 0);
constexpr hp::factor_rule total = hp::rule_from("total", "*->", {}, {1, {2}}).rule;
static_assert(total.result[0].rank == 0 && total.reduced == 0b11);
constexpr hp::factor_rule step = hp::rule_from("step", "*,*,->*,*", {}, {3, {2, 2, 0}}).rule;
static_assert(step.operand[2].rank == 0 && step.result_count == 2 && step.result[1] == step.operand[0]);
static_assert(hp::rule_from("sum", "*->*", {}, {5, {1, 1, 1, 1, 1}}).rule.operand_count == 5);
static_assert(hp::rule_from("sum", "a*,*->*", {}, {4, {2, 1, 1, 1}}).rule.operand[3].mask == 0b10);
static_assert(hp::rule_from("fill", "->ab", {}, {0, {}}).rule.operand_count == 0);
static_assert(status_of("*k,kn->*n", {2, {1, 2}}).code == code::ok);  // `*` may stand for no dim at all

static_assert(status("*->*") == hp::rule_status{code::text_is_malformed, 0});
static_assert(status_of("a->*", {1, {1}}) == hp::rule_status{code::text_is_malformed, 3});
static_assert(status_of("**->*", {1, {2}}) == hp::rule_status{code::text_is_malformed, 1});
static_assert(status_of("(a*)->a", {1, {2}}) == hp::rule_status{code::text_is_malformed, 2});
static_assert(status_of("ab,c->a", {2, {2, 2}}) == hp::rule_status{code::operand_rank_differs_from_text, 1});
static_assert(status_of("*ab->*", {1, {1}}) == hp::rule_status{code::operand_rank_differs_from_text, 0});
static_assert(status_of("*,*->*", {2, {2, 3}}) == hp::rule_status{code::operand_rank_differs_from_text, 1});
static_assert(status_of("a,b->a", {1, {1}}) == hp::rule_status{code::operand_count_differs_from_text, 1});
static_assert(status_of("a->a", {0, {}}) == hp::rule_status{code::operand_count_differs_from_text, 0});
static_assert(status_of("*->*", {9, {}}) == hp::rule_status{code::too_many_operands, 9});
static_assert(status_of("*->*a", {1, {8}}) == hp::rule_status{code::too_many_dims, 4});

/// The text of a rule, from the rule: a second writer for the reader.
std::string text_of(const hp::factor_rule& r) {
  std::string text;
  const auto write = [&](const hp::tensor_factors& t) {
    for (int d = 0; d < t.rank; ++d) {
      const int terms = t.first[d + 1] - t.first[d];
      std::string dim;
      for (int i = t.first[d]; i < t.first[d + 1]; ++i) dim += r.factor[t.term[i]].letter;
      text += terms == 0 ? "." : terms == 1 ? dim : "(" + dim + ")";
    }
  };
  for (int o = 0; o < r.operand_count; ++o) {
    if (o > 0) text += ",";
    write(r.operand[o]);
  }
  text += "->";
  for (int o = 0; o < r.result_count; ++o) {
    if (o > 0) text += ",";
    write(r.result[o]);
  }
  return text;
}

TEST(RuleText, IsKeptByTheRule) {
  for (const char* text : {"->", "mk,kn->mn", "tE->tE", "t2f->tf", "(ab)(cd)->a(bc)d", ".n,mn->mn", "ab.->.,ba,(ab)",
                           "(abcdefghijkl)->(abcdefghijkl)", "abcdefgh,ijklmnop->abcdefgh"}) {
    const hp::rule_result r = hp::rule_from("rule", text, {});
    ASSERT_EQ(r.status, hp::rule_status{}) << text;
    EXPECT_EQ(text_of(r.rule), text);
  }
}

// Law: a rule with `*` and repeated parts is the rule of the text that writes them out.
TEST(RuleText, StarsAndRepeatedPartsAreTheDimsThatTheyStandFor) {
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"*k,kn->*n", "%k,kn->%n"}, {"*->", "%->"},       {"bs*D->bs*D", "bs%D->bs%D"},  {"*,*,*,->*,*", "%,%,%,->%,%"},
      {"*,vh->*h", "%,vh->%h"},   {"a*->*a", "a%->%a"}, {"*(ab).->ab*", "%(ab).->ab%"}};
  for (int run = 0; run <= 3; ++run)
    for (const auto& [text, long_text] : texts) {
      std::string written;
      for (const char c : long_text)
        written += c == '%' ? std::string("xyz").substr(0, static_cast<std::size_t>(run)) : std::string(1, c);
      hp::rule_result expected = hp::rule_from("rule", written.c_str(), hp::contraction);
      ASSERT_EQ(expected.status, hp::rule_status{}) << written;
      hp::operand_ranks ranks{expected.rule.operand_count};
      for (int o = 0; o < ranks.count; ++o) ranks.rank[o] = expected.rule.operand[o].rank;
      for (int f = 0; f < expected.rule.factor_count; ++f)
        if (expected.rule.factor[f].letter >= 'x') expected.rule.factor[f].letter = 0;
      EXPECT_EQ(hp::rule_from("rule", text.c_str(), hp::contraction, ranks).rule, expected.rule) << text << " " << run;
    }
  EXPECT_EQ(hp::rule_from("sum", "*->*", {}, {3, {1, 1, 1}}).rule,
            hp::rule_from("sum", "*,*,*->*", {}, {3, {1, 1, 1}}).rule);
}

TEST(RuleText, RefusedTextGivesNoRuleButItsName) {
  const hp::rule_result r = hp::rule_from("rule", "ii->i", {});
  hp::factor_rule empty;
  empty.name = hp::short_text("rule");
  EXPECT_EQ(r.rule, empty);
  EXPECT_NE(hp::check_rule(r.rule).code, code::ok);
}

TEST(RuleText, RunTimeEqualsCompileTime) {
  EXPECT_EQ(hp::rule_from("product", "egch,eghf->egcf", hp::contraction).rule, product);
  EXPECT_EQ(hp::rule_from("split", "(ab)c.->abc,a", {reduce_op::none}).rule, split);
}

}  // namespace
