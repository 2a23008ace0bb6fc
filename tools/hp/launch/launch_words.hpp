// SPDX-License-Identifier: Apache-2.0
#pragma once
// The words of a shell script: quotes, comments, lines that go on, variables and lists, without running anything.
//
// Invariant: at_ and line_ are the next byte and its line. What a variable or a command from outside would give stays as it is
// written. O(bytes of the text and of what variables hold).

#include <cctype>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "launch/launch_expressions.hpp"

namespace hp_tool::launch {

class launch_words {
 protected:
  explicit launch_words(std::string_view text) : text_(text) {}

  struct word {
    std::string text{};
    int line = 0;
  };
  struct word_list {
    std::vector<word> words{};
    bool used = false;
  };

  bool more() const { return at_ < text_.size(); }
  char here() const { return text_[at_]; }
  char next();
  static bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

  /// Blanks, comments, and ends of lines that go on. False at the end of a command.
  bool skip(bool over_lines);

  /// Whether a word of the shell stands here, and steps over it.
  bool keyword(std::string_view name);

  /// What groups commands and directs what they print.
  static bool is_mark(char c) { return c == '(' || c == ')' || c == '{' || c == '}' || c == '<' || c == '>'; }

  /// One word, or as many as its variables have outside of quotes.
  void read_word(std::vector<word>& words, bool splits = true);

  /// What stands behind a "$"; a list is added word by word.
  std::string expanded(std::vector<word>& words, const std::function<void(bool)>& end);

  /// $(( … )) of whole numbers and variables, else as it is written.
  std::string arithmetic();

  static constexpr const char* blanks = " \t\r\n";

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool reads_ = true;  ///< false within a branch that does not run
  launch_values values_;
  std::map<std::string, word_list> lists_;
};

}  // namespace hp_tool::launch
