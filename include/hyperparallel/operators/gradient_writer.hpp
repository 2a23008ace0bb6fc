// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an operator's gradient says: its backward operators and the tensors that each reads and makes.
//
//   b.template backward<multiply>("g0,x1>0");   reads the gradient of result 0 and operand 1, makes that of operand 0
//
// `g`, `x`, `y` and a number stand for the gradient of a result, an operand, a result; after '>' are the operands whose
// gradients the backward operator makes. Each tensor has the factors that it, or what it is the gradient of, has in the
// forward operator's rule: the backward rule numbers them alike, so that one placement serves both. Only which of them
// are reduced is found anew. Attributes are copied. Source: Griewank & Walther, "Evaluating derivatives", 2008,
// chapter 3.

#include <hyperparallel/operators/operator_value.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline constexpr int max_gradient_rules = 8;

/// One backward operator.
struct gradient_rule {
  operator_id backward{};
  const operator_value* value = nullptr;  ///< of the backward operator, where it was named as a type
  const char* text = "";
  bool reverses = false;  ///< attribute integer[0], a direction, is turned around
};

/// The backward operators of one operator, in the order in which `gradient` of the operator names them.
class gradient_writer {
 public:
  constexpr explicit gradient_writer(const operator_list& operators) : operators_(operators) {}

  gradient_rule rule[max_gradient_rules + 1] = {};
  int count = 0;  ///< may exceed `max_gradient_rules`: then the gradient is refused

  template <class Backward>
  constexpr gradient_rule& backward(const char* text);
  constexpr gradient_rule& backward(operator_id kind, const char* text) {
    gradient_rule& r = rule[count < max_gradient_rules ? count : max_gradient_rules];
    ++count;
    return r = {kind, nullptr, text};
  }

 private:
  const operator_list& operators_;
};

/// The operands whose gradients the rule makes, as digits: what follows its '>'.
constexpr const char* gradients_made_by(const gradient_rule& rule) {
  const char* at = rule.text;
  while (*at != '>') ++at;
  return at + 1;
}

/// Whether the rule reads the gradient of result `r`.
constexpr bool reads_gradient(const gradient_rule& rule, int r) {
  for (const char* at = rule.text; *at != '>'; ++at)
    if (at[0] == 'g' && at[1] - '0' == r) return true;
  return false;
}

/// Whether a gradient text names operands and results that an operator of so many has, and no more than a rule has room
/// for. Each gradient that it makes stands once.
constexpr bool reads_as_gradient(const char* text, int operands, int results) {
  int read = 0, made = 0;
  unsigned made_for = 0;
  const auto below = [](char digit, int count) { return digit >= '0' && digit - '0' < count; };
  for (;; ++text) {
    if (*text != 'g' && *text != 'x' && *text != 'y') return false;
    if (!below(text[1], *text == 'x' ? operands : results) || ++read > max_operands) return false;
    text += 2;
    if (*text != ',') break;
  }
  if (*text != '>') return false;
  for (++text; *text != '\0'; ++text) {
    if (!below(*text, operands) || ++made > max_results || (made_for >> (*text - '0') & 1u) != 0) return false;
    made_for |= 1u << (*text - '0');
  }
  return made > 0;
}

}}  // namespace hyperparallel::v0_2
