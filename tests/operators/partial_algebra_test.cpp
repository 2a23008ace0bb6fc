// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/partial_algebra.hpp>

#include <hyperparallel/layout/tensor_map.hpp>
#include <hyperparallel/operators/operator_rule.hpp>
#include <hyperparallel/operators/propagate.hpp>
#include <hyperparallel/operators/rules/attention.hpp>
#include <hyperparallel/operators/rules/contraction.hpp>
#include <hyperparallel/operators/rules/convolution.hpp>
#include <hyperparallel/operators/rules/elementwise.hpp>
#include <hyperparallel/operators/rules/indexing.hpp>
#include <hyperparallel/operators/rules/joining.hpp>
#include <hyperparallel/operators/rules/movement.hpp>
#include <hyperparallel/operators/rules/ordering.hpp>
#include <hyperparallel/operators/rules/reduction.hpp>
#include <hyperparallel/operators/rules/scattering.hpp>
#include <hyperparallel/operators/rules/slicing.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "functions_of_elements.hpp"
#include "replay/reference_rules.hpp"

namespace {

namespace hp = hyperparallel;
namespace rules = hp::rules;
namespace reference = replay::reference;
using hp::shape;

constexpr hp::mesh_shape pair{1, {2}};

/// What comes of operand `o` partial by `op`, the others whole: `.` refused, else the result's reduction, with a +
/// where other operands are filled.
std::string outcome(const hp::factor_rule& rule, int o, hp::reduce_op op) {
  std::vector<hp::layout_value> layout;
  for (int q = 0; q < rule.operand_count; ++q) layout.push_back(hp::replicated(pair, rule.operand[q].rank));
  layout[static_cast<std::size_t>(o)].partial[0] = op;
  std::vector<const hp::layout_value*> operand;
  for (const hp::layout_value& l : layout) operand.push_back(&l);
  const hp::full_propagation p = hp::propagate_fully(rule, operand.data(), rule.operand_count);
  if (p.status.code == hp::propagation_code::partial_operand_is_refused) return ".";
  if (p.status.code != hp::propagation_code::ok) return "?";
  for (int r = 0; r < rule.result_count; ++r)
    if (p.result[r].partial[0] != p.result[0].partial[0]) return "?";
  return hp::name_of(p.result[0].partial[0]) + std::string(p.notes.filled != 0 ? "+" : "");
}

std::string row(const hp::factor_rule& rule, int o) {
  std::string text = rule.name.text + std::string(" ") + std::to_string(o) + ":";
  for (int op = 1; op < hp::reduce_op_count; ++op) text += " " + outcome(rule, o, static_cast<hp::reduce_op>(op));
  return text;
}

std::vector<hp::rule_result> all_rules() {
  const shape two[] = {shape{8, 4}, shape{8, 4}}, repeated[] = {shape{8, 4}, shape{4}};
  const reference::index_entry some[] = {reference::range(0, 2)};
  std::vector<hp::rule_result> all;
  const std::vector<std::string> twice = {"sum", "multiply", "divide", "maximum", "logical_and"};
  for (const elements::function_words& f : elements::all)
    all.push_back(rules::same_shape(f.name, 2, f.operands, f.words));
  for (const elements::function_words& f : elements::all)
    if (std::find(twice.begin(), twice.end(), f.name) != twice.end())
      all.push_back(rules::broadcasting((std::string(f.name) + "_repeated").c_str(), repeated, 2, f.words));
  all.push_back(rules::matmul(2, 2));
  all.push_back(rules::linear(3));
  all.push_back(rules::linear(3, true));
  all.push_back(rules::convolution(shape{2, 4, 8}, shape{6, 4, 3}, {{}, 1, true}));
  for (int op = 1; op < hp::reduce_op_count; ++op) all.push_back(rules::reduce(static_cast<hp::reduce_op>(op), 3, 1));
  for (const char* name : {"var", "std", "logsumexp", "norm", "median"})
    all.push_back(rules::reduce(name, 3, 1, false, hp::reduce_op::none));
  all.push_back(rules::indexed_reduction("max_with_index", 2, 0));
  all.push_back(rules::reduce("argmax", 2, 0, false, hp::reduce_op::none));
  all.push_back(rules::permute(2, {1, 0}));
  all.push_back(rules::transpose(2, 0, 1));
  all.push_back(rules::expand_dims(2, 0));
  all.push_back(rules::squeeze(shape{8, 1}));
  all.push_back(rules::expand(shape{8, 1}, shape{2, 8, 4}));
  all.push_back(rules::repeat_interleave(2, 0, 3));
  all.push_back(rules::roll(2));
  all.push_back(rules::flip(2));
  all.push_back(rules::tril(2));
  all.push_back(rules::reshape(shape{8, 4}, shape{32}));
  all.push_back(rules::flatten(shape{8, 4}));
  all.push_back(rules::concat(two, 2, 0));
  all.push_back(rules::stack(2, 2, 0));
  all.push_back(reference::index(shape{8, 4}, some, 1));
  all.push_back(rules::slice_dim(shape{8, 4}, 0, 0, 2));
  all.push_back(reference::assign(shape{8, 4}, some, 1));
  all.push_back(rules::pad(shape{8}, shape(1), shape(1)));
  all.push_back(rules::gather(2, 0));
  all.push_back(rules::index_select(2, 0));
  all.push_back(rules::gather_nd(3, 2, 2));
  all.push_back(rules::one_hot(1, -1, 5));
  all.push_back(rules::isin(2, 1));
  all.push_back(rules::scatter(2, 0));
  all.push_back(reference::scatter_number(2, 0));
  all.push_back(rules::scatter_add(2, 0));
  all.push_back(rules::scatter_update(2, 1));
  all.push_back(rules::masked_scatter(2, 2, 1));
  all.push_back(rules::reads_along("log_softmax", 2, -1, hp::refuse_partials(), 6));
  all.push_back(rules::normalize("layer_norm", 2, 1, 2, 8));
  all.push_back(rules::rms_norm(2));
  all.push_back(reference::packed_swiglu(2, -1));
  all.push_back(rules::cumsum(2, 0));
  all.push_back(rules::cumprod(2, 0));
  all.push_back(rules::sort(2));
  all.push_back(rules::argsort(2));
  all.push_back(rules::topk(2, 0, 2));
  all.push_back(rules::attention(4, 2));
  for (const hp::factor_rule& r : {hp::ops::matmul::rule, hp::ops::grouped_matmul::rule,
                                   hp::ops::grouped_matmul_gate_up::rule, hp::ops::grouped_swiglu::rule})
    all.push_back({{}, r});
  return all;
}

// One row per rule and operand; columns sum max min avg prod all any.
constexpr const char* written_table = R"(
scale 0: sum . . avg . . .
shift 0: . max min avg . . .
negate 0: sum min max avg . . .
abs 0: . . . . prod . .
square 0: . . . . prod . .
relu 0: . max min . . . .
exp 0: . max min . . . .
log 0: . . min . . . .
sqrt 0: . . min . . . .
sigmoid 0: . max min . . . .
softplus 0: . max min . . . .
tanh 0: . max min . . . .
rsqrt 0: . . max . . . .
gelu 0: . . . . . . .
squared_relu 0: . max min . . . .
silu 0: . . . . . . .
sin 0: . . . . . . .
cos 0: . . . . . . .
logical_not 0: . . . . . any all
sum 0: sum+ max min avg+ . . .
sum 1: sum+ max min avg+ . . .
subtract 0: sum+ max min avg+ . . .
subtract 1: sum+ min max avg+ . . .
multiply 0: sum . . avg prod+ . .
multiply 1: sum . . avg prod+ . .
divide 0: sum . . avg prod+ . .
divide 1: . . . . prod+ . .
floor_div 0: . . . . . . .
floor_div 1: . . . . . . .
mod 0: . . . . . . .
mod 1: . . . . . . .
pow 0: . . . . . . .
pow 1: . . . . . . .
maximum 0: . max+ min . . . .
maximum 1: . max+ min . . . .
minimum 0: . max min+ . . . .
minimum 1: . max min+ . . . .
equal 0: . . . . . . .
equal 1: . . . . . . .
not_equal 0: . . . . . . .
not_equal 1: . . . . . . .
greater 0: . any all . . . .
greater 1: . all any . . . .
greater_equal 0: . any all . . . .
greater_equal 1: . all any . . . .
less 0: . all any . . . .
less 1: . any all . . . .
less_equal 0: . all any . . . .
less_equal 1: . any all . . . .
logical_and 0: . . . . . all+ any
logical_and 1: . . . . . all+ any
logical_or 0: . . . . . all any+
logical_or 1: . . . . . all any+
swiglu 0: . . . . . . .
swiglu 1: sum . . avg . . .
identity 0: sum max min avg prod all any
clone 0: sum max min avg prod all any
cast 0: sum max min avg prod min max
dropout 0: sum max min avg . . .
reciprocal 0: . . . . prod . .
relu6 0: . max min . . . .
leaky_relu 0: . max min . . . .
elu 0: . max min . . . .
clamp 0: . max min . . . .
expm1 0: . max min . . . .
log_sigmoid 0: . max min . . . .
hard_sigmoid 0: . max min . . . .
sinh 0: . max min . . . .
asinh 0: . max min . . . .
atan 0: . max min . . . .
erf 0: . max min . . . .
floor 0: . max min . . . .
ceil 0: . max min . . . .
round 0: . max min . . . .
trunc 0: . max min . . . .
log1p 0: . . min . . . .
log2 0: . . min . . . .
sign 0: . max min . prod . .
erfc 0: . min max . . . .
bitwise_not 0: . min max . . . .
mish 0: . . . . . . .
hard_swish 0: . . . . . . .
tan 0: . . . . . . .
cosh 0: . . . . . . .
is_finite 0: . . . . . . .
is_nan 0: . . . . . . .
is_inf 0: . . . . . . .
atan2 0: . . . . . . .
atan2 1: . . . . . . .
logical_xor 0: . . . . . . .
logical_xor 1: . . . . . . .
bitwise_and 0: . . . . . . .
bitwise_and 1: . . . . . . .
bitwise_or 0: . . . . . . .
bitwise_or 1: . . . . . . .
bitwise_xor 0: . . . . . . .
bitwise_xor 1: . . . . . . .
where 0: . . . . . . .
where 1: sum+ max+ min+ avg+ prod+ all+ any+
where 2: sum+ max+ min+ avg+ prod+ all+ any+
masked_fill 0: . max min avg . all any
masked_fill 1: . . . . . . .
sum_repeated 0: sum+ max min avg+ . . .
sum_repeated 1: . . . . . . .
multiply_repeated 0: sum . . avg prod+ . .
multiply_repeated 1: . . . . . . .
divide_repeated 0: sum . . avg prod+ . .
divide_repeated 1: . . . . . . .
maximum_repeated 0: . max+ min . . . .
maximum_repeated 1: . . . . . . .
logical_and_repeated 0: . . . . . all+ any
logical_and_repeated 1: . . . . . . .
matmul 0: sum . . avg . . .
matmul 1: sum . . avg . . .
linear 0: sum . . avg . . .
linear 1: sum . . avg . . .
linear 0: sum+ . . avg+ . . .
linear 1: sum+ . . avg+ . . .
linear 2: . . . . . . .
convolution 0: sum+ . . avg+ . . .
convolution 1: sum+ . . avg+ . . .
convolution 2: . . . . . . .
sum 0: sum . . avg . . .
max 0: . max . . . . .
min 0: . . min . . . .
mean 0: sum . . avg . . .
prod 0: . . . . prod . .
all 0: . . . . . all .
any 0: . . . . . . any
var 0: . . . . . . .
std 0: . . . . . . .
logsumexp 0: . . . . . . .
norm 0: . . . . . . .
median 0: . . . . . . .
max_with_index 0: . . . . . . .
argmax 0: . . . . . . .
permute 0: sum max min avg prod all any
transpose 0: sum max min avg prod all any
expand_dims 0: sum max min avg prod all any
squeeze 0: sum max min avg prod all any
expand 0: sum max min avg prod all any
repeat_interleave 0: sum max min avg prod all any
roll 0: sum max min avg prod all any
flip 0: sum max min avg prod all any
tril 0: sum max min avg prod all any
reshape 0: sum max min avg prod all any
flatten 0: sum max min avg prod all any
concat 0: sum+ max+ min+ avg+ prod+ all+ any+
concat 1: sum+ max+ min+ avg+ prod+ all+ any+
stack 0: sum+ max+ min+ avg+ prod+ all+ any+
stack 1: sum+ max+ min+ avg+ prod+ all+ any+
index 0: sum max min avg prod all any
slice 0: sum max min avg prod all any
assign 0: sum+ max+ min+ avg+ prod+ all+ any+
assign 1: sum+ max+ min+ avg+ prod+ all+ any+
pad 0: sum max min avg prod all any
gather 0: sum max min avg prod all any
gather 1: . . . . . . .
index_select 0: sum max min avg prod all any
index_select 1: . . . . . . .
gather_nd 0: sum max min avg prod all any
gather_nd 1: . . . . . . .
one_hot 0: . . . . . . .
isin 0: . . . . . . .
isin 1: . . . . . . .
scatter 0: sum+ max+ min+ avg+ prod+ all+ any+
scatter 1: . . . . . . .
scatter 2: sum+ max+ min+ avg+ prod+ all+ any+
scatter 0: . max min avg . all any
scatter 1: . . . . . . .
scatter_add 0: sum+ . . avg+ . . .
scatter_add 1: . . . . . . .
scatter_add 2: sum+ . . avg+ . . .
scatter_update 0: sum+ max+ min+ avg+ prod+ all+ any+
scatter_update 1: . . . . . . .
scatter_update 2: sum+ max+ min+ avg+ prod+ all+ any+
masked_scatter 0: sum+ max+ min+ avg+ prod+ all+ any+
masked_scatter 1: . . . . . . .
masked_scatter 2: sum+ max+ min+ avg+ prod+ all+ any+
log_softmax 0: . . . . . . .
layer_norm 0: . . . . . . .
layer_norm 1: . . . . . . .
layer_norm 2: . . . . . . .
rms_norm 0: . . . . . . .
rms_norm 1: . . . . . . .
packed_swiglu 0: . . . . . . .
cumsum 0: sum . . avg . . .
cumprod 0: . . . . prod . .
sort 0: . . . . . . .
argsort 0: . . . . . . .
topk 0: . . . . . . .
attention 0: . . . . . . .
attention 1: . . . . . . .
attention 2: sum . . avg . . .
matmul 0: sum . . avg . . .
matmul 1: sum . . avg . . .
grouped_matmul 0: sum . . avg . . .
grouped_matmul 1: sum . . avg . . .
grouped_matmul_gate_up 0: sum . . avg . . .
grouped_matmul_gate_up 1: sum . . avg . . .
grouped_swiglu 0: . . . . . . .
)";

TEST(PartialAlgebra, EveryRuleStatesAnOutcomeForEveryOperandAndReduction) {
  std::istringstream written(written_table);
  std::string expected;
  std::getline(written, expected);
  for (const hp::rule_result& r : all_rules()) {
    ASSERT_EQ(r.status.code, hp::rule_code::ok) << r.rule.name.text;
    ASSERT_TRUE(r.rule.partials.stated) << r.rule.name.text;
    for (int o = 0; o < r.rule.operand_count; ++o) {
      ASSERT_TRUE(std::getline(written, expected)) << "no row for " << row(r.rule, o);
      EXPECT_EQ(row(r.rule, o), expected);
    }
  }
  EXPECT_FALSE(std::getline(written, expected)) << "one row too many: " << expected;
}

static_assert(hp::partial_algebra::opaque == hp::refuse_partials());
static_assert(hp::detail::word_of(hp::detail::falling(hp::partial_algebra::scales, 0), 0, hp::reduce_op::max) ==
              hp::detail::partial_word{hp::partial_mode::each, hp::reduce_op::min});

}  // namespace
