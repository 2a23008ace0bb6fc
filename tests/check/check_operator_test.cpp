// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/check/check_operator.hpp>

#include "builtin_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace {

namespace hp = hyperparallel;
using hp::const_view;
using hp::extent_t;
using hp::tensor_view;
using namespace builtin;

struct cube_gradient {
  static constexpr const char *name = "cube_gradient", *text = "*,*->*";
  template <class T>
  static void run(const_view<T> dy, const_view<T> x, tensor_view<T> dx) {
    for (extent_t i = 0; i < hp::volume(dx); ++i) dx.data[i] = 3 * x.data[i] * x.data[i] * dy.data[i];
  }
};
struct wrong_cube_gradient {
  static constexpr const char *name = "wrong_cube_gradient", *text = "*,*->*";
  template <class T>
  static void run(const_view<T> dy, const_view<T> x, tensor_view<T> dx) {
    for (extent_t i = 0; i < hp::volume(dx); ++i) dx.data[i] = 2 * x.data[i] * x.data[i] * dy.data[i];
  }
};
template <class Backward>
struct cube {
  static constexpr const char *name = "cube", *text = "*->*";
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<Backward>("g0,x0>0");
  }
  template <class T>
  static void run(const_view<T> x, tensor_view<T> y) {
    for (extent_t i = 0; i < hp::volume(y); ++i) y.data[i] = x.data[i] * x.data[i] * x.data[i];
  }
};

/// x + Sign · y, which passes the gradient on to both.
template <int Sign>
struct passes_on {
  static constexpr const char *name = "passes_on", *text = "*,*->*";
  static constexpr unsigned passes_gradient = 0b11;
  template <class T>
  static void run(const_view<T> x, const_view<T> y, tensor_view<T> z) {
    for (extent_t i = 0; i < hp::volume(z); ++i) z.data[i] = x.data[i] + Sign * y.data[i];
  }
};

/// Each row minus its mean, by a rule that the caller writes.
template <hp::fixed_string Text>
struct centre {
  static constexpr const char *name = "centre", *text = Text.text;
  template <class T>
  static void run(const_view<T> x, tensor_view<T> y) {
    const extent_t width = x.extents.rank == 0 ? 1 : x.extents.extent[x.extents.rank - 1];
    for (extent_t row = 0; row < hp::volume(x); row += width) {
      T sum = 0;
      for (extent_t i = 0; i < width; ++i) sum += x.data[row + i];
      for (extent_t i = 0; i < width; ++i) y.data[row + i] = x.data[row + i] - sum / static_cast<T>(width);
    }
  }
};
/// The largest of each row, and how many elements it has: two results that lack the row's factor.
struct largest {
  static constexpr const char *name = "largest", *text = "xh->x,xh";
  template <class T>
  static void run(const_view<T> x, tensor_view<T> most, tensor_view<T> copy) {
    const extent_t width = x.extents.extent[1];
    for (extent_t row = 0; row < x.extents.extent[0]; ++row) {
      most.data[row] = x.data[row * width];
      for (extent_t i = 0; i < width; ++i) {
        most.data[row] = std::max(most.data[row], x.data[row * width + i]);
        copy.data[row * width + i] = x.data[row * width + i];
      }
    }
  }
};

/// Rows of a table: numbers, and where the table's box begins.
struct rows_of_table {
  static constexpr const char *name = "rows_of_table", *text = "*,vh->*h";
  static constexpr unsigned indices = 0b01u;
  template <class T>
  static void run(const hp::operator_call& c, const_view<std::int32_t> ids, const_view<T> table, tensor_view<T> y) {
    const extent_t begin = c.loop[c.rule->operand[1].term[0]].begin;
    const extent_t rows = table.extents.extent[0], width = table.extents.extent[1];
    for (extent_t i = 0; i < hp::volume(ids); ++i)
      for (extent_t h = 0; h < width; ++h) {
        const extent_t row = ids.data[i] - begin;
        y.data[i * width + h] = row >= 0 && row < rows ? table.data[row * width + h] : T(0);
      }
  }
};

/// An operator that depends on an operand for which it names no gradient.
struct forgets_one {
  static constexpr const char *name = "forgets_one", *text = "*,*->*";
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.backward(hp::id_of<hp::ops::multiply>, "g0,x1>0");
  }
  template <class T>
  static void run(const_view<T> x, const_view<T> w, tensor_view<T> y) {
    for (extent_t i = 0; i < hp::volume(y); ++i) y.data[i] = x.data[i] * w.data[i];
  }
};
struct without_kernel {
  static constexpr const char *name = "without_kernel", *text = "*->*";
};

/// A function of one operand that states that pending sums pass.
template <int Power>
struct power {
  static constexpr const char *name = "power", *text = "*->*";
  static constexpr hp::partial_words partials = hp::linear_in_each(0b1u);
  template <class T>
  static void run(const_view<T> x, tensor_view<T> y) {
    for (extent_t i = 0; i < hp::volume(y); ++i) y.data[i] = Power == 1 ? 2 * x.data[i] : x.data[i] * x.data[i];
  }
};
/// Whether x · y + x is linear in x, in y, in both.
template <unsigned Each, unsigned Together>
struct product_and_first {
  static constexpr const char *name = "product_and_first", *text = "*,*->*";
  static constexpr hp::partial_words partials = Each != 0 ? hp::linear_in_each(Each) : hp::linear_together(Together);
  template <class T>
  static void run(const_view<T> x, const_view<T> y, tensor_view<T> z) {
    for (extent_t i = 0; i < hp::volume(z); ++i) z.data[i] = x.data[i] * y.data[i] + x.data[i];
  }
};
/// States that numbers of rows may be pending sums.
struct sums_of_numbers : rows_of_table {
  static constexpr hp::partial_words partials = hp::linear_in_each(0b1u);
};
/// The larger of two keeps maxima, as stated or as a sum.
template <hp::reduce_op Out>
struct larger_of {
  static constexpr hp::partial_words words() {
    hp::partial_words w = hp::refuse_partials();
    for (int o = 0; o < 2; ++o) say(w, o, hp::reduce_op::max, hp::partial_mode::together, Out);
    return w;
  }
  static constexpr const char *name = "larger_of", *text = "*,*->*";
  static constexpr hp::partial_words partials = words();
  template <class T>
  static void run(const_view<T> x, const_view<T> y, tensor_view<T> z) {
    for (extent_t i = 0; i < hp::volume(z); ++i) z.data[i] = std::max(x.data[i], y.data[i]);
  }
};

/// x + y, where a pending sum of y is said to become a maximum, of x a sum.
struct sum_and_largest {
  static constexpr const char *name = "sum_and_largest", *text = "*,*->*";
  static constexpr hp::partial_words partials = [] {
    hp::partial_words w = hp::linear_together(0b11u);
    say(w, 1, hp::reduce_op::sum, hp::partial_mode::together, hp::reduce_op::max);
    return w;
  }();
  template <class T>
  static void run(const_view<T> x, const_view<T> y, tensor_view<T> z) {
    for (extent_t i = 0; i < hp::volume(z); ++i) z.data[i] = x.data[i] + y.data[i];
  }
};

// ---- operators that say of themselves what they do not keep ----

/// d weight as a mean over the rows of the box: right on the whole, a wrong sum over pieces.
template <bool Keeps, unsigned Linear>
struct scale_rows_gradient {
  static constexpr const char *name = "scale_rows_gradient", *text = "*h,*h,h->*h,h";
  static constexpr hp::partial_words partials = hp::linear_in_each(Linear);
  template <class T>
  static void run(const hp::operator_call& c, const_view<T> dy, const_view<T> x, const_view<T> w, tensor_view<T> dx,
                  tensor_view<T> dw) {
    const extent_t h = hp::volume(w), rows = hp::volume(dx) / h;
    extent_t whole = 1;
    for (int l = 0; l < c.rule->factor_count; ++l)
      if (!hp::has_factor(c.rule->operand[2], l)) whole *= c.loop[l].whole;
    for (extent_t k = 0; k < h; ++k) dw.data[k] = 0;
    for (extent_t i = 0; i < hp::volume(dx); ++i) {
      dx.data[i] = dy.data[i] * w.data[i % h];
      dw.data[i % h] += dy.data[i] * x.data[i];
    }
    for (extent_t k = 0; k < h && !Keeps; ++k) dw.data[k] *= static_cast<T>(rows) / static_cast<T>(whole);
  }
};
template <class Backward>
struct scale_rows {
  static constexpr const char *name = "scale_rows", *text = "*h,h->*h";
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<Backward>("g0,x0,x1>01");
  }
  template <class T>
  static void run(const_view<T> x, const_view<T> w, tensor_view<T> y) {
    for (extent_t i = 0; i < hp::volume(y); ++i) y.data[i] = x.data[i] * w.data[i % hp::volume(w)];
  }
};

/// 3 x² g with a gradient of its own, of which that of x lacks a factor of 2.
template <bool Right>
struct cube_gradient_in_x {
  static constexpr const char *name = "cube_gradient_in_x", *text = "*,*,*->*";
  template <class T>
  static void run(const_view<T> d, const_view<T> dy, const_view<T> x, tensor_view<T> dx) {
    for (extent_t i = 0; i < hp::volume(dx); ++i) dx.data[i] = (Right ? 6 : 3) * x.data[i] * dy.data[i] * d.data[i];
  }
};
template <bool Right>
struct differentiable_cube_gradient : cube_gradient {
  static constexpr const char* name = "differentiable_cube_gradient";
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<cube_gradient>("g0,x1>0");
    b.template backward<cube_gradient_in_x<Right>>("g0,x0,x1>1");
  }
};

/// The sine and the cosine of x; what its gradient reads, and what it says of result 1.
enum class second { read, ignored, unread, unread_and_said, constant };
template <second S>
struct sine_and_cosine_gradient {
  static constexpr const char *name = "sine_and_cosine_gradient", *text = "*,*,*->*";
  template <class T>
  static void run(const_view<T> ds, const_view<T> dc, const_view<T> x, tensor_view<T> dx) {
    for (extent_t i = 0; i < hp::volume(dx); ++i)
      dx.data[i] = std::cos(x.data[i]) * ds.data[i] - (S == second::read ? std::sin(x.data[i]) * dc.data[i] : T(0));
  }
};
template <second S>
struct sine_and_cosine {
  static constexpr const char *name = "sine_and_cosine", *text = "*->*,*";
  static constexpr unsigned constant = S == second::constant ? 0b10 : 0;
  static constexpr unsigned without_gradient = S == second::unread_and_said ? 0b10 : 0;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    if constexpr (S == second::read || S == second::ignored)
      b.template backward<sine_and_cosine_gradient<S>>("g0,g1,x0>0");
    else
      b.template backward<hp::ops::multiply>("g0,y1>0");
  }
  template <class T>
  static void run(const_view<T> x, tensor_view<T> s, tensor_view<T> c) {
    for (extent_t i = 0; i < hp::volume(x); ++i) {
      s.data[i] = std::sin(x.data[i]);
      c.data[i] = std::cos(x.data[i]);
    }
  }
};
/// How often 1/4 goes into x, and x: the first changes in steps.
struct quarters {
  static constexpr const char *name = "quarters", *text = "*->*,*";
  static constexpr unsigned constant = 0b01;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<hp::ops::scale>("g1>0");
  }
  template <class T>
  static void run(const_view<T> x, tensor_view<T> n, tensor_view<T> copy) {
    for (extent_t i = 0; i < hp::volume(x); ++i) {
      n.data[i] = std::floor(4 * x.data[i]);
      copy.data[i] = 3 * x.data[i];
    }
  }
};

/// A second result that nothing writes.
struct forgets_a_result {
  static constexpr const char *name = "forgets_a_result", *text = "*->*,*";
  template <class T>
  static void run(const_view<T> x, tensor_view<T> y, tensor_view<T>) {
    for (extent_t i = 0; i < hp::volume(x); ++i) y.data[i] = x.data[i];
  }
};
/// Breaks far below the steps of differences; its gradient is that of x.
struct rough {
  static constexpr const char *name = "rough", *text = "*->*";
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<hp::ops::scale>("g0>0");
  }
  template <class T>
  static void run(const_view<T> x, tensor_view<T> y) {
    for (extent_t i = 0; i < hp::volume(y); ++i) y.data[i] = std::sin(T(1e7) * x.data[i]);
  }
};

/// x of rows, by a gradient text of the caller.
template <hp::fixed_string Text, class Backward = cube_gradient>
struct texted {
  static constexpr const char *name = "texted", *text = "*,*->*";
  static constexpr unsigned indices = 0b10;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<Backward>(Text.text);
  }
  template <class T>
  static void run(const_view<T> x, const_view<std::int32_t>, tensor_view<T> y) {
    for (extent_t i = 0; i < hp::volume(y); ++i) y.data[i] = x.data[i] * x.data[i] * x.data[i];
  }
};
struct backward_without_kernel {
  static constexpr const char *name = "backward_without_kernel", *text = "*,*->*";
};

template <class Operator, class... More>
hp::operator_check check(const hp::operator_options& how = {}, const hp::operator_check_options& options = {}) {
  return hp::check_operator<Operator, hp::operators<hp::builtin, Operator, More...>>(how, options);
}
bool says(const hp::operator_check& c, const std::string& words) {
  return !c.ok && c.complaint.find(words) != std::string::npos;
}

TEST(CheckOperator, AcceptsWhatKeepsItsRuleAndItsGradient) {
  EXPECT_EQ((check<cube<cube_gradient>, cube_gradient>().complaint), "");
  EXPECT_EQ(check<centre<"*H->*H">>().complaint, "");
  EXPECT_EQ(check<largest>({.reduction = hp::reduce_op::max}).complaint, "");
  EXPECT_EQ(check<rows_of_table>().complaint, "");
  EXPECT_EQ(check<passes_on<1>>().complaint, "");
}

TEST(CheckOperator, RefusesARuleThatTheKernelDoesNotKeep) {
  const hp::operator_check c = check<centre<"*h->*h">>();
  EXPECT_TRUE(says(c, "centre: result 0 of two pieces along factor 'h' is ")) << c.complaint;
  EXPECT_TRUE(says(c, "; operands (")) << c.complaint;
  EXPECT_TRUE(says(check<largest>(), "result 0 of two pieces along factor 'h', reduced, is ")) << "not a sum";
}

TEST(CheckOperator, HoldsWordsForPartialOperands) {
  EXPECT_EQ(check<power<1>>().complaint, "");
  EXPECT_TRUE(says(check<power<2>>(), "power: result 0 of two terms of the operands 0, partial by sum, is "));
  EXPECT_EQ((check<product_and_first<0b01, 0>>().complaint), "");
  EXPECT_TRUE(says(check<product_and_first<0b10, 0>>(), "two terms of the operands 1, partial by sum, is "));
  EXPECT_TRUE(says(check<product_and_first<0, 0b11>>(), "two terms of the operands 0, 1, partial by sum, is "));
  EXPECT_EQ(check<larger_of<hp::reduce_op::max>>().complaint, "");
  EXPECT_TRUE(says(check<larger_of<hp::reduce_op::sum>>(), "of the operands 0, 1, partial by max, is "));
  EXPECT_TRUE(says(check<sums_of_numbers>(), "operand 0 holds numbers, yet may be partial by sum"));
  EXPECT_TRUE(
      says(check<sum_and_largest>(), "sum_and_largest: its rule \"*,*->*\" is none: words_of_a_group_differ, 1"));
}

TEST(CheckOperator, RefusesAGradientThatTheKernelDoesNotHave) {
  EXPECT_TRUE(says(check<cube<wrong_cube_gradient>, wrong_cube_gradient>(), "cube: the gradient of operand 0 is "));
  EXPECT_TRUE(says(check<passes_on<-1>>(), "passes_on: the gradient of operand 1 is "));
  EXPECT_TRUE(says(check<forgets_one>(), "the gradient of operand 1 is none, the difference quotient "));
}

TEST(CheckOperator, SaysWhatIsMissing) {
  EXPECT_TRUE(says(check<centre<"*H*->*">>(), "its rule \"*H*->*\" is none: text_is_malformed, 2"));
  EXPECT_TRUE(says(check<without_kernel>(), "without_kernel: it has no kernel"));
  EXPECT_TRUE(says((hp::check_operator<without_kernel, hp::operators<>>()), "the operator is not in the list"));
  EXPECT_TRUE(says(check<cube<cube_gradient>>(), "its gradient is refused: operator_is_not_in_the_list"));
}

TEST(CheckOperator, HoldsBackwardOperatorsAgainstTheirRules) {
  using right = scale_rows_gradient<true, 0>;
  EXPECT_EQ((check<scale_rows<right>, right>().complaint), "");
  using wrong = scale_rows_gradient<false, 0>;
  EXPECT_TRUE(
      says(check<scale_rows<wrong>, wrong>(), "scale_rows_gradient, a backward operator of scale_rows: result 1 of "));
  using linear = scale_rows_gradient<true, 0b001>;
  EXPECT_EQ((check<scale_rows<linear>, linear>().complaint), "");
  using not_linear = scale_rows_gradient<true, 0b010>;
  EXPECT_TRUE(says(check<scale_rows<not_linear>, not_linear>(),
                   "scale_rows_gradient, a backward operator of scale_rows: result 0 of two terms of the operands 1, "))
      << "dx does not depend on x";
}

TEST(CheckOperator, HoldsTheGradientsOfBackwardOperators) {
  EXPECT_EQ((check<cube<differentiable_cube_gradient<true>>, differentiable_cube_gradient<true>, cube_gradient,
                   cube_gradient_in_x<true>>()
                 .complaint),
            "");
  EXPECT_TRUE(says(check<cube<differentiable_cube_gradient<false>>, differentiable_cube_gradient<false>, cube_gradient,
                         cube_gradient_in_x<false>>(),
                   "differentiable_cube_gradient: the gradient of operand 1 is "));
}

TEST(CheckOperator, HoldsTheGradientOfEachResult) {
  EXPECT_EQ((check<sine_and_cosine<second::read>, sine_and_cosine_gradient<second::read>>().complaint), "");
  EXPECT_TRUE(says(check<sine_and_cosine<second::ignored>, sine_and_cosine_gradient<second::ignored>>(),
                   "sine_and_cosine: the gradient of operand 0 is "));
  EXPECT_TRUE(
      says(check<sine_and_cosine<second::unread>>(),
           "no backward operator reads the gradient of result 1, which changes with operand 0: the difference"));
  EXPECT_EQ(check<sine_and_cosine<second::unread_and_said>>().complaint, "");
}

TEST(CheckOperator, RefusesAConstantThatIsNone) {
  EXPECT_TRUE(says(check<sine_and_cosine<second::constant>>(),
                   "result 1 is stated to be constant, and changes with operand 0: the difference quotient is "));
  EXPECT_EQ(check<quarters>({.real = {3}}).complaint, "") << "a function of steps is constant where it is smooth";
}

TEST(CheckOperator, RefusesAResultThatIsNotWritten) {
  EXPECT_TRUE(says(check<forgets_a_result>(), "forgets_a_result: element 0 of result 1 is left unwritten; operands ("));
}

TEST(CheckOperator, SaysWhatItCouldNotAsk) {
  EXPECT_EQ((check<cube<cube_gradient>, cube_gradient>().skipped), "");
  EXPECT_TRUE(check<rough>().ok);
  EXPECT_EQ(check<rough>().skipped, "the gradient of operand 0: no difference quotient was smooth");
  EXPECT_EQ((check<cube<cube_gradient>, cube_gradient>({}, {.rounds = 0}).skipped), "all of it: there was no round");
  EXPECT_EQ((check<cube<cube_gradient>, cube_gradient>({}, {.largest = 1}).skipped),
            "pieces along factor of *: its extent was 1 each time");
  EXPECT_EQ(check<centre<"H->H">>().skipped, "pieces: no factor may be sharded; the gradient: it has none");
}

template <hp::fixed_string Text, class Backward = cube_gradient>
void expect_text(const std::string& words) {
  const hp::operator_check c = check<texted<Text, Backward>, Backward>();
  EXPECT_TRUE(says(c, "texted: its gradient text \"" + std::string(Text.text) + "\" of " + Backward::name + words))
      << c.complaint;
}
TEST(CheckOperator, SaysWhatIsWrongWithAGradientText) {
  EXPECT_EQ((check<texted<"g0,x0>0">, cube_gradient>().complaint), "");
  expect_text<"g0,x2>0">(" cannot be read: operand_does_not_exist, character 4");
  expect_text<"g1,x0>0">(" cannot be read: result_does_not_exist, character 1");
  expect_text<"x0,x0>0">(" cannot be read: no_gradient_is_read, character 5");
  expect_text<"g0,x0>00">(" cannot be read: gradient_is_made_twice, character 7");
  expect_text<"">(" cannot be read: tensor_is_malformed, character 0");
  expect_text<"g0,x1>0">(" takes or makes numbers of rows where the backward operator has floats");
  expect_text<"g0,x0>1">(" takes or makes numbers of rows where the backward operator has floats");
  expect_text<"g0,x0>0", backward_without_kernel>(": the backward operator has no kernel");
  EXPECT_TRUE(says(check<texted<"g0>0">, cube_gradient>(),
                   "its gradient is refused: gradient_does_not_fit_its_operator, \"g0>0\" of cube_gradient"));
  EXPECT_TRUE(says(check<texted<"g0,x0>0">>(), "operator_is_not_in_the_list, \"g0,x0>0\" of cube_gradient"));
}

/// x + y, whose gradient goes to operands as it is.
template <unsigned Passes, hp::fixed_string Text = "*h,*h->*h">
struct adding {
  static constexpr const char *name = "adding", *text = Text.text;
  static constexpr unsigned passes_gradient = Passes;
  template <class T>
  static void run(const_view<T> x, const_view<T> y, tensor_view<T> z) {
    for (extent_t i = 0; i < hp::volume(z); ++i) z.data[i] = x.data[i] + y.data[i % hp::volume(y)];
  }
};
TEST(CheckOperator, HoldsGradientsThatPass) {
  EXPECT_EQ(check<adding<0b11>>().complaint + check<adding<0b11>>().skipped, "");
  EXPECT_TRUE(says(check<adding<0b01>>(), "the gradient of operand 1 is none, the difference quotient"));
  EXPECT_TRUE(says(check<adding<0b11, "*h,h->*h">>(),
                   "it passes the gradient of its first result to an operand of other dims, or of numbers"));
}

// ---- built-in operators ----

TEST(CheckOperator, BuiltInOperatorsKeepTheirRulesWordsAndGradients) {
  for (const builtin_case& c : builtin_cases)
    EXPECT_EQ(c.check({.positive = c.positive, .extent_of = builtin_extent}).complaint, "") << c.text;
}

TEST(CheckOperator, EveryBuiltInOperatorIsHeld) {
  std::set<int> held;
  for (const builtin_case& c : builtin_cases) held.insert(static_cast<int>(c.op));
  held.insert(static_cast<int>(hp::id_of<hp::ops::fill>));  // has no operand; its value is real[0] everywhere
  EXPECT_EQ(static_cast<int>(held.size()), hp::builtin_operator_count);
}

}  // namespace
