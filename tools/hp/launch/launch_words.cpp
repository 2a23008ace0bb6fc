// SPDX-License-Identifier: Apache-2.0
#include "launch/launch_words.hpp"

#include <optional>

namespace hp_tool::launch {

char launch_words::next() {
  const char c = text_[at_++];
  if (c == '\n') ++line_;
  return c;
}

bool launch_words::skip(bool over_lines) {
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

bool launch_words::keyword(std::string_view name) {
  if (!text_.substr(at_).starts_with(name)) return false;
  const std::size_t end = at_ + name.size();
  if (end < text_.size() && !std::isspace(static_cast<unsigned char>(text_[end])) && text_[end] != ';') return false;
  at_ = end;
  return true;
}

void launch_words::read_word(std::vector<word>& words, bool splits) {
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

std::string launch_words::expanded(std::vector<word>& words, const std::function<void(bool)>& end) {
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

std::string launch_words::arithmetic() {
  std::size_t close = at_ + 2;
  for (int depth = 0; close < text_.size() && (depth > 0 || !text_.substr(close).starts_with("))")); ++close)
    depth += text_[close] == '(' ? 1 : text_[close] == ')' ? -1 : 0;
  if (close >= text_.size()) return "$";
  const std::string whole(text_.substr(at_ + 2, close - at_ - 2));
  while (at_ < close + 2) next();
  const std::optional<long long> value = value_of_sum(whole, values_);
  return value ? std::to_string(*value) : "$((" + whole + "))";
}

}  // namespace hp_tool::launch
