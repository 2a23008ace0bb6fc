// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of a launch line, as it stands in a shell script or in a file of arguments.
//
//   TP=4                                            variables, arithmetic of whole numbers: $((TP * 2)), ${PP:-1}
//   ARGS=( --tensor-model-parallel-size $TP )       lists of words, read where they are used: ${ARGS[@]}
//   ARGS+=( "--fp8-format hybrid" )                 added to; quoted options are taken apart
//   torchrun --nnodes 4 pretrain_gpt.py "${ARGS[@]}" --bf16 --lr=3e-4   # comments, quotes, lines that go on
//
// Words that begin with "--" are options; what follows, up to the next one, are their values. Nothing is run: a value that
// a command or a variable of the environment would give stays as it is written; readers of that option refuse it by name.
// Of `if`, `elif` and `else` the branch whose test holds is read, of `case` the one with the value's pattern, and behind `&&` and `||` what the
// test before them lets run. All are read where a test has no value; so are commands in loops, and those between braces. Law: every option has the line on which it begins. A list that no command uses is read last.
// O(bytes).

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <hyperparallel/io/launch_branches.hpp>
#include <hyperparallel/io/launch_plan.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

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

}  // namespace detail

/// The options of a text, in the order in which they would be given.
inline std::vector<launch_option> launch_options_of(std::string_view text) {
  return detail::launch_reader(text).read();
}

}}  // namespace hyperparallel::v0_2
