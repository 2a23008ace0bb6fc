// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of modules in a checkpoint, and the lists of names, globs and regular expressions that a config.json leaves out by.
//
//   module_list skipped;
//   skipped.add("lm_head"); skipped.add("model.layers.*.self_attn"); skipped.add("re:.*mlp\\.(gate|up)_proj.*");
//   skipped.has("model.layers.3.self_attn.q_proj")      true
//
// An entry is a name, which has all modules whose names have its components in a row; a glob of *, ? and literal characters,
// which has those that it matches, and those within them; or "re:" and a regular expression that matches a beginning: literal
// characters, ., classes in brackets, \d \w \s, groups with |, and * + ? behind one character. What follows a space is a
// remark. Laws: no text costs more than entries of patterns · their lengths · the length of the name; what is not known of a
// regular expression is refused (`add` is false), never guessed. Source: should_convert_module of huggingface/transformers,
// match_name of compressed-tensors, fnmatch of modelopt.

#include <cctype>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// A sequence of characters and classes, each with how often it may stand.
class character_pattern {
 public:
  /// Of a glob.
  static character_pattern of_glob(std::string_view text) {
    character_pattern p;
    for (const char c : text)
      p.atoms_.push_back(
          {c == '*' || c == '?' ? std::string() : std::string(1, c), c == '*' || c == '?', c == '*' ? '*' : '1'});
    return p;
  }
  /// Of a regular expression without groups; false where something in it is not known.
  static bool of_regex(std::string_view text, character_pattern& p) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      atom a;
      const char c = text[i];
      if (c == '.') {
        a.complement = true;
      } else if (c == '\\') {
        if (++i == text.size() || !escaped(text[i], a)) return false;
      } else if (c == '[') {
        if (!bracketed(text, i, a)) return false;
      } else if (c == '^' || c == '$') {
        p.atoms_.push_back({"", false, c});
        continue;
      } else if (std::string_view("()|{}*+?]").find(c) != std::string_view::npos) {
        return false;
      } else {
        a.characters = c;
      }
      if (i + 1 < text.size() && std::string_view("*+?").find(text[i + 1]) != std::string_view::npos) {
        a.times = text[++i];
        if (i + 1 < text.size() && text[i + 1] == '?') ++i;  // the shortest match first: the same whether there is one
      }
      p.atoms_.push_back(a);
    }
    return true;
  }

  /// Where matches that begin with the text may end: element i says so of the first i characters. O(atoms · characters).
  std::vector<bool> ends(std::string_view text) const {
    const std::size_t n = text.size();
    std::vector<bool> at(n + 1);
    at[0] = true;
    for (const atom& a : atoms_) {
      std::vector<bool> next(n + 1);
      for (std::size_t i = 0; i <= n; ++i) {
        if (a.times == '^' || a.times == '$') {
          next[i] = at[i] && i == (a.times == '^' ? 0 : n);
          continue;
        }
        if (at[i] && (a.times == '*' || a.times == '?')) next[i] = true;
        const bool again = a.times == '*' || a.times == '+';
        if ((at[i] || (again && next[i])) && i < n && a.has(text[i])) next[i + 1] = true;
      }
      at = std::move(next);
    }
    return at;
  }

 private:
  struct atom {
    std::string characters{};
    bool complement = false;  ///< all but these
    char times = '1';         ///< 1, *, + or ?; ^ and $ are places
    bool has(char c) const { return (characters.find(c) != std::string::npos) != complement; }
  };
  static constexpr std::string_view digits = "0123456789";
  static constexpr std::string_view word = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
  static bool escaped(char c, atom& a) {
    if (c == 'd' || c == 'D') a.characters += digits;
    if (c == 'w' || c == 'W') a.characters += word;
    if (c == 's' || c == 'S') a.characters += " \t\n\r\f\v";
    if (c == 'D' || c == 'W' || c == 'S') a.complement = true;
    if (!a.characters.empty()) return true;
    a.characters = c;
    return std::isalnum(static_cast<unsigned char>(c)) == 0;
  }
  /// From the bracket at `i`, which then is at the closing one.
  static bool bracketed(std::string_view text, std::size_t& i, atom& a) {
    if (++i < text.size() && text[i] == '^') {
      a.complement = true;
      ++i;
    }
    for (const std::size_t first = i; i < text.size(); ++i) {
      if (text[i] == ']' && i > first) return true;
      if (text[i] == '\\' || text[i] == '[') return false;
      a.characters += text[i];
      if (i + 2 < text.size() && text[i + 1] == '-' && text[i + 2] != ']') {
        for (int c = text[i] + 1; c <= text[i + 2]; ++c) a.characters += static_cast<char>(c);
        i += 2;
      }
    }
    return false;
  }

  std::vector<atom> atoms_{};
};

/// A list of entries.
class module_list {
 public:
  /// False where the entry is not known or too large; it is left out then.
  bool add(std::string_view entry) {
    const bool is_regex = entry.starts_with("re:");
    if (is_regex) {
      std::vector<std::string> flat;
      if (!expand(std::string(entry.substr(3)), flat)) return false;
      for (const std::string& each : flat) {
        character_pattern p;
        if (!character_pattern::of_regex(each, p) || patterns_.size() >= most_patterns) return false;
        patterns_.push_back({p, false, {}});
      }
      return true;
    }
    entry = entry.substr(0, entry.find(' '));
    if (entry.find_first_of("*?") == std::string_view::npos) {
      names_.emplace(entry);
      return true;
    }
    if (entry.size() > longest_entry || patterns_.size() >= most_patterns) return false;
    patterns_.push_back(
        {character_pattern::of_glob(entry), true, std::string(entry.substr(0, entry.find_first_of("*?")))});
    return true;
  }

  /// Patterns that begin with a wildcard or soon have one: those that each name is tried on.
  std::size_t wide_patterns() const {
    std::size_t count = 0;
    for (const pattern& p : patterns_) count += p.prefix.size() < std::string_view("model.layers.").size() ? 1u : 0u;
    return count;
  }

  bool has(std::string_view name) const {
    for (std::size_t begin = 0; begin != std::string_view::npos && begin <= name.size();
         begin = name.find('.', begin) == std::string_view::npos ? std::string_view::npos : name.find('.', begin) + 1)
      for (std::size_t end = name.find('.', begin);; end = name.find('.', end + 1)) {
        if (names_.contains(name.substr(begin, end == std::string_view::npos ? end : end - begin))) return true;
        if (end == std::string_view::npos) break;
      }
    for (const pattern& p : patterns_) {
      if (!name.starts_with(p.prefix)) continue;
      const std::vector<bool> ends = p.of.ends(name);
      for (std::size_t i = 0; i <= name.size(); ++i)
        if (ends[i] && (!p.whole || i == name.size() || name[i] == '.')) return true;
    }
    return false;
  }
  bool empty() const { return names_.empty() && patterns_.empty(); }

 private:
  static constexpr std::size_t most_patterns = 2048, longest_entry = 256;
  struct pattern {
    character_pattern of{};
    bool whole = false;    ///< it ends where a component does
    std::string prefix{};  ///< literal characters that it begins with
  };

  /// The regular expressions without groups whose union is `text`; false where something is not known.
  static bool expand(const std::string& text, std::vector<std::string>& out) {
    if (text.size() > longest_entry || out.size() >= most_patterns) return false;
    std::size_t open = std::string::npos, depth = 0;
    std::vector<std::size_t> bars;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\') {
        ++i;
      } else if (text[i] == '[') {
        i = text.find(']', i + 1);
        if (i == std::string::npos) return false;
      } else if (text[i] == '(') {
        if (depth++ == 0) open = i;
      } else if (text[i] == '|' && (depth == 1 || (depth == 0 && open == std::string::npos))) {
        bars.push_back(i);
      } else if (text[i] == ')') {
        if (depth == 0) return false;
        if (--depth == 0) return expand_group(text, open, i, bars, out);
      }
    }
    if (depth > 0) return false;
    if (bars.empty()) {
      out.push_back(text);
      return true;
    }
    return expand_alternatives("", text, "", 0, bars, out);
  }
  static bool expand_group(const std::string& text, std::size_t open, std::size_t close,
                           const std::vector<std::size_t>& bars, std::vector<std::string>& out) {
    // An alternative outside of groups: it is behind the first group at the earliest, or the bars before it are its own.
    if (!bars.empty() && bars.front() < open) return expand_alternatives("", text, "", 0, {bars.front()}, out);
    const std::size_t first = text.compare(open, 3, "(?:") == 0 ? open + 3 : open + 1;
    if (first < text.size() && text[first] == '?') return false;
    std::string rest = text.substr(close + 1);
    const bool may_miss = rest.starts_with('?');
    if (may_miss) rest = rest.substr(1);
    if (rest.starts_with('*') || rest.starts_with('+') || rest.starts_with('{')) return false;
    // A bar at the end of the group's level would be taken for one of the whole text.
    std::size_t depth = 0;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      if (rest[i] == '\\')
        ++i;
      else if (rest[i] == '(')
        ++depth;
      else if (rest[i] == ')' && depth > 0)
        --depth;
      else if (rest[i] == '|' && depth == 0)
        return false;
    }
    const std::string before = text.substr(0, open);
    if (may_miss && !expand(before + rest, out)) return false;
    return expand_alternatives(before, text.substr(0, close), rest, first, bars, out);
  }
  static bool expand_alternatives(const std::string& before, const std::string& text, const std::string& rest,
                                  std::size_t first, const std::vector<std::size_t>& bars,
                                  std::vector<std::string>& out) {
    for (std::size_t i = 0; i <= bars.size(); ++i) {
      const std::size_t end = i < bars.size() ? bars[i] : text.size();
      if (!expand(before + text.substr(first, end - first) + rest, out)) return false;
      first = end + 1;
    }
    return true;
  }

  std::set<std::string, std::less<>> names_{};
  std::vector<pattern> patterns_{};
};

}}}  // namespace hyperparallel::v0_2::detail
