// SPDX-License-Identifier: Apache-2.0
#include "launch/launch_expressions.hpp"

#include <cctype>
#include <cstddef>
#include <utility>

namespace hp_tool::launch {

namespace {

class launch_sum {
 public:
  launch_sum(const std::string& text, const launch_values& values) : t_(text), values_(values) {}

  std::optional<long long> value() {
    const std::optional<long long> sum = terms();
    return at_ == t_.size() ? sum : std::optional<long long>();
  }

 private:
  std::optional<long long> terms() {
    std::optional<long long> left = factors();
    while (left && at_ < t_.size() && (t_[at_] == '+' || t_[at_] == '-')) {
      const char op = t_[at_++];
      const std::optional<long long> right = factors();
      if (!right) return {};
      left = op == '+' ? *left + *right : *left - *right;
    }
    return left;
  }
  std::optional<long long> factors() {
    std::optional<long long> left = number();
    while (left && at_ < t_.size() && (t_[at_] == '*' || t_[at_] == '/')) {
      const char op = t_[at_++];
      const std::optional<long long> right = number();
      if (!right || (op == '/' && *right == 0)) return {};
      if (op == '*' && *right != 0 && (*left > largest / *right || *left < -largest / *right)) return {};
      left = op == '*' ? *left * *right : *left / *right;
    }
    return left;
  }
  std::optional<long long> number() {
    skip_blanks();
    std::optional<long long> value;
    if (at_ < t_.size() && t_[at_] == '(') {
      ++at_;
      value = terms();
      if (at_ >= t_.size() || t_[at_++] != ')') return {};
    } else {
      std::string digits;
      while (at_ < t_.size() && (std::isalnum(static_cast<unsigned char>(t_[at_])) || t_[at_] == '_' ||
                                 t_[at_] == '$' || t_[at_] == '{' || t_[at_] == '}')) {
        if (t_[at_] != '$' && t_[at_] != '{' && t_[at_] != '}') digits += t_[at_];
        ++at_;
      }
      if (const auto known = values_.find(digits); known != values_.end()) digits = known->second;
      if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string::npos) return {};
      value = std::stoll(digits);
    }
    skip_blanks();
    return value;
  }
  void skip_blanks() {
    while (at_ < t_.size() && std::isspace(static_cast<unsigned char>(t_[at_]))) ++at_;
  }

  static constexpr long long largest = 1LL << 40;

  const std::string& t_;
  const launch_values& values_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<long long> value_of_sum(const std::string& text, const launch_values& values) {
  return launch_sum(text, values).value();
}

shell_verdict verdict_of_test(std::vector<std::string> words) {
  if (!words.empty() && words[0] == "!") {
    words.erase(words.begin());
    const shell_verdict other = verdict_of_test(std::move(words));
    return other.is_known() ? shell_verdict(other == false) : other;
  }
  for (std::string& w : words) {
    if (w.find("$(") != std::string::npos || w.find("$#") != std::string::npos) return {};
    if (w.starts_with("$") && w != "$") w.clear();
  }
  if (words.size() == 1) return !words[0].empty();
  if (words.size() == 2 && words[0] == "-z") return words[1].empty();
  if (words.size() == 2 && words[0] == "-n") return !words[1].empty();
  if (words.size() != 3) return {};
  const std::string &left = words[0], &op = words[1], &right = words[2];
  if (op == "=" || op == "==" || op == "!=")
    return right.find_first_of("*?[") != std::string::npos ? shell_verdict()
                                                           : shell_verdict((left == right) == (op != "!="));
  const std::optional<long long> a = value_of_sum(left, {}), b = value_of_sum(right, {});
  if (!a || !b) return {};
  if (op == "-eq") return *a == *b;
  if (op == "-ne") return *a != *b;
  if (op == "-lt") return *a < *b;
  if (op == "-le") return *a <= *b;
  if (op == "-gt") return *a > *b;
  if (op == "-ge") return *a >= *b;
  return {};
}

shell_verdict verdict_of_pattern(std::string word, const std::string& pattern) {
  if (pattern == "*") return true;
  if (word.find("$(") != std::string::npos || pattern.find_first_of("*?[$") != std::string::npos) return {};
  if (word.starts_with("$")) word.clear();
  return word == pattern;
}

shell_verdict either(shell_verdict a, shell_verdict b) {
  if (a == true || b == true) return true;
  return a.is_known() && b.is_known() ? a : shell_verdict();
}

shell_verdict both(shell_verdict a, shell_verdict b) {
  if (a == false || b == false) return false;
  return a.is_known() && b.is_known() ? a : shell_verdict();
}

shell_verdict joined(shell_verdict a, std::string_view joint, shell_verdict b) {
  return joint == "&&" ? both(a, b) : joint == "||" ? either(a, b) : b;
}

}  // namespace hp_tool::launch
