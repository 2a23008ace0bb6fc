// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a framework's launch line says of a plan, and a plan as a launch line: what the readers and writers of all frameworks share.
//
//   launch_option     a name, its values and its line, of a shell script, TOML, YAML or JSON; of files with sections "section.key"
//   launch_plan       what a line says, the stack it runs on, what it says that no figure heeds
//   launch_text       a plan in a framework's words, and what these have no word for
//   launch_change     what makes one line another
//
// A reader is a `launch_book`: it looks options up by name, and what it never looked up is named as not heeded. Errors are io_error
// of one line with file, line and option; a line that can be read and is not legal is a launch_contradiction. O(options log options).

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/planner/decoder_plan.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct launch_option {
  std::string name{};  ///< without its dashes
  std::vector<std::string> values{};
  int line = 0;
  std::string file{};  ///< that it stands in, where the launch file names another one
};

struct launch_plan {
  decoder_plan plan{};
  const char* framework = "";           ///< in whose words the line is, as `find_framework` has it; empty: no one's
  const char* stack = "library";        ///< that a run of the line computes on: a name of `known_stacks`
  extent_t vocabulary = 0;              ///< rows of the table that the framework makes of the model's; 0: as many
  std::vector<std::string> unheeded{};  ///< "--option (line 3)", or with its value
  std::vector<std::string> notes{};
};

struct launch_text {
  std::vector<std::string> lines{};
  std::vector<std::string> unsaid{};  ///< "schedule=ZB-V"
};

/// What can be read and contradicts itself, or the model and devices that it is for.
struct launch_contradiction : io_error {
  launch_plan read;  ///< all the same; its degrees need not multiply to the devices
  bool is_of_line;   ///< false: of the line and the config.json, or --devices, where other degrees change nothing
  launch_contradiction(const std::string& path_, const std::string& why, bool of_line, launch_plan so_far)
      : io_error("read", path_, why), read(std::move(so_far)), is_of_line(of_line) {}
};

/// What a line that says one plan has to be given and has to lose to say another.
struct launch_change {
  std::vector<std::string> given{};    ///< with the section that each stands in, as "[section]" before it
  std::vector<std::string> dropped{};  ///< names
};

/// Law: the lines of `from` without those of the names that are dropped or given anew, and with those given, are those of `to`.
/// O(lines squared).
inline launch_change change_of(const launch_text& from, const launch_text& to) {
  struct entry {
    std::string section, name, line;
  };
  const auto entries_of = [](const launch_text& text) {
    std::vector<entry> out;
    std::string section;
    for (const std::string& line : text.lines)
      if (line.starts_with("["))
        section = line;
      else if (!line.empty())
        out.push_back({section, line.substr(0, line.find_first_of(" =:")), line});
    return out;
  };
  const std::vector<entry> old = entries_of(from), fresh = entries_of(to);
  const auto has = [](const std::vector<entry>& all, const entry& e, std::string entry::* what) {
    for (const entry& other : all)
      if (other.section == e.section && other.*what == e.*what) return true;
    return false;
  };
  launch_change out;
  std::string section;
  for (const entry& e : fresh) {
    if (has(old, e, &entry::line)) continue;
    if (e.section != section) out.given.push_back(section = e.section);
    out.given.push_back(e.line);
  }
  for (const entry& e : old)
    if (!has(fresh, e, &entry::name)) out.dropped.push_back(e.section + (e.section.empty() ? "" : " ") + e.name);
  return out;
}

namespace detail {

/// "0.5" of 500. Domain: 0 to 1000.
inline std::string share_of_per_mille(int per_mille) {
  if (per_mille == 1000) return "1.0";
  std::string digits = std::to_string(1000 + per_mille).substr(1);
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  return "0." + digits;
}

/// A text with '?' for each control character.
inline std::string on_one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') c = '?';
  return text;
}

/// Whether the name begins with one of these words, which blanks part.
constexpr bool begins_as_one_of(std::string_view beginnings, std::string_view name) {
  while (!beginnings.empty()) {
    const std::string_view one = beginnings.substr(0, beginnings.find(' '));
    if (name.starts_with(one)) return true;
    beginnings.remove_prefix(std::min(one.size() + 1, beginnings.size()));
  }
  return false;
}

/// Of an option that stands twice: argparse takes the last, a TOML file is refused.
enum class same_option : unsigned char { last_counts, refused };

class launch_book {
 protected:
  using option = const launch_option*;

  /// `dashes` stand before names where the user reads them.
  launch_book(const std::vector<launch_option>& given, const std::string& path, const char* dashes, same_option twice)
      : path_(path), dashes_(dashes) {
    for (const launch_option& o : given) {
      const auto [at, fresh] = option_.try_emplace(o.name, o);
      if (fresh) continue;
      if (twice == same_option::refused) refuse(o, "stands twice; it is in " + place(at->second) + ", too");
      at->second = o;
      out_.notes.push_back(dashes_ + o.name + " stands twice; that of " + place(o) + " counts");
    }
  }

  /// Null where it does not stand.
  option find(const char* name) {
    heeded_[name] = true;
    const auto at = option_.find(name);
    return at == option_.end() ? nullptr : &at->second;
  }
  bool stands(const char* name) { return find(name) != nullptr; }
  /// Its first value; empty where it has none or does not stand.
  std::string word(const char* name) {
    const option o = find(name);
    return o == nullptr || o->values.empty() ? std::string() : o->values[0];
  }
  int number(const char* name, int otherwise, int least = 1) {
    const option o = find(name);
    if (o == nullptr) return otherwise;
    const std::string text = o->values.empty() ? std::string() : o->values[0];
    if (text.starts_with("$")) refuse(*o, "the file does not say what " + text + " is");
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > largest_plan_number)
      refuse(*o,
             "expected a whole number from " + std::to_string(least) + " to " + std::to_string(largest_plan_number));
    return value;
  }

  /// A share from 0 to 1 in per mille; rounded to one.
  int per_mille(const launch_option& o) const {
    const std::string text = o.values.empty() ? std::string() : o.values[0];
    double share = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
    if (error != std::errc() || end != text.data() + text.size() || !(share >= 0 && share <= 1))
      refuse(o, "expected a share from 0 to 1");
    return static_cast<int>(share * 1000 + 0.5);
  }

  std::string said(const launch_option& o) const {
    std::string text = dashes_ + o.name;
    for (const std::string& v : o.values) text += " " + v;
    return on_one_line(std::move(text));
  }
  /// With where it stands.
  std::string told(const launch_option& o) const { return said(o) + " (" + place(o) + ")"; }
  static std::string place(const launch_option& o) {
    return (o.file.empty() ? "" : on_one_line(o.file) + ", ") + "line " + std::to_string(o.line);
  }
  [[noreturn]] void refuse(const launch_option& o, const std::string& why) const {
    throw io_error("read", file_of(o), placed(o, why));
  }
  /// What is read is not legal. The first counts, and reading goes on: `result` throws.
  void contradict(const launch_option& o, const std::string& why, bool of_line = true) {
    if (!contradiction_.empty()) return;
    contradiction_ = placed(o, why);
    contradicting_file_ = file_of(o);
    is_of_line_ = of_line;
  }
  [[noreturn]] void miss(const char* name) const { throw io_error("read", path_, dashes_ + name + " is missing"); }

  /// Holds the devices that a launcher names, `each` of a node times `nodes`, against those that are there. Nodes that are a
  /// range, or come from outside, say nothing.
  void check_world(const char* each, const char* nodes, extent_t world) {
    const extent_t of_node = number(each, 0);
    const std::string count = word(nodes);
    if (of_node == 0 || count.empty() || count.find_first_not_of("0123456789") != std::string::npos) return;
    const extent_t devices = of_node * number(nodes, 1);
    if (devices != world)
      contradict(*find(each),
                 "with " + count + " nodes these are " + std::to_string(devices) + " devices; --devices is " +
                     std::to_string(world),
                 false);
  }

  /// All that was not looked up, but for what `is_idle` says changes neither memory nor time of a step.
  template <class Idle>
  void name_unheeded(const Idle& is_idle) {
    for (const auto& [name, o] : option_)
      if (!heeded_.contains(name) && !is_idle(name)) out_.unheeded.push_back(told(o));
  }

  /// What was read. Throws launch_contradiction.
  launch_plan result() {
    if (!contradiction_.empty())
      throw launch_contradiction(contradicting_file_, contradiction_, is_of_line_, std::move(out_));
    return std::move(out_);
  }

  launch_plan out_;

 private:
  std::string placed(const launch_option& o, const std::string& why) const {
    return "line " + std::to_string(o.line) + ": " + said(o) + ": " + why;
  }

  const std::string& file_of(const launch_option& o) const { return o.file.empty() ? path_ : o.file; }

  const std::string& path_;
  std::string dashes_;
  std::map<std::string, launch_option> option_;
  std::map<std::string, bool> heeded_;
  std::string contradiction_, contradicting_file_;
  bool is_of_line_ = true;
};

}  // namespace detail

}}  // namespace hyperparallel::v0_2
