// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/check/rule_check.hpp>

#include <check/sampled_operator.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

namespace hp = hyperparallel;
using hp::const_view;
using hp::extent_t;
using hp::tensor_view;

/// The first complaint of a few samples of the operator; `cut`, the factors whose pieces were asked.
struct verdict {
  std::string complaint;
  std::set<std::string> cut;
};
using checked::loop_of;
using checked::says;

template <class Operator>
verdict check(const hp::operator_options& how = {}) {
  verdict v;
  v.complaint = checked::first_complaint<Operator>(
      how, [&](const hp::detail::operator_sample& sample, const hp::operator_check_options& options,
               hp::detail::sample_numbers& random) {
        hp::detail::rule_check rule(sample, options, random);
        rule.run();
        v.cut.merge(rule.cut);
        return rule.complaint;
      });
  return v;
}

/// y = 2 x, written as each mistake has it.
enum class mistake { none, skips_last, skips_all, adds, writes_beyond, not_a_number, counts_runs };
template <mistake M>
struct twice {
  static constexpr const char *name = "twice", *text = "a->a";
  template <class T>
  static void run(const_view<T> x, tensor_view<T> y) {
    static int runs = 0;
    const extent_t n = hp::volume(y);
    for (extent_t i = 0; i < n; ++i) {
      if (M == mistake::skips_all || (M == mistake::skips_last && i + 1 == n)) continue;
      y.data[i] = 2 * x.data[i] + (M == mistake::adds ? y.data[i] : T(0));
      if (M == mistake::not_a_number) y.data[i] = std::sqrt(x.data[i]);
      if (M == mistake::counts_runs) y.data[i] += static_cast<T>(runs++);
    }
    if (M == mistake::writes_beyond) y.data[n] = 0;
  }
};
/// The same of a result that holds numbers.
template <bool Writes>
struct positions {
  static constexpr const char *name = "positions", *text = "a->a";
  static constexpr unsigned index_results = 0b1;
  template <class T>
  static void run(const hp::operator_call& c, const_view<T>, tensor_view<std::int32_t> y) {
    for (extent_t i = 0; i < hp::volume(y) && Writes; ++i)
      y.data[i] = static_cast<std::int32_t>(loop_of(c, 'a').begin + i);
  }
};

TEST(RuleCheck, HoldsWhatAKernelWrites) {
  EXPECT_EQ(check<twice<mistake::none>>().complaint, "");
  EXPECT_TRUE(says(check<twice<mistake::skips_last>>().complaint, " of result 0 is left unwritten"));
  EXPECT_TRUE(says(check<twice<mistake::skips_all>>().complaint, "element 0 of result 0 is left unwritten"));
  EXPECT_TRUE(says(check<twice<mistake::adds>>().complaint, "element 0 of result 0 differs between two runs"));
  EXPECT_TRUE(says(check<twice<mistake::counts_runs>>().complaint, "element 0 of result 0 differs between two runs"));
  EXPECT_TRUE(says(check<twice<mistake::writes_beyond>>().complaint, "writes beyond the block of result 0"));
  EXPECT_TRUE(says(check<twice<mistake::not_a_number>>().complaint, " of result 0 is nan: operator_check_options"));
  EXPECT_EQ(check<positions<true>>().complaint, "");
  EXPECT_TRUE(says(check<positions<false>>().complaint, "element 0 of result 0 is left unwritten"));
}

/// y = x from the neighbour's block: right on the whole.
struct halo {
  static constexpr const char *name = "halo", *text = "a->a";
  template <class T>
  static void run(const hp::operator_call& c, const_view<T> x, tensor_view<T> y) {
    const hp::loop_span& a = loop_of(c, 'a');
    for (extent_t i = 0; i < a.extent; ++i) y.data[i] = a.begin + i + 1 < a.whole ? x.data[i + 1] : x.data[i];
  }
};
/// Wrong where a piece is neither the first nor the last.
struct ends {
  static constexpr const char *name = "ends", *text = "a->a";
  template <class T>
  static void run(const hp::operator_call& c, const_view<T> x, tensor_view<T> y) {
    const hp::loop_span& a = loop_of(c, 'a');
    const bool inside = a.begin > 0 && a.begin + a.extent < a.whole;
    for (extent_t i = 0; i < a.extent; ++i) y.data[i] = inside ? T(0) : x.data[i];
  }
};
/// Wrong where both dims are cut at once.
struct corner {
  static constexpr const char *name = "corner", *text = "ab->ab";
  template <class T>
  static void run(const hp::operator_call& c, const_view<T> x, tensor_view<T> y) {
    const bool both = loop_of(c, 'a').begin > 0 && loop_of(c, 'b').begin > 0;
    for (extent_t i = 0; i < hp::volume(y); ++i) y.data[i] = both ? T(0) : x.data[i];
  }
};

TEST(RuleCheck, CutsInMoreThanTwoPiecesAndAlongSeveralFactors) {
  EXPECT_TRUE(says(check<halo>().complaint, "pieces along factor 'a' is 4.5"));
  EXPECT_TRUE(says(check<ends>().complaint, "result 0 of three pieces along factor 'a' is 0.0"));
  EXPECT_TRUE(says(check<corner>().complaint, "result 0 of 4 pieces along factors 'a', 'b' is 0.0"));
}

/// Sums or means over b, and a copy for each c that the operator makes: result 1 does not depend on c.
template <bool Mean, bool Shifts>
struct fold_and_repeat {
  static constexpr const char *name = "fold_and_repeat", *text = "ab->ac,a";
  template <class T>
  static void run(const hp::operator_call& c, const_view<T> x, tensor_view<T> copies, tensor_view<T> folded) {
    const hp::loop_span &a = loop_of(c, 'a'), &b = loop_of(c, 'b'), &made = loop_of(c, 'c');
    for (extent_t i = 0; i < a.extent; ++i) {
      T sum = 0;
      for (extent_t j = 0; j < b.extent; ++j) sum += x.data[i * b.extent + j];
      if (Mean) sum /= static_cast<T>(b.extent);
      for (extent_t k = 0; k < made.extent; ++k) copies.data[i * made.extent + k] = sum;
      folded.data[i] = sum + (Shifts ? static_cast<T>(made.begin) : T(0));
    }
  }
};

TEST(RuleCheck, JoinsWhatAResultLacks) {
  EXPECT_EQ((check<fold_and_repeat<false, false>>().complaint), "");
  EXPECT_EQ((check<fold_and_repeat<true, false>>({.reduction = hp::reduce_op::avg}).complaint), "");
  EXPECT_TRUE(says((check<fold_and_repeat<true, false>>().complaint), "along factor 'b', reduced, is "));
  EXPECT_TRUE(says((check<fold_and_repeat<false, true>>().complaint),
                   "result 1 lacks factor 'c' without a reduction, yet a piece gives "));
}

TEST(RuleCheck, NamesTheFactorsThatItCut) {
  EXPECT_EQ(check<corner>().cut, (std::set<std::string>{"'a'", "'b'"}));
  EXPECT_EQ((check<fold_and_repeat<false, false>>().cut), (std::set<std::string>{"'a'", "'b'", "'c'"}));
}

}  // namespace
