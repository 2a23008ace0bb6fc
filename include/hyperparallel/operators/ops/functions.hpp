// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of elements without a gradient, which distributed tensors have and models have not. One line makes a new one, and
// one says its function (kernels/function_of_operator.hpp). Every arithmetic operation, root and transcendental function
// counts as one.

#include <hyperparallel/operators/operator_value.hpp>
#include <hyperparallel/support/fixed_string.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Of one operand, and of two.
template <fixed_string Name, partial_words Words, int Flops = 1>
struct function_of_one {
  static constexpr const char *name = Name.text, *text = "*->*";
  static constexpr partial_words partials = Words;
  static constexpr int flops_per_point = Flops;
};
template <fixed_string Name, partial_words Words, int Flops = 1>
struct function_of_two : function_of_one<Name, Words, Flops> {
  static constexpr const char* text = "*,*->*";
};

namespace ops {

struct abs : function_of_one<"abs", partial_algebra::multiplies> {};
struct square : function_of_one<"square", partial_algebra::multiplies> {};
struct rsqrt : function_of_one<"rsqrt", partial_algebra::falls_above, 2> {};
struct sin : function_of_one<"sin", partial_algebra::opaque> {};
struct cos : function_of_one<"cos", partial_algebra::opaque> {};
struct minimum : function_of_two<"minimum", partial_algebra::takes_smaller> {};
struct pow : function_of_two<"pow", partial_algebra::opaque> {};
struct mod : function_of_two<"mod", partial_algebra::opaque> {};
struct floor_div : function_of_two<"floor_div", partial_algebra::opaque, 2> {};

// Truth values.
struct equal : function_of_two<"equal", partial_algebra::opaque> {};
struct not_equal : function_of_two<"not_equal", partial_algebra::opaque> {};
struct less : function_of_two<"less", partial_algebra::is_less> {};
struct less_equal : function_of_two<"less_equal", partial_algebra::is_less> {};
struct greater : function_of_two<"greater", partial_algebra::is_greater> {};
struct greater_equal : function_of_two<"greater_equal", partial_algebra::is_greater> {};
struct logical_and : function_of_two<"logical_and", partial_algebra::both> {};
struct logical_or : function_of_two<"logical_or", partial_algebra::either> {};
struct logical_not : function_of_one<"logical_not", partial_algebra::inverts_truth> {};

}  // namespace ops

}}  // namespace hyperparallel::v0_2
