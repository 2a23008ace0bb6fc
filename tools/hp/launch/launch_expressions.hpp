// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a shell script computes and compares without running anything: sums of whole numbers, and tests between brackets.
//
//   $(( (TP + 1) * PP / 2 ))         value_of_sum, by the variables that the script has set
//   [ $PR = bf16 ]  [[ -z "$X" ]]    verdict_of_test of the words between the brackets
//   case $PR in bf16) …              verdict_of_pattern
//
// Laws: tests of files, patterns and answers of commands, and numbers above 2^40, have no value. In a test, a variable that the
// script does not set is empty. O(bytes).

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hp_tool::launch {

using launch_values = std::map<std::string, std::string>;

/// Yes, no, or neither where only a run knows.
struct shell_verdict {
  signed char is = -1;
  constexpr shell_verdict() = default;
  constexpr shell_verdict(bool yes) : is(yes ? 1 : 0) {}
  constexpr bool is_known() const { return is >= 0; }
  friend constexpr bool operator==(shell_verdict, shell_verdict) = default;
};

/// Of what stands between $(( and )); nothing, where it is no sum of numbers that are known.
std::optional<long long> value_of_sum(const std::string& text, const launch_values& values);

/// Of the words between the brackets of a test, with variables replaced where the script sets them.
shell_verdict verdict_of_test(std::vector<std::string> words);

/// Whether the word of a `case` is that of a pattern; `*` is of every word.
shell_verdict verdict_of_pattern(std::string word, const std::string& pattern);

/// Of two verdicts.
shell_verdict either(shell_verdict a, shell_verdict b);

shell_verdict both(shell_verdict a, shell_verdict b);

/// Of two that "&&" or "||" joins; the second, where nothing does.
shell_verdict joined(shell_verdict a, std::string_view joint, shell_verdict b);

}  // namespace hp_tool::launch
