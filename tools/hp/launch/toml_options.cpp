// SPDX-License-Identifier: Apache-2.0
#include "launch/toml_options.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <utility>

namespace hp_tool::launch {

namespace {

constexpr int most_toml_sections = 32;
constexpr const char* too_many_toml_sections = "more than 32 sections within each other";

/// Bytes that are not of ASCII are '?', which like them is an error but in texts and comments: toml++ 3.3 has undefined behaviour
/// where some of them stand elsewhere.
std::string in_ascii(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // says that it is UTF-8
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  return out;
}

/// What the parser must not see: keys that have it recurse without end, and where toml++ 3.3 takes for granted what a file need not
/// have: a key behind '[', and brackets in pairs.
class toml_guard {
 public:
  explicit toml_guard(std::string_view text) : text_(text) {}

  /// Why the text is refused, null where it is not; then line() says where. O(bytes).
  const char* complaint() {
    bool fresh = true;  // nothing but blanks stands before it in the line
    int dots = 0;
    std::string open;  // brackets
    while (more()) {
      const char c = here();
      if (c == '"' || c == '\'') {
        skip_text(c);
        fresh = false;
        continue;
      }
      if (c == '#') {
        while (more() && here() != '\n') ++at_;
        continue;
      }
      if (c == '[' && fresh && open.empty() && !begins_header()) return "expected a key behind '['";
      if (c == '[' || c == '{') open += c;
      if (c == ']' || c == '}') {
        if (open.empty() || open.back() != (c == ']' ? '[' : '{')) return "a bracket that closes none of its kind";
        open.pop_back();
      }
      if (c == '.' && ++dots > most_toml_sections) return too_many_toml_sections;
      if (std::string_view(",=[]{}\n").find(c) != std::string_view::npos) dots = 0;
      fresh = c == '\n' || (fresh && is_blank(c));
      step();
    }
    return nullptr;
  }
  int line() const { return line_; }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t'; }
  bool more() const { return at_ < text_.size(); }
  char here() const { return text_[at_]; }
  bool stands(std::string_view quotes) const { return text_.substr(at_).starts_with(quotes); }
  void step() {
    if (here() == '\n') ++line_;
    ++at_;
  }

  /// Whether a key, or the end of the header, stands behind "[" or "[[" and blanks.
  bool begins_header() const {
    std::size_t at = at_ + 1;
    if (at < text_.size() && text_[at] == '[') ++at;
    while (at < text_.size() && is_blank(text_[at])) ++at;
    if (at == text_.size()) return false;
    const char c = text_[at];
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-\"']").find(c) != std::string_view::npos;
  }

  /// A text ends at its quotes, of one line at the end of that; of several lines two more quotes may be of the text.
  void skip_text(char quote) {
    const std::string three(3, quote);
    const bool is_long = stands(three);
    const std::string quotes = is_long ? three : std::string(1, quote);
    at_ += quotes.size();
    while (more() && !stands(quotes)) {
      if (here() == '\n' && !is_long) return;
      const bool escapes = quote == '"' && here() == '\\';
      step();
      if (escapes && more()) step();
    }
    at_ = std::min(at_ + quotes.size(), text_.size());
    for (int extra = 0; is_long && extra < 2 && more() && here() == quote; ++extra) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

class toml_walk {
 public:
  explicit toml_walk(const std::string& path) : path_(path) {}

  void take(const toml::table& t, const std::string& section, int depth = 0) {
    insist(t, depth);
    for (const auto& [key, node] : t) {
      const std::string name = (section.empty() ? "" : section + ".") + on_one_line(std::string(key.str()));
      if (const toml::table* inner = node.as_table()) {
        take(*inner, name, depth + 1);
        continue;
      }
      launch_option o{name, {}, line_of(node)};
      const std::size_t before = out_.size();
      take_values(node, o, depth + 1);
      if (!o.values.empty() || out_.size() == before) out_.push_back(std::move(o));
    }
  }
  std::vector<launch_option> options() {
    std::sort(out_.begin(), out_.end(), [](const launch_option& a, const launch_option& b) {
      return a.line != b.line ? a.line < b.line : a.name < b.name;
    });
    return std::move(out_);
  }

 private:
  static int line_of(const toml::node& n) { return static_cast<int>(n.source().begin.line); }

  void insist(const toml::node& n, int depth) const {
    if (depth > most_toml_sections)
      throw io_error("read", path_, "line " + std::to_string(line_of(n)) + ": " + too_many_toml_sections);
  }

  void take_values(const toml::node& n, launch_option& o, int depth) {
    insist(n, depth);
    const toml::array* list = n.as_array();
    if (list == nullptr) {
      o.values.push_back(text_of(n));
      return;
    }
    std::size_t place = 0;
    for (const toml::node& each : *list) {
      if (const toml::table* t = each.as_table())
        take(*t, o.name + "." + std::to_string(place), depth + 1);
      else
        take_values(each, o, depth + 1);
      ++place;
    }
  }

  static std::string text_of(const toml::node& n) {
    if (const auto* text = n.as_string()) return on_one_line(text->get());
    if (const auto* whole = n.as_integer()) return std::to_string(whole->get());  // also 0x10
    std::ostringstream out;
    n.visit([&](const auto& value) {
      if constexpr (toml::is_value<decltype(value)>) out << value;
    });
    return out.str();
  }

  const std::string& path_;
  std::vector<launch_option> out_;
};

}  // namespace

std::vector<launch_option> toml_options(std::string_view text, const std::string& path) {
  const auto refuse = [&](long long line, std::string_view why) {
    throw io_error("read", path, "line " + std::to_string(line) + ": " + on_one_line(std::string(why)));
  };
  const std::string ascii = in_ascii(text);
  toml_guard guard(ascii);
  if (const char* why = guard.complaint(); why != nullptr) refuse(guard.line(), why);
  toml_walk walk(path);
  try {
    walk.take(toml::parse(std::string_view(ascii), std::string_view(path)), "");
  } catch (const toml::parse_error& e) {
    refuse(static_cast<long long>(e.source().begin.line), e.description());
  }
  return walk.options();
}

}  // namespace hp_tool::launch
