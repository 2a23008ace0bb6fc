// SPDX-License-Identifier: Apache-2.0
// Prints docs/reference/operator-table.md from the rules themselves: what each operator's dims run over, which partial
// operands pass, and its work; and the operators that have kernels from the list that models name them by. A test holds
// the page against this output.
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include <hyperparallel/dtensor/operations/elementwise.hpp>
#include <hyperparallel/dtensor/operations/normalization.hpp>
#include <hyperparallel/kernels/ops/builtin_kernels.hpp>
#include <hyperparallel/operators/gradient_statement.hpp>
#include <hyperparallel/operators/rules/attention.hpp>
#include <hyperparallel/operators/rules/contraction.hpp>
#include <hyperparallel/operators/rules/convolution.hpp>
#include <hyperparallel/operators/rules/indexing.hpp>
#include <hyperparallel/operators/rules/joining.hpp>
#include <hyperparallel/operators/rules/movement.hpp>
#include <hyperparallel/operators/rules/normalization.hpp>
#include <hyperparallel/operators/rules/ordering.hpp>
#include <hyperparallel/operators/rules/reduction.hpp>
#include <hyperparallel/operators/rules/scattering.hpp>
#include <hyperparallel/operators/rules/slicing.hpp>
#include <hyperparallel/operators/shape_factors.hpp>
#include <hyperparallel/report/format_operators.hpp>

#include "../examples/standard_output.hpp"

namespace hp = hyperparallel;
using namespace hyperparallel::rules;

namespace {

struct entry {
  std::string call;
  hp::rule_result built;
};

/// One table; neighbours that differ in name alone share a row. `operators` gets the names of their rules.
bool print(const char* title, const std::vector<entry>& entries, std::set<std::string>& operators) {
  bool valid = true;
  std::printf("\n## %s\n\n| operator | rule | partial operands that pass | flops a point |\n|---|---|---|---|\n",
              title);
  std::string names, row;
  const auto flush = [&] {
    if (!names.empty()) std::printf("| %s | %s\n", names.c_str(), row.c_str());
  };
  for (const entry& e : entries) {
    valid = valid && e.built.status.code == hp::rule_code::ok;
    const hp::factor_rule& r = e.built.rule;
    operators.insert(r.name.text);
    std::string words = hp::to_text(r, r.partials);
    if (r.outside != 0) words += "; added once beside the reduction";
    const std::string text = fmt::format("`{}` | {} | {} |", r, words, r.flops_per_point);
    if (text != row) {
      flush();
      names.clear();
      row = text;
    }
    names += (names.empty() ? "`" : ", `") + e.call + "`";
  }
  flush();
  return valid;
}

template <class Description>
entry function_entry(const char* name, const Description& function) {
  const hp::shape same[] = {{8, 6}, {8, 6}, {8, 6}};
  int operands = 1;
  while (function.rule(same, operands).status.code == hp::rule_code::too_many_operands) ++operands;
  return {name, function.rule(same, operands)};
}
template <class... Operator>
std::vector<entry> functions() {
  return {function_entry(Operator::name, hp::elementwise<Operator>{})...};
}

std::vector<entry> elementwise_entries() {
  namespace ops = hp::ops;
  const hp::shape same[] = {{8, 6}, {8, 6}, {8, 6}};
  std::vector<entry> all, sorted;
  all =
      functions<ops::negate, ops::abs, ops::square, ops::relu, ops::exp, ops::log, ops::sqrt, ops::rsqrt, ops::sigmoid,
                ops::softplus, ops::tanh, ops::gelu, ops::gelu_tanh, ops::silu, ops::squared_relu, ops::sin, ops::cos,
                ops::logical_not, ops::sum, ops::subtract, ops::multiply, ops::divide, ops::floor_div, ops::mod,
                ops::pow, ops::maximum, ops::minimum, ops::equal, ops::not_equal, ops::greater, ops::greater_equal,
                ops::less, ops::less_equal, ops::logical_and, ops::logical_or, ops::swiglu>();
  all.push_back({"cast", hp::operations::cast<int>{}.rule(same, 1)});
  all.push_back({"scale", hp::operations::scale<float>{}.rule(same, 1)});
  all.push_back({"shift", hp::operations::shift<float>{}.rule(same, 1)});
  all.push_back({"where", hp::operations::where{}.rule(same, 3)});
  all.push_back({"masked_fill", hp::operations::masked_fill<float>{}.rule(same, 2)});
  // Functions of one algebra beside each other, in the order in which the first of them is listed.
  std::vector<bool> taken(all.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i; j < all.size(); ++j) {
      const hp::factor_rule &a = all[i].built.rule, &b = all[j].built.rule;
      if (taken[j] || taken[i] != (j > i) || a.operand_count != b.operand_count || !(a.partials == b.partials) ||
          a.flops_per_point != b.flops_per_point)
        continue;
      taken[j] = true;
      sorted.push_back(all[j]);
    }
  return sorted;
}

std::vector<entry> reduction_entries() {
  std::vector<entry> all;
  for (int i = 1; i < hp::reduce_op_count; ++i) {
    const hp::reduce_op op = static_cast<hp::reduce_op>(i);
    all.push_back({std::string("reduce(") + hp::name_of(op) + ", 3, 1)", reduce(op, 3, 1)});
  }
  all.push_back({"reduce(sum, 3, 1, keep)", reduce(hp::reduce_op::sum, 3, 1, true)});
  all.push_back({"indexed_reduction(\"max\", 3, 1)", indexed_reduction("max", 3, 1)});
  all.push_back({"reduce(\"argmax\", 3, 1, none)", reduce("argmax", 3, 1, false, hp::reduce_op::none)});
  return all;
}

// ---- operators with kernels ----

std::string rule_of(const hp::operator_value& o) {
  return o.text[0] == '\0' ? "of each instance" : std::string("`") + o.text + "`";
}

/// The element types that its kernel computes in.
std::string kernels_of(hp::operator_id op) {
  std::string types;
  if (hp::kernel_of<float>(op) != nullptr) types = "f32";
  if (hp::kernel_of<double>(op) != nullptr) types += types.empty() ? "f64" : ", f64";
  return types + (hp::builtin_list[op].unit == hp::compute_unit::matrix ? "; matrix core" : "");
}

std::string gradient_of(const hp::operator_value& o) {
  switch (hp::gradient_statement_of(o)) {
    case hp::gradient_statement::backward_operators: {
      const hp::gradient_writer w = hp::backward_operators_of(o);
      std::string all;
      for (int i = 0; i < hp::max_operands; ++i)
        if (hp::is_in(o.passes_gradient, i)) all += "the result's for operand " + std::to_string(i);
      for (int n = 0; n < w.count; ++n)
        all +=
            std::string(all.empty() ? "`" : ", `") + hp::name_of(w.rule[n].backward) + "` by `" + w.rule[n].text + "`";
      return all;
    }
    case hp::gradient_statement::passes_on:
      return "the result's";
    case hp::gradient_statement::of_the_loss:
      return "`cross_entropy_gradient`, with the operators before it";
    case hp::gradient_statement::constant:
      return "none passes";
    default:
      return "refused";
  }
}

/// What a model and a program of distributed tensors do with it.
const char* uses_of(const hp::operator_value& o) {
  switch (hp::gradient_statement_of(o)) {
    case hp::gradient_statement::backward_operators:
    case hp::gradient_statement::passes_on:
      return "trained | applied; differentiated";
    case hp::gradient_statement::of_the_loss:
      return "trained | applied; differentiated by `cross_entropy`";
    default:
      return "applied | applied";
  }
}

void print_operators_with_kernels() {
  int forward = 0, differentiable = 0;
  std::printf(
      "\n## Operators with kernels\n\n"
      "The operators of models and of `hp::apply` on distributed tensors, in the order of their list. A gradient\n"
      "names backward operators and what each reads and makes: g the gradient of a result, x an operand, y a result.\n"
      "A loss that depends on what is refused is one error line. Kernels compute 16-bit floats in f32.\n\n"
      "| operator | rule | kernel | gradient | models | distributed tensors |\n|---|---|---|---|---|---|\n");
  const auto is_backward_alone = [](hp::operator_id op) {
    return hp::gradient_statement_of(hp::builtin_list[op]) == hp::gradient_statement::nothing;
  };
  for (int i = 0; i < hp::builtin_operator_count; ++i) {
    const hp::operator_id op = static_cast<hp::operator_id>(i);
    const hp::operator_value& o = hp::builtin_list[op];
    if (is_backward_alone(op)) continue;
    ++forward;
    differentiable += hp::is_differentiable(o) ? 1 : 0;
    std::printf("| `%s` | %s | %s | %s | %s |\n", o.name, rule_of(o).c_str(), kernels_of(op).c_str(),
                gradient_of(o).c_str(), uses_of(o));
  }
  std::printf(
      "\n### Backward operators\n\nWhat gradients name and no model needs to apply itself.\n\n"
      "| operator | rule | kernel |\n|---|---|---|\n");
  for (int i = 0; i < hp::builtin_operator_count; ++i) {
    const hp::operator_id op = static_cast<hp::operator_id>(i);
    if (is_backward_alone(op))
      std::printf("| `%s` | %s | %s |\n", hp::name_of(op), rule_of(hp::builtin_list[op]).c_str(),
                  kernels_of(op).c_str());
  }
  std::printf("\n%d operators with kernels, %d of them with gradients, by %d backward operators.\n", forward,
              differentiable, hp::builtin_operator_count - forward);
}

}  // namespace

int main() {
  std::printf(
      "# Operator table\n\nPrinted from the rules by `tools/operator_table.cpp`; do not edit. Functions of elements "
      "are\noperators of `hyperparallel::ops`, other calls functions of "
      "`hyperparallel::rules`; numbers are ranks and dims of the sample shown. How to read a rule: "
      "[operators](operators.md).\nA `~` marks a factor that needs a halo; the number before a word is the operand.\n");
  const hp::shape matrix{8, 6}, row{6}, cube{4, 6, 8}, ones{4, 1, 8};
  const hp::shape pair[] = {matrix, row}, same[] = {matrix, matrix};
  std::set<std::string> operators;
  const auto table = [&](const char* title, const std::vector<entry>& entries) {
    return print(title, entries, operators);
  };
  bool valid = table("Functions of elements", elementwise_entries());
  valid &= table("Repeated operands", {{"sum({8, 6}, {6})", hp::elementwise<hp::ops::sum>{}.rule(pair, 2)},
                                       {"multiply({8, 6}, {6})", hp::elementwise<hp::ops::multiply>{}.rule(pair, 2)}});
  valid &= table("Contractions", {{"matmul(2, 2)", matmul(2, 2)},
                                  {"matmul(2, 2, false, true)", matmul(2, 2, false, true)},
                                  {"linear(3)", linear(3)},
                                  {"linear(3, bias)", linear(3, true)}});
  valid &= table("Reductions", reduction_entries());
  valid &= table("Normalisation",
                 {{"reads_along(\"log_softmax\", 2, -1)", reads_along("log_softmax", 2, -1, hp::refuse_partials(), 6)},
                  {"normalize(\"layer_norm\", 3, 1, 2)", normalize("layer_norm", 3, 1, 2, 8)},
                  {"rms_norm(3)", rms_norm(3)},
                  {"packed_swiglu of {8, 6}", hp::operations::packed_swiglu{}.rule(&matrix, 1)}});
  valid &= table("Order along a dim", {{"cumsum(2, 1)", cumsum(2, 1)},
                                       {"cumprod(2, 1)", cumprod(2, 1)},
                                       {"sort(2)", sort(2)},
                                       {"argsort(2)", argsort(2)},
                                       {"topk(2, 1, 4)", topk(2, 1, 4)}});
  valid &= table("Movement", {{"permute(3, {2, 0, 1})", permute(3, {2, 0, 1})},
                              {"transpose(3, 0, 2)", transpose(3, 0, 2)},
                              {"expand_dims(2, 1)", expand_dims(2, 1)},
                              {"squeeze({4, 1, 8})", squeeze(ones)},
                              {"expand({4, 1, 8}, {4, 6, 8})", expand(ones, cube)},
                              {"reshape({8, 6}, {2, 4, 6})", reshape(matrix, hp::shape{2, 4, 6})},
                              {"flatten({4, 6, 8})", flatten(cube)},
                              {"repeat_interleave(2, 1, 3)", repeat_interleave(2, 1, 3)},
                              {"roll(2, 1)", roll(2, 1)},
                              {"flip(2, 1)", flip(2, 1)},
                              {"tril(2)", tril(2)}});
  valid &= table("Joining and splitting", {{"concat({8, 6}, {8, 6}; 0)", concat(same, 2, 0)},
                                           {"stack(2, 2, 0)", stack(2, 2, 0)},
                                           {"slice_dim({8, 6}, 0, 2, 6)", slice_dim(matrix, 0, 2, 6)},
                                           {"pad({8, 6}, {1, 0}, {1, 0})", pad(matrix, {1, 0}, {1, 0})},
                                           {"place_slice({8, 6}, 0, 2, 1, 16)", place_slice(matrix, 0, 2, 1, 16)}});
  valid &= table("Indices", {{"gather(2, 1)", gather(2, 1)},
                             {"index_select(2, 0)", index_select(2, 0)},
                             {"gather_nd(3, 2, 2)", gather_nd(3, 2, 2)},
                             {"one_hot(1, -1, 10)", one_hot(1, -1, 10)},
                             {"isin(2, 1)", isin(2, 1)},
                             {"scatter(2, 1)", scatter(2, 1)},
                             {"scatter_add(2, 1)", scatter_add(2, 1)},
                             {"scatter_update(2, 1)", scatter_update(2, 1)},
                             {"masked_scatter(2, 2, 1)", masked_scatter(2, 2, 1)}});
  valid &= table("Attention", {{"attention(8, 2)", attention(8, 2)}, {"attention(8, 8)", attention(8, 8)}});
  valid &= table("Convolution", {{"convolution({1, 4, 8, 8}, {6, 4, 3, 3})", convolution({1, 4, 8, 8}, {6, 4, 3, 3})}});
  std::printf("\n%zu operators in all, by the names of their rules.\n", operators.size());
  print_operators_with_kernels();
  if (!valid) std::fprintf(stderr, "a sample's attributes are refused\n");
  return finished("operator_table", valid ? 0 : 1);
}
