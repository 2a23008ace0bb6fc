// SPDX-License-Identifier: Apache-2.0
#include "launch/trainer_book.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <initializer_list>
#include <string_view>

namespace hp_tool::launch {

trainer_book::trainer_book(const std::vector<launch_option>& given, const std::string& path, launch_form form,
                           int devices)
    : launch_book(given, path, form == launch_form::script ? "--" : "",
                  form == launch_form::script ? same_option::last_counts : same_option::refused),
      file_(path),
      world_(devices) {
  const auto any = [&](std::initializer_list<std::string_view> names) {
    return std::any_of(given.begin(), given.end(), [&](const launch_option& o) {
      return std::any_of(names.begin(), names.end(),
                         [&](std::string_view n) { return n.ends_with('.') ? o.name.starts_with(n) : o.name == n; });
    });
  };
  is_alone_ = form == launch_form::document && !any({"deepspeed.", "per_device_train_batch_size"}) &&
              any({"zero_optimization.", "train_batch_size", "train_micro_batch_size_per_gpu"});
  is_of_accelerate_ = any({"deepspeed_config."}) && !any({"deepspeed."});
  is_deepspeed_ = is_alone_ || any({"deepspeed.", "deepspeed_config.", "use_deepspeed"});
  is_factory_ =
      any({"cutoff_len", "finetuning_type", "template", "dataset_dir", "disable_gradient_checkpointing", "pure_bf16"});
  is_known_ = is_deepspeed_ || is_factory_ ||
              any({"per_device_train_batch_size", "gradient_accumulation_steps", "gradient_checkpointing", "fsdp",
                   "fsdp_config.", "distributed_type", "mixed_precision"});
}

trainer_book::option trainer_book::find_fsdp(const std::string& name) {
  for (const char* section : {"fsdp_config.", "fsdp_config.fsdp_", "fsdp_"})
    if (const option o = find(section + name)) return o;
  return nullptr;
}

std::string trainer_book::lowered(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool trainer_book::is_on(option o, bool otherwise) const {
  const std::string v = value_of(o);
  if (o == nullptr || v == "auto") return otherwise;
  if (o->values.empty() || v == "true" || v == "yes" || v == "on" || v == "1") return true;
  if (v != "false" && v != "no" && v != "off" && v != "0" && v != "none") refuse(*o, "expected true or false");
  return false;
}

int trainer_book::count(option o, const std::string& name) {
  return o == nullptr || value_of(o) == "auto" ? 0 : number(name.c_str(), 0);
}

std::vector<std::string> trainer_book::words_of(const launch_option& o) {
  std::vector<std::string> words;
  for (const std::string& value : o.values)
    for (std::size_t at = value.find_first_not_of(", "); at != std::string::npos;) {
      const std::size_t end = value.find_first_of(", ", at);
      words.push_back(lowered(value.substr(at, end - at)));
      at = value.find_first_not_of(", ", end);
    }
  return words;
}

bool trainer_book::is_half() {
  const option bf16 = is_alone_ ? nullptr : find("bf16"), fp16 = is_alone_ ? nullptr : find("fp16");
  if (is_on(bf16) && is_on(fp16)) contradict(*fp16, "contradicts " + told(*bf16));
  const std::string mixed = value_of(find("mixed_precision"));
  return is_on(bf16) || is_on(fp16) || mixed == "bf16" || mixed == "fp16" || is_on("pure_bf16");
}

bool trainer_book::is_loaded_half() {
  if (is_on("pure_bf16")) return true;
  for (const char* name : {"torch_dtype", "model_dtype", "dtype"})
    if (const std::string type = value_of(find(name)); type == "bfloat16" || type == "float16") return true;
  return false;
}

}  // namespace hp_tool::launch
