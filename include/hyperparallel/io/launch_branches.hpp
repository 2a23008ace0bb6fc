// SPDX-License-Identifier: Apache-2.0
#pragma once
// The branches of a shell script's `if` and `case`: which of them are read, without running anything.
//
// Law: a branch is read unless a test, or the value of a `case`, certainly leaves it out. O(bytes).

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <hyperparallel/io/launch_words.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

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

}}}  // namespace hyperparallel::v0_2::detail
