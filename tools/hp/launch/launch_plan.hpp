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
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/planner/decoder_plan.hpp>

namespace hp_tool::launch {

using namespace hyperparallel;

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
launch_change change_of(const launch_text& from, const launch_text& to);

/// "0.5" of 500. Domain: 0 to 1000.
std::string share_of_per_mille(int per_mille);

/// A text with '?' for each control character.
std::string on_one_line(std::string text);

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
  launch_book(const std::vector<launch_option>& given, const std::string& path, const char* dashes, same_option twice);

  /// Null where it does not stand.
  option find(const char* name);
  bool stands(const char* name) { return find(name) != nullptr; }
  /// Its first value; empty where it has none or does not stand.
  std::string word(const char* name);
  int number(const char* name, int otherwise, int least = 1);

  /// A share from 0 to 1 in per mille; rounded to one.
  int per_mille(const launch_option& o) const;

  std::string said(const launch_option& o) const;
  /// With where it stands.
  std::string told(const launch_option& o) const { return said(o) + " (" + place(o) + ")"; }
  static std::string place(const launch_option& o);
  [[noreturn]] void refuse(const launch_option& o, const std::string& why) const;
  /// What is read is not legal. The first counts, and reading goes on: `result` throws.
  void contradict(const launch_option& o, const std::string& why, bool of_line = true);
  [[noreturn]] void miss(const char* name) const { throw io_error("read", path_, dashes_ + name + " is missing"); }

  /// Holds the devices that a launcher names, `each` of a node times `nodes`, against those that are there. Nodes that are a
  /// range, or come from outside, say nothing.
  void check_world(const char* each, const char* nodes, extent_t world);

  /// All that was not looked up, but for what `is_idle` says changes neither memory nor time of a step.
  void name_unheeded(const std::function<bool(const std::string&)>& is_idle);

  /// What was read. Throws launch_contradiction.
  launch_plan result();

  launch_plan out_;

 private:
  std::string placed(const launch_option& o, const std::string& why) const;

  const std::string& file_of(const launch_option& o) const { return o.file.empty() ? path_ : o.file; }

  const std::string& path_;
  std::string dashes_;
  std::map<std::string, launch_option> option_;
  std::map<std::string, bool> heeded_;
  std::string contradiction_, contradicting_file_;
  bool is_of_line_ = true;
};

}  // namespace hp_tool::launch
