// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of a run of the Hugging Face Trainer by name: on or off, counts, words, and whose file it is.
//
// Laws: "auto" is as if it did not stand; an option of FSDP is found with and without its prefix, one of DeepSpeed in a file of its own
// and in the Trainer's. Errors: io_error of one line with file, line and option. O(log options) each.

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/io/launch_plan.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// How options are written: behind "--" in a script, or as names of a YAML or JSON document.
enum class launch_form : unsigned char { script, document };

namespace detail {

class trainer_book : protected launch_book {
 protected:
  trainer_book(const std::vector<launch_option>& given, const std::string& path, launch_form form, int devices)
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
    is_factory_ = any(
        {"cutoff_len", "finetuning_type", "template", "dataset_dir", "disable_gradient_checkpointing", "pure_bf16"});
    is_known_ = is_deepspeed_ || is_factory_ ||
                any({"per_device_train_batch_size", "gradient_accumulation_steps", "gradient_checkpointing", "fsdp",
                     "fsdp_config.", "distributed_type", "mixed_precision"});
  }

  option find(const std::string& name) { return launch_book::find(name.c_str()); }
  /// What DeepSpeed calls so.
  std::string of_deepspeed(const char* name) const { return (is_alone_ ? "" : "deepspeed.") + std::string(name); }
  option find_deepspeed(const char* name) { return find(of_deepspeed(name)); }
  /// An option of FSDP, with and without its prefix.
  option find_fsdp(const std::string& name) {
    for (const char* section : {"fsdp_config.", "fsdp_config.fsdp_", "fsdp_"})
      if (const option o = find(section + name)) return o;
    return nullptr;
  }

  static std::string lowered(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  }
  static std::string value_of(option o) { return o == nullptr || o->values.empty() ? "" : lowered(o->values[0]); }
  /// Of an option without a value: on.
  bool is_on(option o, bool otherwise = false) const {
    const std::string v = value_of(o);
    if (o == nullptr || v == "auto") return otherwise;
    if (o->values.empty() || v == "true" || v == "yes" || v == "on" || v == "1") return true;
    if (v != "false" && v != "no" && v != "off" && v != "0" && v != "none") refuse(*o, "expected true or false");
    return false;
  }
  bool is_on(const std::string& name, bool otherwise = false) { return is_on(find(name), otherwise); }
  /// 0 where it does not stand, or is left to the Trainer.
  int count(option o, const std::string& name) {
    return o == nullptr || value_of(o) == "auto" ? 0 : number(name.c_str(), 0);
  }
  int count(const std::string& name) { return count(find(name), name); }

  /// The words of its values, which commas and blanks part.
  static std::vector<std::string> words_of(const launch_option& o) {
    std::vector<std::string> words;
    for (const std::string& value : o.values)
      for (std::size_t at = value.find_first_not_of(", "); at != std::string::npos;) {
        const std::size_t end = value.find_first_of(", ", at);
        words.push_back(lowered(value.substr(at, end - at)));
        at = value.find_first_not_of(", ", end);
      }
    return words;
  }

  /// Whether products are in 16 bits, as the Trainer and accelerate say.
  bool is_half() {
    const option bf16 = is_alone_ ? nullptr : find("bf16"), fp16 = is_alone_ ? nullptr : find("fp16");
    if (is_on(bf16) && is_on(fp16)) contradict(*fp16, "contradicts " + told(*bf16));
    const std::string mixed = value_of(find("mixed_precision"));
    return is_on(bf16) || is_on(fp16) || mixed == "bf16" || mixed == "fp16" || is_on("pure_bf16");
  }
  /// Whether the model is loaded in 16 bits and trained so.
  bool is_loaded_half() {
    if (is_on("pure_bf16")) return true;
    for (const char* name : {"torch_dtype", "model_dtype", "dtype"})
      if (const std::string type = value_of(find(name)); type == "bfloat16" || type == "float16") return true;
    return false;
  }

  const std::string& file_;
  int world_;
  bool is_alone_ = false;          ///< a DeepSpeed configuration without a Trainer
  bool is_of_accelerate_ = false;  ///< DeepSpeed's options stand in a file of accelerate
  bool is_deepspeed_ = false, is_factory_ = false, is_known_ = false;
};

}  // namespace detail

}}  // namespace hyperparallel::v0_2
