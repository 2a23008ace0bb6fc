// SPDX-License-Identifier: Apache-2.0
#include "launch/trainer_files.hpp"

#include <cstddef>
#include <string_view>
#include <utility>

#include <hyperparallel/io/text_file.hpp>

#include "launch/yaml_options.hpp"

namespace hp_tool::launch {

namespace {

/// What an option names: a file's path, or the text itself where it begins as JSON; its options begin with `prefix`.
std::vector<launch_option> named_options(const launch_option& o, const std::string& launch_path,
                                         const std::string& prefix) {
  const std::string& value = o.values[0];
  const std::string from = o.file.empty() ? launch_path : o.file;
  const auto refuse = [&](const std::string& why) {
    throw io_error("read", from,
                   "line " + std::to_string(o.line) + ": " + on_one_line(o.name + " " + value) + ": " + why);
  };
  std::vector<launch_option> read;
  std::string path;
  if (value.starts_with("{")) {
    try {
      read = yaml_options_of(value, from);
    } catch (const io_error&) {
      refuse("it begins as JSON and is none");
    }
    for (launch_option& r : read) {
      r.line = o.line;
      r.file = o.file;
    }
  } else {
    if (value.starts_with("$")) refuse("the file does not say what " + on_one_line(value) + " is");
    path = value.starts_with("/") ? value : from.substr(0, from.rfind('/') + 1) + value;
    std::vector<unsigned char> bytes;
    try {
      bytes = read_bytes(path, {empty_file::refused, largest_launch_file});
    } catch (const io_error& e) {
      refuse(e.what());
    }
    read = yaml_options_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
    for (launch_option& r : read) r.file = path;
  }
  for (launch_option& r : read) r.name = prefix + r.name;
  return read;
}

}  // namespace

std::vector<launch_option> with_named_files(const std::vector<launch_option>& given, const std::string& path) {
  std::vector<launch_option> all;
  const auto add = [&](const std::vector<launch_option>& more) { all.insert(all.end(), more.begin(), more.end()); };
  for (const launch_option& o : given)
    if (o.name == "config_file" && !o.values.empty()) add(named_options(o, path, ""));
  add(given);
  std::vector<launch_option> out;
  for (launch_option& o : all) {
    const bool names_value = !o.values.empty() && !o.values[0].empty() && o.values[0] != "null";
    const bool is_deepspeed = o.name == "deepspeed" || o.name == "deepspeed_config" ||
                              o.name == "deepspeed_config_file" || o.name == "deepspeed_config.deepspeed_config_file";
    if (names_value && (is_deepspeed || o.name == "fsdp_config")) {
      for (launch_option& n : named_options(o, path, is_deepspeed ? "deepspeed." : "fsdp_config."))
        if (n.values != std::vector<std::string>{"null"}) out.push_back(std::move(n));
    } else if (o.name != "config_file" && o.values != std::vector<std::string>{"null"}) {
      out.push_back(std::move(o));
    }
  }
  return out;
}

}  // namespace hp_tool::launch
