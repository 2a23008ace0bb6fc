// SPDX-License-Identifier: Apache-2.0
#pragma once
// The words of a shell script: quotes, comments, lines that go on, variables and lists, without running anything.
//
// Invariant: at_ and line_ are the next byte and its line. What a variable or a command from outside would give stays as it is
// written. O(bytes of the text and of what variables hold).

#include <cctype>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/io/launch_expressions.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

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
  char next() {
    const char c = text_[at_++];
    if (c == '\n') ++line_;
    return c;
  }
  static bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

  /// Blanks, comments, and ends of lines that go on. False at the end of a command.
  bool skip(bool over_lines) {
    while (more()) {
      if (here() == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') {
        next();
        next();
      } else if (here() == '#') {
        while (more() && here() != '\n') next();
      } else if (here() == ' ' || here() == '\t' || here() == '\r' || (over_lines && here() == '\n')) {
        next();
      } else {
        return here() != '\n' && here() != ';' && here() != '&' && here() != '|';
      }
    }
    return false;
  }

  /// Whether a word of the shell stands here, and steps over it.
  bool keyword(std::string_view name) {
    if (!text_.substr(at_).starts_with(name)) return false;
    const std::size_t end = at_ + name.size();
    if (end < text_.size() && !std::isspace(static_cast<unsigned char>(text_[end])) && text_[end] != ';') return false;
    at_ = end;
    return true;
  }

  /// What groups commands and directs what they print.
  static bool is_mark(char c) { return c == '(' || c == ')' || c == '{' || c == '}' || c == '<' || c == '>'; }

  /// One word, or as many as its variables have outside of quotes.
  void read_word(std::vector<word>& words, bool splits = true) {
    word w{{}, line_};
    bool quoted = false;
    const auto end = [&](bool before_list = false) {
      if (!w.text.empty() || (quoted && !before_list)) words.push_back(w);
      w.text.clear();
      quoted = false;
    };
    while (more() && !std::isspace(static_cast<unsigned char>(here())) && here() != ';' && here() != ')' &&
           here() != '|' && here() != '&') {
      const char c = next();
      if (c == '\\' && more()) {
        if (here() != '\n') w.text += here();
        next();
      } else if (c == '\'') {
        quoted = true;
        while (more() && here() != '\'') w.text += next();
        if (more()) next();
      } else if (c == '"') {
        quoted = true;
        while (more() && here() != '"') {
          const char inner = next();
          if (inner == '\\' && more() && here() == '\n')
            next();
          else if (inner == '\\' && more())
            w.text += next();
          else if (inner == '$')
            w.text += expanded(words, end);
          else
            w.text += inner;
        }
        if (more()) next();
      } else if (c == '$') {
        const std::string value = expanded(words, end);
        if (!splits) {
          w.text += value;
          continue;
        }
        for (const char v : value)
          if (std::isspace(static_cast<unsigned char>(v)) && !value.starts_with("$("))
            end();
          else
            w.text += v;
      } else {
        w.text += c;
      }
    }
    end();
  }

  /// What stands behind a "$"; a list is added word by word.
  template <class End>
  std::string expanded(std::vector<word>& words, const End& end) {
    if (text_.substr(at_).starts_with("((")) return arithmetic();
    if (more() && here() == '(') {
      const std::size_t begin = at_ - 1;
      for (int depth = 0; more();) {
        const char c = next();
        depth += c == '(' ? 1 : c == ')' ? -1 : 0;
        if (depth == 0) break;
      }
      return std::string(text_.substr(begin, at_ - begin));
    }
    const bool braced = more() && here() == '{';
    if (braced) next();
    std::string name;
    while (more() && (is_name(here()) || (braced && here() == '!'))) name += next();
    std::string rest;
    if (braced) {
      while (more() && here() != '}') rest += next();
      if (more()) next();
    }
    if (const auto list = lists_.find(name); list != lists_.end()) {
      end(true);
      list->second.used = list->second.used || reads_;
      for (const word& one : list->second.words) words.push_back(one);
      return {};
    }
    if (const auto value = values_.find(name); value != values_.end() && !value->second.empty()) return value->second;
    if (rest.starts_with(":-") || rest.starts_with(":=")) return rest.substr(2);
    return "$" + name;
  }

  /// $(( … )) of whole numbers and variables, else as it is written.
  std::string arithmetic() {
    std::size_t close = at_ + 2;
    for (int depth = 0; close < text_.size() && (depth > 0 || !text_.substr(close).starts_with("))")); ++close)
      depth += text_[close] == '(' ? 1 : text_[close] == ')' ? -1 : 0;
    if (close >= text_.size()) return "$";
    const std::string whole(text_.substr(at_ + 2, close - at_ - 2));
    while (at_ < close + 2) next();
    const std::optional<long long> value = value_of_sum(whole, values_);
    return value ? std::to_string(*value) : "$((" + whole + "))";
  }

  static constexpr const char* blanks = " \t\r\n";

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool reads_ = true;  ///< false within a branch that does not run
  launch_values values_;
  std::map<std::string, word_list> lists_;
};

}}}  // namespace hyperparallel::v0_2::detail
