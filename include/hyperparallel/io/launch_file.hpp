// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launch lines of the frameworks that are known: read as plans, and plans written as launch lines.
//
//   const hp::launch_plan l = hp::read_launch_file("run.sh", llama3, 64);      whose it is, its name and contents say
//   hp::find_framework("megatron")->write(l.plan, llama3).lines                 read back, it is the plan
//
//   framework                     files
//   megatron                      a shell script, or a file of arguments
//   torchtitan, hyperparallel     FILE.toml; both have the same words
//   (none writes them)            .yaml and .yml of MindFormers
//   deepspeed, fsdp2              .yaml, .yml and .json of the Trainer, LLaMA-Factory, DeepSpeed or accelerate; a shell script with the Trainer's words
//
// Needs toml++ on the include path and yaml-cpp, linked; no front header includes this one. Errors: io_error of one line with file, line and option. O(bytes).

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/io/launch_options.hpp>
#include <hyperparallel/io/megatron_launch.hpp>
#include <hyperparallel/io/megatron_words.hpp>
#include <hyperparallel/io/mindformers_launch.hpp>
#include <hyperparallel/io/text_file.hpp>
#include <hyperparallel/io/toml_options.hpp>
#include <hyperparallel/io/torchtitan_launch.hpp>
#include <hyperparallel/io/torchtitan_words.hpp>
#include <hyperparallel/io/trainer_launch.hpp>
#include <hyperparallel/io/trainer_words.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A framework whose words plans are written in.
struct launch_framework {
  const char* name;
  launch_text (*write)(const decoder_plan&, const decoder&);
  const char* line_end;  ///< between its lines
};
inline constexpr launch_framework launch_frameworks[] = {{"megatron", detail::words_of_megatron, " \\\n"},
                                                         {"torchtitan", detail::words_of_torchtitan, "\n"},
                                                         {"hyperparallel", detail::words_of_torchtitan, "\n"},
                                                         {"deepspeed", detail::words_of_deepspeed, "\n"},
                                                         {"fsdp2", detail::words_of_fsdp2, "\n"}};

/// The framework of that name, or null.
inline const launch_framework* find_framework(std::string_view name) {
  for (const launch_framework& f : launch_frameworks)
    if (name == f.name) return &f;
  return nullptr;
}

namespace detail {

/// Whether a script has words of the Trainer, and none of Megatron-LM, whose scripts may have DeepSpeed's, too.
inline bool is_trainer_script(const std::vector<launch_option>& options) {
  const auto stands = [&](std::string_view name) {
    return std::any_of(options.begin(), options.end(), [&](const launch_option& o) { return o.name == name; });
  };
  return (stands("deepspeed") || stands("per_device_train_batch_size")) && !stands("tensor-model-parallel-size");
}

inline launch_plan plan_of_launch(std::string_view text, const std::string& path, const decoder& model, int devices,
                                  extent_t sequence) {
  const std::string_view name = path;
  if (name.ends_with(".toml")) return plan_of_torchtitan(toml_options(text, path), path, model, devices);
  if (name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json")) {
    const std::vector<launch_option> options = yaml_options_of(text, path);
    if (is_of_mindformers(options)) return plan_of_mindformers(options, path, model, devices, sequence);
    return plan_of_trainer(options, path, launch_form::document, devices, sequence);
  }
  const std::vector<launch_option> options = launch_options_of(text);
  if (is_trainer_script(options)) return plan_of_trainer(options, path, launch_form::script, devices, sequence);
  return plan_of_megatron(options, path, model, devices, sequence);
}

}  // namespace detail

/// The plan on `devices`, of a model that is read, and of sequences of `sequence` tokens where the file does not say how long they are. Throws
/// io_error, launch_contradiction where the file can be read and is not legal.
inline launch_plan read_launch_file(const std::string& path, const decoder& model, int devices, extent_t sequence = 0) {
  const std::vector<unsigned char> bytes = read_bytes(path, {empty_file::refused, detail::largest_launch_file});
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return detail::plan_of_launch(text, path, model, devices, sequence);
}

}}  // namespace hyperparallel::v0_2
