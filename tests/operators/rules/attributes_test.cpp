// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/rules/attributes.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;
namespace rules = hp::rules;
using code = hp::rule_code;

TEST(Attributes, ADimCountsFromEitherEnd) {
  for (int rank = 0; rank <= hp::max_dims; ++rank)
    for (int d = -2 * hp::max_dims; d <= 2 * hp::max_dims; ++d) {
      const int at = rules::from_front(d, rank);
      if (d >= 0)
        EXPECT_EQ(at, d < rank ? d : -1);
      else
        EXPECT_EQ(at, d + rank >= 0 ? d + rank : -1);
    }
}

TEST(Attributes, ListsOfDimsAreCheckedOnce) {
  for (int a = -5; a < 5; ++a)
    for (int b = -5; b < 5; ++b) {
      const rules::chosen_dims c = rules::choose({a, b}, 3);
      const int i = rules::from_front(a, 3), j = rules::from_front(b, 3);
      if (i < 0 || j < 0) {
        EXPECT_EQ(c.status, (hp::rule_status{code::axis_is_out_of_range, i < 0 ? a : b}));
      } else if (i == j) {
        EXPECT_EQ(c.status, (hp::rule_status{code::axes_repeat, b}));
      } else {
        EXPECT_EQ(c.status.code, code::ok);
        EXPECT_EQ(c.mask, (1u << i | 1u << j));
        EXPECT_EQ(c.dims, rules::dim_list(i, j));
      }
    }
  EXPECT_EQ(rules::choose({}, 3).mask, 0u);
  EXPECT_EQ(rules::choose(rules::all_dims(4), 4).mask, 0b1111u);
  EXPECT_EQ(rules::choose(0, 9).status, (hp::rule_status{code::too_many_dims, 9}));
  EXPECT_EQ(rules::choose({}, -1).status.code, code::too_many_dims);
}

TEST(Attributes, AConstantPassesIdempotentReductionsOnly) {
  const hp::partial_words w = hp::partial_algebra::overwrites;
  for (int i = 1; i < hp::reduce_op_count; ++i) {
    const auto op = static_cast<hp::reduce_op>(i);
    EXPECT_EQ(hp::detail::word_of(w, 0, op).mode == hp::partial_mode::each, hp::detail::is_idempotent(op));
    EXPECT_EQ(hp::detail::word_of(w, 1, op).mode, hp::partial_mode::refuses);
  }
}

static_assert(rules::same_dims("same", 3, 0b010u, hp::factor_kind::need_replication, hp::refuse_partials(), 1)
                  .rule.factor[1]
                  .kind == hp::factor_kind::need_replication);
static_assert(rules::same_dims("same", 9, 0, hp::factor_kind::pass_through, hp::refuse_partials(), 1).status ==
              hp::rule_status{code::too_many_dims, 9});

// A rule by text is that of listed operators with this text, without the letters.
constexpr hp::rule_traits sums{hp::reduce_op::sum, hp::linear_in_each(0b01u), 2};
constexpr hp::rule_result product = rules::written("product", "*k,kn->*n", sums, {2, {3, 2}});
constexpr hp::rule_result with_letters = hp::rule_from("product", "*k,kn->*n", sums, {2, {3, 2}});
constexpr bool same_but_letters() {
  hp::factor_rule r = with_letters.rule;
  for (int f = 0; f < r.factor_count; ++f) r.factor[f].letter = product.rule.factor[f].letter;
  return r == product.rule && product.rule.factor[2].letter == '\0' && with_letters.rule.factor[2].letter == 'k';
}
static_assert(same_but_letters());
static_assert(rules::written("product", "*k,kn->*n", sums, {2, {3, 3}}).status ==
              hp::rule_status{code::operand_rank_differs_from_text, 1});

}  // namespace
