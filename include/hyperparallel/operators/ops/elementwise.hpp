// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of elements as operator types: `ops::relu<3>`, `ops::broadcasting<"mul", shape{8, 16}, shape{16}>`.
//
// As in all of ops/, `built` is the rule with its status and `rule` the rule alone, worked out where they are used.

#include <hyperparallel/operators/rules/elementwise.hpp>

namespace hyperparallel::inline v0_2::ops {

/// The named function of operands of `Rank` dims each, none of them repeated.
template <fixed_string Name, int Rank>
struct elementwise {
  static constexpr rule_result built = rules::elementwise(Name.text, Rank);
  static constexpr const factor_rule& rule = built.rule;
};

/// The named function of operands of these shapes, repeated as NumPy does.
template <fixed_string Name, shape... Operands>
struct broadcasting {
  static constexpr rule_result evaluate() {
    const shape operand[] = {Operands...};
    return rules::elementwise(Name.text, operand, static_cast<int>(sizeof...(Operands)));
  }
  static constexpr rule_result built = evaluate();
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank>
using neg = elementwise<"neg", Rank>;
template <int Rank>
using abs = elementwise<"abs", Rank>;
template <int Rank>
using square = elementwise<"square", Rank>;
template <int Rank>
using exp = elementwise<"exp", Rank>;
template <int Rank>
using log = elementwise<"log", Rank>;
template <int Rank>
using sqrt = elementwise<"sqrt", Rank>;
template <int Rank>
using rsqrt = elementwise<"rsqrt", Rank>;
template <int Rank>
using relu = elementwise<"relu", Rank>;
template <int Rank>
using gelu = elementwise<"gelu", Rank>;
template <int Rank>
using silu = elementwise<"silu", Rank>;
template <int Rank>
using sigmoid = elementwise<"sigmoid", Rank>;
template <int Rank>
using tanh = elementwise<"tanh", Rank>;
template <int Rank>
using sin = elementwise<"sin", Rank>;
template <int Rank>
using cos = elementwise<"cos", Rank>;
template <int Rank>
using cast = elementwise<"cast", Rank>;
template <int Rank>
using clone = elementwise<"clone", Rank>;
template <int Rank>
using clamp = elementwise<"clamp", Rank>;
template <int Rank>
using dropout = elementwise<"dropout", Rank>;
template <int Rank>
using logical_not = elementwise<"logical_not", Rank>;
template <int Rank>
using sub = elementwise<"sub", Rank>;
template <int Rank>
using mul = elementwise<"mul", Rank>;
template <int Rank>
using div = elementwise<"div", Rank>;
template <int Rank>
using pow = elementwise<"pow", Rank>;
template <int Rank>
using mod = elementwise<"mod", Rank>;
template <int Rank>
using maximum = elementwise<"maximum", Rank>;
template <int Rank>
using minimum = elementwise<"minimum", Rank>;
template <int Rank>
using equal = elementwise<"equal", Rank>;
template <int Rank>
using not_equal = elementwise<"not_equal", Rank>;
template <int Rank>
using greater = elementwise<"greater", Rank>;
template <int Rank>
using greater_equal = elementwise<"greater_equal", Rank>;
template <int Rank>
using less = elementwise<"less", Rank>;
template <int Rank>
using less_equal = elementwise<"less_equal", Rank>;
template <int Rank>
using logical_and = elementwise<"logical_and", Rank>;
template <int Rank>
using logical_or = elementwise<"logical_or", Rank>;
template <int Rank>
using logical_xor = elementwise<"logical_xor", Rank>;
template <int Rank>
using where = elementwise<"where", Rank>;
template <int Rank>
using masked_fill = elementwise<"masked_fill", Rank>;

}  // namespace hyperparallel::inline v0_2::ops
