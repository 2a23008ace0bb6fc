// SPDX-License-Identifier: Apache-2.0
// docs/how-to/add-an-operator.md
#include <type_traits>

#include <hyperparallel/operators.hpp>

namespace hp = hyperparallel;

struct softmax {  // over the last dim: every device needs whole rows
  static constexpr hp::factor_rule rule =
      hp::rule_from("softmax", "tE->tE", {hp::reduce_op::none, hp::refuse_partials(), 5}).rule;
};
static_assert(hp::operator_type<softmax> && hp::check_rule(softmax::rule).code == hp::rule_code::ok);

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"ep", 4}> {};
using by_token = hp::layout<mesh, "dp", hp::none>;

static_assert(std::is_same_v<hp::result_layout<softmax, by_token>, by_token>);
static_assert(!hp::accepts<softmax, hp::layout<mesh, "dp", "ep">>);                         // E must be whole
static_assert(!hp::accepts<softmax, hp::layout<mesh, "dp", hp::none, hp::partial("ep")>>);  // and not a partial sum
static_assert(hp::flops<softmax>(hp::shape{4096, 64}).flops == 5 * 4096 * 64);

int main() {}
