// SPDX-License-Identifier: Apache-2.0
#include "launch/yaml_options.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <cstddef>
#include <map>
#include <sstream>
#include <utility>

#include <hyperparallel/io/io_error.hpp>

namespace hp_tool::launch {

namespace {

constexpr std::size_t deepest_yaml = 32;        ///< maps and lists within each other
constexpr std::size_t longest_yaml_name = 256;  ///< with its dots

/// Gathers options from the events of a parser; what it refuses it throws as the parser does.
class yaml_gatherer : public YAML::EventHandler {
 public:
  std::vector<launch_option> options{};

  void OnDocumentStart(const YAML::Mark& at) override {
    if (begun_) refuse(at, "a second document begins here; one is read");
    begun_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& at, YAML::anchor_t) override { take(at, "null"); }
  void OnAlias(const YAML::Mark& at, YAML::anchor_t anchor) override {
    const auto value = anchored_.find(anchor);
    take(at, value == anchored_.end() ? "*" : value->second);
  }
  void OnScalar(const YAML::Mark& at, const std::string&, YAML::anchor_t anchor, const std::string& value) override {
    if (anchor != 0 && value.size() <= longest_yaml_name) anchored_[anchor] = value;
    take(at, value);
  }
  void OnSequenceStart(const YAML::Mark& at, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    if (levels_.empty()) refuse(at, "expected names with values, not a list");
    open(at, false);
  }
  void OnMapStart(const YAML::Mark& at, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    open(at, true);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  /// A map or a list that is open.
  struct level {
    bool is_map;
    std::string name;        ///< empty of the whole text
    int line = 0;            ///< of its key
    int members = 0;         ///< so far
    std::size_t option = 0;  ///< of a list: where its values go
    bool has_key = false;    ///< of a map: whose value comes next
    std::string key{};       ///< the whole name
    int key_line = 0;
  };

  [[noreturn]] static void refuse(const YAML::Mark& at, const std::string& why) {
    throw YAML::ParserException(at, why);
  }

  /// A key, or a value.
  void take(const YAML::Mark& at, const std::string& text) {
    if (levels_.empty()) refuse(at, "expected names with values");
    level& in = levels_.back();
    if (!in.is_map) {
      ++in.members;
      options[in.option].values.push_back(text);
    } else if (!in.has_key) {
      ++in.members;
      in.has_key = true;
      in.key = joined(at, in.name, text);
      in.key_line = at.line + 1;
    } else {
      in.has_key = false;
      options.push_back({in.key, {text}, in.key_line});
    }
  }
  void open(const YAML::Mark& at, bool is_map) {
    level fresh{.is_map = is_map, .name = {}, .line = at.line + 1};
    if (!levels_.empty()) {
      level& in = levels_.back();
      if (in.is_map && !in.has_key) refuse(at, "a name is no map and no list");
      if (in.is_map) {
        fresh.name = in.key;
        fresh.line = in.key_line;
        in.has_key = false;
      } else {
        fresh.name = joined(at, in.name, std::to_string(in.members++));
      }
    }
    if (levels_.size() >= deepest_yaml)
      refuse(at, "nested deeper than " + std::to_string(deepest_yaml) + " maps and lists");
    if (!is_map) {
      fresh.option = options.size();
      options.push_back({fresh.name, {}, fresh.line});
    }
    levels_.push_back(std::move(fresh));
  }
  void close() {
    const level done = std::move(levels_.back());
    levels_.pop_back();
    if (done.is_map && done.members == 0 && !done.name.empty()) options.push_back({done.name, {}, done.line});
  }
  static std::string joined(const YAML::Mark& at, const std::string& name, const std::string& key) {
    const std::string whole = name.empty() ? key : name + "." + key;
    if (whole.size() > longest_yaml_name)
      refuse(at, "a name is longer than " + std::to_string(longest_yaml_name) + " bytes");
    return whole;
  }

  std::vector<level> levels_;
  std::map<YAML::anchor_t, std::string> anchored_;  ///< values with an anchor
  bool begun_ = false;
};

}  // namespace

std::vector<launch_option> yaml_options_of(std::string_view text, const std::string& path) {
  yaml_gatherer gatherer;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(gatherer)) throw io_error("read", path, "it is empty");
    parser.HandleNextDocument(gatherer);
  } catch (const YAML::Exception& e) {
    throw io_error("read", path, "line " + std::to_string(e.mark.line + 1) + ": " + on_one_line(e.msg));
  }
  return std::move(gatherer.options);
}

}  // namespace hp_tool::launch
