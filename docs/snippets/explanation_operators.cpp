// SPDX-License-Identifier: Apache-2.0
// docs/explanation/operators.md
#include <type_traits>

#include <hyperparallel/layout.hpp>
#include <hyperparallel/operators/backward.hpp>
#include <hyperparallel/operators/resolve.hpp>
#include <hyperparallel/operators/rule_text.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};

constexpr hp::factor_rule matmul = hp::rule_from("matmul", "mk,kn->mn", hp::contraction).rule;
constexpr auto wanted = hp::layout<mesh, "dp", "tp">::value;
constexpr auto back = hp::propagate_backward(matmul, wanted);
static_assert(back.operand[0] == hp::layout<mesh, "dp", hp::none>::value);
static_assert(back.operand[1] == hp::layout<mesh, hp::none, "tp">::value);

// Operands that do not meet: tokens are sharded along the contraction, the weight is not.
constexpr auto tokens = hp::layout<mesh, "dp", "tp">::value;
constexpr auto weight = hp::layout<mesh, hp::none, hp::none>::value;

constexpr hp::resolution find(const hp::layout_value& x, const hp::layout_value& w, hp::resolve_options options = {}) {
  const hp::layout_value* operand[] = {&x, &w};
  const hp::shape shapes[] = {hp::shape{4096, 512}, hp::shape{512, 2048}};
  return hp::resolve(matmul, operand, shapes, 2, options);
}
constexpr auto r = find(tokens, weight);
static_assert(r.strict.code == hp::propagation_code::operands_disagree);
static_assert(r.price == 0 && r.placed.operand[1] == hp::layout<mesh, "tp", hp::none>::value);  // a slice is free
static_assert(r.placed.result[0] == hp::layout<mesh, "dp", hp::none, hp::partial("tp")>::value);

// A consumer that wants the result sharded by tp: gathering thin tokens is cheaper than reducing a wide result.
constexpr auto c = find(tokens, weight, {.consumer = &wanted});
static_assert(c.placed.operand[0] == hp::layout<mesh, "dp", hp::none>::value && c.consumer_received == 0);
static_assert(c.price == 2048 * 512 * 3 / 4);

int main() {}
