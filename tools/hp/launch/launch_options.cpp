// SPDX-License-Identifier: Apache-2.0
#include "launch/launch_options.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <utility>

#include "launch/launch_words.hpp"

namespace hp_tool::launch {

namespace {

/// The branches of `if` and `case`. Law: one is read unless a test, or the value of a `case`, certainly leaves it out.
class launch_branches : protected launch_words {
 protected:
  explicit launch_branches(std::string_view text) : launch_words(text) {}

  /// A branch of an `if` or a `case`. What is not certain is read, whichever branch it is in.
  struct branch {
    shell_verdict earlier = false;  ///< one of the branches before it is the one that runs
    shell_verdict now = true;       ///< its own condition
    bool is_case = false;
    bool wants_pattern = false;  ///< of a `case`: the next word is one
    std::string word{};          ///< of a `case`: what patterns are held against
    bool is_read() const { return now != false && earlier != true; }
  };
  /// What opens, parts and closes branches, at the begin of a command. False where there is nothing of it.
  bool read_branch() {
    const bool known = !branches_.empty() && branches_.back().is_case ? step_over_pattern() : step_over_if();
    return known || (branches_.empty() || !branches_.back().wants_pattern ? step_over_case() : false);
  }
  bool step_over_if() {
    if (keyword("if")) {
      branch b;
      if (!read_condition(b.now)) return false;
      branches_.push_back(b);
      return true;
    }
    if (branches_.empty() || branches_.back().is_case) return false;
    branch& b = branches_.back();
    if (keyword("elif")) {
      b.earlier = either(b.earlier, b.now);
      return read_condition(b.now);
    }
    if (keyword("else")) {
      b = {either(b.earlier, b.now), true};
      return true;
    }
    if (!keyword("fi")) return false;
    branches_.pop_back();
    return true;
  }
  /// `case WORD in`. Nothing is read where that is not all there.
  bool step_over_case() {
    const std::size_t begin = at_;
    const int begin_line = line_;
    std::vector<word> words;
    if (keyword("case") && skip(false)) read_word(words, false);
    if (words.size() == 1 && skip(true) && keyword("in")) {
      branch b;
      b.now = false;
      b.is_case = b.wants_pattern = true;
      b.word = words[0].text;
      branches_.push_back(b);
      return true;
    }
    at_ = begin;
    line_ = begin_line;
    return false;
  }
  /// In a `case`: `esac`, or the patterns up to ")". Where neither is, it was no `case`.
  bool step_over_pattern() {
    if (keyword("esac")) {
      branches_.pop_back();
      return true;
    }
    branch& b = branches_.back();
    if (!b.wants_pattern) return step_over_if();
    if (here() == '(') next();
    b.now = false;
    for (char end = '|'; end == '|';) {
      std::vector<word> words;
      skip(true);
      read_word(words, false);
      b.now = either(b.now, verdict_of_pattern(b.word, words.empty() ? std::string() : words[0].text));
      skip(true);
      end = more() ? here() : '\0';
      if (end == '|' || end == ')') next();
      if (end == ')') b.wants_pattern = false;
    }
    if (b.wants_pattern) branches_.pop_back();
    return true;
  }
  /// ";;", which ends a branch of a `case`.
  bool step_over_clause_end() {
    if (branches_.empty() || !branches_.back().is_case || !text_.substr(at_).starts_with(";;")) return false;
    at_ += 2;
    branch& b = branches_.back();
    b.earlier = either(b.earlier, b.now);
    b.now = false;
    b.wants_pattern = true;
    return true;
  }
  bool is_in_read_branches() const {
    return std::all_of(branches_.begin(), branches_.end(), [](const branch& b) { return b.is_read(); });
  }

  /// "&&" or "||", or nothing.
  std::string_view joint_here() const {
    const std::string_view two = text_.substr(at_, 2);
    return two == "&&" || two == "||" ? two : std::string_view();
  }
  /// One test, up to what ends it or joins it to the next; `open` where its brackets are not closed yet. False where there is nothing.
  bool read_test(shell_verdict& verdict, bool& open) {
    std::vector<std::string> words;
    bool is_test = open, is_certain = true;
    while (skip(false)) {
      if (is_mark(here())) {
        next();
        is_certain = false;
        continue;
      }
      std::vector<word> read;
      read_word(read);
      for (word& w : read)
        if (w.text == "[" || w.text == "[[" || (words.empty() && w.text == "test"))
          is_test = open = true;
        else if (w.text == "]" || w.text == "]]")
          open = false;
        else
          words.push_back(std::move(w.text));
    }
    const bool is_any = is_test || !words.empty();
    verdict = is_test && is_certain ? verdict_of_test(std::move(words)) : shell_verdict();
    return is_any;
  }
  /// Tests up to `then`, joined by && and || from left to right. False where no `then` is, and nothing is read.
  bool read_condition(shell_verdict& verdict) {
    const std::size_t begin = at_;
    const int begin_line = line_;
    std::string_view joint;
    bool open = false;
    while (!without_then_ && (skip(true), more())) {
      if (keyword("then")) return true;
      shell_verdict one;
      if (read_test(one, open)) verdict = joined(verdict, joint, one);
      joint = joint_here();
      if (!joint.empty())
        at_ += 2;
      else if (more())
        next();
    }
    without_then_ = true;
    at_ = begin;
    line_ = begin_line;
    return false;
  }

 private:
  std::vector<branch> branches_;
  bool without_then_ = false;  ///< none is ahead
};

class launch_reader : private launch_branches {
 public:
  explicit launch_reader(std::string_view text) : launch_branches(text) {}

  std::vector<launch_option> read() {
    while (at_ < text_.size()) read_command();
    for (auto& [name, list] : lists_)
      if (!list.used) take(list.words);
    return std::move(options_);
  }

 private:
  /// A test as a command by itself. Nothing is read where none is, or where its brackets do not end on the line.
  bool read_test_command(shell_verdict& verdict) {
    const std::size_t begin = at_;
    const int begin_line = line_;
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with("[ ") && !rest.starts_with("[[ ")) return false;
    std::string_view joint;
    bool open = false;
    for (;;) {
      shell_verdict one;
      if (read_test(one, open)) verdict = joined(verdict, joint, one);
      joint = joint_here();
      if (!open) return true;
      if (joint.empty()) break;
      at_ += 2;
    }
    at_ = begin;
    line_ = begin_line;
    return false;
  }
  /// A command: assignments, a test, or words whose options count.
  void read_command() {
    const bool runs = joint_ == "&&" ? before_ != false : joint_ == "||" ? before_ != true : true;
    while (skip(true) && read_branch()) continue;
    reads_ = runs && is_in_read_branches();
    std::vector<word> words;
    shell_verdict verdict;
    if (more()) read_test_command(verdict);
    while (skip(false)) {
      const std::size_t begin = at_;
      std::size_t end = at_;
      while (end < text_.size() && is_name(text_[end])) ++end;
      const bool appends = text_.substr(end).starts_with("+=");
      if (end > begin && (appends || text_.substr(end).starts_with("=")) && !is_option_ahead(words)) {
        assign(std::string(text_.substr(begin, end - begin)), end + (appends ? 2 : 1), appends);
        const std::string_view assigned = text_.substr(begin, at_ - begin);
        if (assigned.find("$(") == std::string_view::npos && assigned.find('`') == std::string_view::npos)
          verdict = true;  // it cannot fail
        continue;
      }
      if (is_mark(here())) {
        if (words.empty()) reads_ = is_in_read_branches();  // of a group of commands all are read
        next();
        continue;
      }
      read_word(words);
    }
    if (!words.empty()) verdict = {};
    if (reads_) take(words);
    before_ = joined(before_, joint_, verdict);
    joint_ = joint_here();
    if (!joint_.empty())
      at_ += 2;
    else if (!step_over_clause_end() && more())
      next();
  }
  /// Behind an option NAME=VALUE is its value.
  static bool is_option_ahead(const std::vector<word>& words) {
    return !words.empty() && words.back().text.starts_with("--");
  }

  void assign(const std::string& name, std::size_t value_at, bool appends) {
    at_ = value_at;
    if (more() && here() == '(') {
      next();
      std::vector<word> added;
      while (skip(true), more() && here() != ')')
        if (here() == ';' || here() == '&' || here() == '|')
          next();
        else
          read_word(added);
      if (more()) next();
      if (!reads_) return;
      word_list& list = lists_[name];
      if (!appends) list = {};
      list.words.insert(list.words.end(), added.begin(), added.end());
      return;
    }
    std::vector<word> words;
    if (more() && !std::isspace(static_cast<unsigned char>(here()))) read_word(words, false);
    if (!reads_) return;
    const std::string value = words.empty() ? std::string() : words[0].text;
    if (const auto list = lists_.find(name); appends && list != lists_.end()) {
      take_apart(value, line_, list->second.words);
      return;
    }
    values_[name] = (appends ? values_[name] : std::string()) + value;
  }

  /// Adds the words between the blanks of a text.
  static void take_apart(const std::string& text, int line, std::vector<word>& words) {
    for (std::size_t at = text.find_first_not_of(blanks); at != std::string::npos;) {
      const std::size_t end = text.find_first_of(blanks, at);
      words.push_back({text.substr(at, end - at), line});
      at = text.find_first_not_of(blanks, end);
    }
  }

  /// A quoted word that begins with "--" is an option with its values, as a list without quotes around it would give.
  void take(const std::vector<word>& given) {
    std::vector<word> words;
    for (const word& w : given)
      if (w.text.starts_with("--") && w.text.find('=') > w.text.find_first_of(blanks))
        take_apart(w.text, w.line, words);
      else
        words.push_back(w);
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

  std::vector<launch_option> options_;
  shell_verdict before_{};  ///< of the commands that `joint_` joins the next one to
  std::string_view joint_{};
};

}  // namespace

std::vector<launch_option> launch_options_of(std::string_view text) { return launch_reader(text).read(); }

}  // namespace hp_tool::launch
