// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of tensors with numbers in them, and lists of names with stars.
//
//   "model.layers.{layer}.mlp.experts.{expert}.up_proj.weight"    each {…} is a number
//   "model.layers.{layer+dense_layers}.mlp.gate.weight"           the number of the name is `layer` and the size together
//   "dense_layers.{layer<dense_layers}.attention.query.weight"    the number is below the size
//   "*.self_attn.q_proj.*"                                        a glob: a star is any text
//
// Laws: what `filled` writes, `matched` reads back as the same numbers; a name matches a pattern in one way at most, as numbers are
// digits without a leading zero and a text never begins with a digit behind one. Errors: std::invalid_argument of a pattern that is
// none. O(length).

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

/// Numbers by name: of a name's captures, of a model's sizes.
using numbers = std::map<std::string, std::int64_t, std::less<>>;

namespace detail {

/// Whether the text is the glob, whose stars are any texts. O(text · stars).
inline bool is_glob_of(std::string_view glob, std::string_view text) {
  std::size_t g = 0, t = 0, star = std::string_view::npos, behind = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      behind = t;
    } else if (g < glob.size() && glob[g] == text[t]) {
      ++g, ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++behind;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

/// Digits of a whole number below 2^62, without a leading zero.
inline std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text[0] == '-') return {};
  if ((text.size() > 1 && text[0] == '0') || value >= std::int64_t{1} << 62) return {};
  return value;
}

/// "first_moment(", "NAME", ")" of "first_moment(NAME)", which names a state of the tensor NAME; of another name itself alone.
struct state_name {
  std::string_view before, tensor, after;

  explicit state_name(std::string_view name) : tensor(name) {
    const std::size_t open = name.find('(');
    if (open == std::string_view::npos || open == 0 || name.size() < open + 3 || name.back() != ')') return;
    before = name.substr(0, open + 1);
    tensor = name.substr(open + 1, name.size() - open - 2);
    after = name.substr(name.size() - 1);
  }
  bool is_state() const { return !after.empty(); }
  /// The same state of another tensor.
  std::string of(std::string_view other) const { return std::string(before) + std::string(other) + std::string(after); }
};

}  // namespace detail

class name_pattern {
 public:
  name_pattern() = default;
  explicit name_pattern(std::string text) : text_(std::move(text)) {
    std::string_view left = text_;
    while (!left.empty()) {
      const std::size_t open = left.find('{');
      part next{std::string(left.substr(0, open)), "", "", "", ""};
      if (open == std::string_view::npos) {
        left = {};
      } else {
        const std::size_t close = left.find('}', open);
        if (close == std::string_view::npos) throw std::invalid_argument("'" + text_ + "' has a { without a }");
        read_number(next, left.substr(open + 1, close - open - 1));
        left = left.substr(close + 1);
        if (!left.empty() && (left[0] == '{' || (left[0] >= '0' && left[0] <= '9')))
          throw std::invalid_argument("'" + text_ + "' has a number right behind {" + next.number + "}");
      }
      parts_.push_back(std::move(next));
    }
  }

  const std::string& text() const { return text_; }

  /// Whether a number of this name stands in the pattern.
  bool has(std::string_view number) const {
    for (const part& p : parts_)
      if (p.number == number) return true;
    return false;
  }

  /// The numbers of a name, or nothing where it is no such name.
  std::optional<numbers> matched(std::string_view name, const numbers& sizes) const {
    numbers found;
    for (const part& p : parts_) {
      if (!name.starts_with(p.text)) return {};
      name.remove_prefix(p.text.size());
      if (p.number.empty()) continue;
      std::size_t digits = 0;
      while (digits < name.size() && name[digits] >= '0' && name[digits] <= '9') ++digits;
      const auto value = detail::whole_number(name.substr(0, digits));
      if (digits == 0 || !value) return {};
      const std::int64_t number = *value - size_of(p.added, sizes, 0);
      if (number < 0 || (!p.below.empty() && number >= size_of(p.below, sizes, 0)) ||
          (!p.least.empty() && number < size_of(p.least, sizes, 0)))
        return {};
      if (!found.emplace(p.number, number).second && found[p.number] != number) return {};
      name.remove_prefix(digits);
    }
    if (!name.empty()) return {};
    return found;
  }

  /// The name with these numbers; nothing where one is missing or beyond its bound.
  std::optional<std::string> filled(const numbers& with, const numbers& sizes) const {
    std::string name;
    for (const part& p : parts_) {
      name += p.text;
      if (p.number.empty()) continue;
      const auto found = with.find(p.number);
      if (found == with.end()) return {};
      const std::int64_t number = found->second;
      if (!p.below.empty() && number >= size_of(p.below, sizes, 0)) return {};
      if (!p.least.empty() && number < size_of(p.least, sizes, 0)) return {};
      name += std::to_string(number + size_of(p.added, sizes, 0));
    }
    return name;
  }

 private:
  struct part {
    std::string text, number, added, below, least;  ///< a text, then a number where it has a name
  };

  /// "layer", "layer+size", "layer<size", "layer>=size".
  void read_number(part& p, std::string_view text) {
    const std::size_t end = text.find_first_of("+<>");
    p.number = text.substr(0, end);
    if (end != std::string_view::npos) {
      const bool least = text.substr(end).starts_with(">=");
      (text[end] == '+' ? p.added : least ? p.least : p.below) = text.substr(end + (least ? 2 : 1));
    }
    const auto is_name = [](const std::string& s) {
      return !s.empty() && s.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
    };
    if (!is_name(p.number) || (end != std::string_view::npos && !is_name(p.added + p.below + p.least)))
      throw std::invalid_argument("'" + text_ + "' has the number {" + std::string(text) +
                                  "}; expected as {layer}, {layer+size}, {layer<size} or {layer>=size}");
  }

  static std::int64_t size_of(const std::string& name, const numbers& sizes, std::int64_t otherwise) {
    const auto found = sizes.find(name);
    return found == sizes.end() ? otherwise : found->second;
  }

  std::string text_;
  std::vector<part> parts_;
};

}}}  // namespace hyperparallel::v0_2::reshard
