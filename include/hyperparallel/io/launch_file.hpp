// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launch lines of the frameworks that are known: read as plans, and plans written as launch lines.
//
//   const hp::launch_plan l = hp::read_launch_file("run.sh", llama3, 64);      whose it is, its name and contents say
//   hp::find_framework("megatron")->write(l.plan, llama3).lines                 read back, it is the plan
//
//   framework    files
//   megatron     a shell script, or a file of arguments
//   torchtitan, hyperparallel     FILE.toml; both have the same words
//
// It needs toml++ (toml_options.hpp); no front header includes this one.
//
// Errors: io_error of one line with file, line and option. O(bytes).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/io/launch_options.hpp>
#include <hyperparallel/io/megatron_launch.hpp>
#include <hyperparallel/io/megatron_words.hpp>
#include <hyperparallel/io/text_file.hpp>
#include <hyperparallel/io/toml_options.hpp>
#include <hyperparallel/io/torchtitan_launch.hpp>
#include <hyperparallel/io/torchtitan_words.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A framework whose words plans are written in.
struct launch_framework {
  const char* name;
  launch_text (*write)(const decoder_plan&, const decoder&);
  const char* line_end;  ///< between its lines
};
inline constexpr launch_framework launch_frameworks[] = {{"megatron", words_of_megatron, " \\\n"},
                                                         {"torchtitan", words_of_torchtitan, "\n"},
                                                         {"hyperparallel", words_of_torchtitan, "\n"}};

/// Null where no framework is called so.
inline const launch_framework* find_framework(std::string_view name) {
  for (const launch_framework& f : launch_frameworks)
    if (name == f.name) return &f;
  return nullptr;
}

inline constexpr std::int64_t largest_launch_file = std::int64_t{1} << 20;

/// The plan on `devices`, of a model that is read. Throws io_error.
inline launch_plan read_launch_file(const std::string& path, const decoder& model, int devices) {
  const std::vector<unsigned char> bytes = read_bytes(path, {empty_file::refused, largest_launch_file});
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (path.ends_with(".toml")) return plan_of_torchtitan(toml_options(text, path), path, model, devices);
  return plan_of_megatron(launch_options_of(text), path, model, devices);
}

}}  // namespace hyperparallel::v0_2
