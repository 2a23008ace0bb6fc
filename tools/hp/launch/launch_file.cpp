// SPDX-License-Identifier: Apache-2.0
#include "launch/launch_file.hpp"

#include <algorithm>
#include <vector>

#include <hyperparallel/io/text_file.hpp>

#include "launch/launch_options.hpp"
#include "launch/megatron_launch.hpp"
#include "launch/mindformers_launch.hpp"
#include "launch/toml_options.hpp"
#include "launch/torchtitan_launch.hpp"
#include "launch/trainer_files.hpp"
#include "launch/trainer_launch.hpp"
#include "launch/yaml_options.hpp"

namespace hp_tool::launch {

namespace {

/// Whether a script has words of the Trainer, and none of Megatron-LM, whose scripts may have DeepSpeed's, too.
bool is_trainer_script(const std::vector<launch_option>& options) {
  const auto stands = [&](std::string_view name) {
    return std::any_of(options.begin(), options.end(), [&](const launch_option& o) { return o.name == name; });
  };
  return (stands("deepspeed") || stands("per_device_train_batch_size")) && !stands("tensor-model-parallel-size");
}

launch_plan plan_of_launch(std::string_view text, const std::string& path, const decoder& model, int devices,
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

}  // namespace

const launch_framework* find_framework(std::string_view name) {
  for (const launch_framework& f : launch_frameworks)
    if (name == f.name) return &f;
  return nullptr;
}

launch_plan read_launch_file(const std::string& path, const decoder& model, int devices, extent_t sequence) {
  const std::vector<unsigned char> bytes = read_bytes(path, {empty_file::refused, largest_launch_file});
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return plan_of_launch(text, path, model, devices, sequence);
}

}  // namespace hp_tool::launch
