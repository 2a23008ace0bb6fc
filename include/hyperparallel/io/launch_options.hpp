// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of a launch line, as it stands in a shell script or in a file of arguments.
//
//   TP=4                                            variables, arithmetic of whole numbers: $((TP * 2)), ${PP:-1}
//   ARGS=( --tensor-model-parallel-size $TP )       lists of words, read where they are used: ${ARGS[@]}
//   torchrun --nnodes 4 pretrain_gpt.py "${ARGS[@]}" --bf16 --lr=3e-4   # comments, quotes, lines that go on
//
// Words that begin with "--" are options; what follows, up to the next one, are their values. Nothing is run: a value that
// a command or a variable from outside would give stays as it is written, and whoever needs it refuses it by name. Law: every
// option has the line on which it begins; what no other line uses is read where it stands. O(bytes).

#include <cctype>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hyperparallel { inline namespace v0_2 {

struct launch_option {
  std::string name{};  ///< without its dashes
  std::vector<std::string> values{};
  int line = 0;
};

namespace detail {

class launch_reader {
 public:
  explicit launch_reader(std::string_view text) : text_(text) {}

  std::vector<launch_option> read() {
    while (at_ < text_.size()) read_command();
    for (auto& [name, list] : lists_)
      if (!list.used) take(list.words);
    return std::move(options_);
  }

 private:
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

  /// A command: assignments, or words whose options count.
  void read_command() {
    std::vector<word> words;
    while (skip(false)) {
      const std::size_t begin = at_;
      std::size_t end = at_;
      while (end < text_.size() && is_name(text_[end])) ++end;
      if (end > begin && end < text_.size() && text_[end] == '=' && !is_option_ahead(words)) {
        assign(std::string(text_.substr(begin, end - begin)), end + 1);
        continue;
      }
      if (here() == '(' || here() == ')' || here() == '{' || here() == '}' || here() == '<' || here() == '>') {
        next();
        continue;
      }
      read_word(words);
    }
    if (more()) next();
    take(words);
  }
  /// Behind an option NAME=VALUE is its value.
  static bool is_option_ahead(const std::vector<word>& words) {
    return !words.empty() && words.back().text.starts_with("--");
  }

  void assign(const std::string& name, std::size_t value_at) {
    at_ = value_at;
    if (more() && here() == '(') {
      next();
      word_list list;
      while (skip(true), more() && here() != ')') read_word(list.words);
      if (more()) next();
      lists_[name] = std::move(list);
      return;
    }
    std::vector<word> words;
    if (more() && !std::isspace(static_cast<unsigned char>(here()))) read_word(words, false);
    values_[name] = words.empty() ? std::string() : words[0].text;
  }

  /// One word, or as many as its variables have outside of quotes.
  void read_word(std::vector<word>& words, bool splits = true) {
    word w{{}, line_};
    bool quoted = false;
    const auto end = [&] {
      if (!w.text.empty() || quoted) words.push_back(w);
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
      end();
      list->second.used = true;
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
    std::size_t place = 0;
    const std::optional<long long> value = sum_of(whole, place);
    return value && place == whole.size() ? std::to_string(*value) : "$((" + whole + "))";
  }
  std::optional<long long> sum_of(const std::string& t, std::size_t& at) const {
    std::optional<long long> left = product_of(t, at);
    while (left && at < t.size() && (t[at] == '+' || t[at] == '-')) {
      const char op = t[at++];
      const std::optional<long long> right = product_of(t, at);
      if (!right) return {};
      left = op == '+' ? *left + *right : *left - *right;
    }
    return left;
  }
  std::optional<long long> product_of(const std::string& t, std::size_t& at) const {
    std::optional<long long> left = number_of(t, at);
    while (left && at < t.size() && (t[at] == '*' || t[at] == '/')) {
      const char op = t[at++];
      const std::optional<long long> right = number_of(t, at);
      if (!right || (op == '/' && *right == 0)) return {};
      if (op == '*' && *right != 0 && (*left > largest / *right || *left < -largest / *right)) return {};
      left = op == '*' ? *left * *right : *left / *right;
    }
    return left;
  }
  std::optional<long long> number_of(const std::string& t, std::size_t& at) const {
    const auto blanks = [&] {
      while (at < t.size() && std::isspace(static_cast<unsigned char>(t[at]))) ++at;
    };
    blanks();
    std::optional<long long> value;
    if (at < t.size() && t[at] == '(') {
      value = sum_of(t, ++at);
      if (at >= t.size() || t[at++] != ')') return {};
    } else {
      std::string digits;
      while (at < t.size() && (is_name(t[at]) || t[at] == '$' || t[at] == '{' || t[at] == '}')) {
        if (is_name(t[at])) digits += t[at];
        ++at;
      }
      if (const auto known = values_.find(digits); known != values_.end()) digits = known->second;
      if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string::npos) return {};
      value = std::stoll(digits);
    }
    blanks();
    return value;
  }

  void take(const std::vector<word>& words) {
    launch_option* last = nullptr;
    for (const word& w : words) {
      if (w.text.starts_with("--") && w.text.size() > 2) {
        const std::size_t equals = w.text.find('=');
        options_.push_back({w.text.substr(2, equals == std::string::npos ? equals : equals - 2), {}, w.line});
        last = &options_.back();
        if (equals != std::string::npos) last->values.push_back(w.text.substr(equals + 1));
      } else if (last != nullptr) {
        last->values.push_back(w.text);
      }
    }
  }

  static constexpr long long largest = 1LL << 40;

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::map<std::string, std::string> values_;
  std::map<std::string, word_list> lists_;
  std::vector<launch_option> options_;
};

}  // namespace detail

/// The options of a text, in the order in which they would be given.
inline std::vector<launch_option> launch_options_of(std::string_view text) {
  return detail::launch_reader(text).read();
}

}}  // namespace hyperparallel::v0_2
