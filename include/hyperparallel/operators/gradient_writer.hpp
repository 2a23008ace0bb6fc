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
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline constexpr int max_gradient_rules = 8;

/// One backward operator.
struct gradient_rule {
  operator_id backward{};
  const operator_value* value = nullptr;  ///< of the backward operator, where it was named as a type
  const char* text = "";
  bool reverses = false;  ///< attribute integer[0], a direction, is turned around
  /// Whether there is a `value`: g++ does not compare the address of a template's variable with null in a constant
  /// expression while a sanitizer is on.
  bool is_named = false;
};

/// The backward operators of one operator, in the order in which `gradient` of the operator names them.
class gradient_writer {
 public:
  /// `operands`: how many the instance has, 0 where the operator alone is asked.
  constexpr explicit gradient_writer(const operator_list& operators, int operands = 0)
      : operators_(operators), operands_(operands) {}

  gradient_rule rule[max_gradient_rules + 1] = {};
  int count = 0;  ///< may exceed `max_gradient_rules`: then the gradient is refused

  template <class Backward>
  constexpr gradient_rule& backward(const char* text);
  constexpr gradient_rule& backward(operator_id kind, const char* text) {
    gradient_rule& r = rule[count < max_gradient_rules ? count : max_gradient_rules];
    ++count;
    return r = {kind, nullptr, text};
  }

  /// How many operands the instance has, for operators that take any number of them.
  constexpr int operands() const { return operands_; }

 private:
  const operator_list& operators_;
  int operands_;
};

namespace detail {

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

}  // namespace detail

enum class gradient_text_code : unsigned char {
  ok,
  tensor_is_malformed,  ///< neither g, x nor y stands there
  operand_does_not_exist,
  result_does_not_exist,
  too_many_tensors,
  arrow_is_missing,  ///< a comma or '>'
  no_gradient_is_read,
  no_gradient_is_made,
  gradient_is_made_twice,
};

constexpr const char* name_of(gradient_text_code c) {
  return detail::enum_name(
      "ok\0tensor_is_malformed\0operand_does_not_exist\0result_does_not_exist\0too_many_tensors\0arrow_is_missing\0"
      "no_gradient_is_read\0no_gradient_is_made\0gradient_is_made_twice",
      c);
}

namespace detail {

/// `where` is the character to blame.
struct gradient_text_status {
  gradient_text_code code = gradient_text_code::ok;
  int where = 0;
  friend constexpr bool operator==(const gradient_text_status&, const gradient_text_status&) = default;
};

/// Whether a gradient text names operands and results that an operator of so many has, reads the gradient of a result,
/// makes each gradient once, and has no more tensors than a rule has room for; the first that fails. O(length).
constexpr gradient_text_status check_gradient_text(const char* text, int operands, int results) {
  int at = 0, tensors = 0;
  bool reads = false;
  const auto below = [](char digit, int count) { return digit >= '0' && digit - '0' < count; };
  for (;; ++at) {
    const char letter = text[at];
    if (letter != 'g' && letter != 'x' && letter != 'y') return {gradient_text_code::tensor_is_malformed, at};
    if (++tensors > max_operands) return {gradient_text_code::too_many_tensors, at};
    reads = reads || letter == 'g';
    if (!below(text[++at], letter == 'x' ? operands : results))
      return {letter == 'x' ? gradient_text_code::operand_does_not_exist : gradient_text_code::result_does_not_exist,
              at};
    if (text[++at] != ',') break;
  }
  if (text[at] != '>') return {gradient_text_code::arrow_is_missing, at};
  if (!reads) return {gradient_text_code::no_gradient_is_read, at};
  unsigned made = 0;
  for (tensors = 0; text[++at] != '\0'; made |= 1u << (text[at] - '0')) {
    if (!below(text[at], operands)) return {gradient_text_code::operand_does_not_exist, at};
    if ((made >> (text[at] - '0') & 1u) != 0) return {gradient_text_code::gradient_is_made_twice, at};
    if (++tensors > max_results) return {gradient_text_code::too_many_tensors, at};
  }
  return {made == 0 ? gradient_text_code::no_gradient_is_made : gradient_text_code::ok, made == 0 ? at : 0};
}

/// Whether a readable text gives numbers of rows where the backward operator takes them and nowhere else, and makes
/// gradients of floats alone.
constexpr bool numbers_fit(const operator_value& forward, const operator_value& backward, const char* text) {
  int at = 0, place = 0;
  for (;; at += 3, ++place) {
    const int n = text[at + 1] - '0';
    const bool given = text[at] == 'x' ? is_in(forward.indices, n) : text[at] == 'y' && is_in(forward.index_results, n);
    if (given != is_in(backward.indices, place)) return false;
    if (text[at + 2] == '>') break;
  }
  place = 0;
  for (at += 3; text[at] != '\0'; ++at, ++place)
    if (is_in(forward.indices, text[at] - '0') || is_in(backward.index_results, place)) return false;
  return true;
}

constexpr bool reads_as_gradient(const char* text, int operands, int results) {
  return check_gradient_text(text, operands, results).code == gradient_text_code::ok;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
