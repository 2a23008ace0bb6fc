// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of a run of the Hugging Face Trainer by name: on or off, counts, words, and whose file it is.
//
// Laws: "auto" is as if it did not stand; an option of FSDP is found with and without its prefix, one of DeepSpeed in a file of its own
// and in the Trainer's. Errors: io_error of one line with file, line and option. O(log options) each.

#include <string>
#include <vector>

#include "launch/launch_plan.hpp"

namespace hp_tool::launch {

/// How options are written: behind "--" in a script, or as names of a YAML or JSON document.
enum class launch_form : unsigned char { script, document };

class trainer_book : protected launch_book {
 protected:
  trainer_book(const std::vector<launch_option>& given, const std::string& path, launch_form form, int devices);

  option find(const std::string& name) { return launch_book::find(name.c_str()); }
  /// What DeepSpeed calls so.
  std::string of_deepspeed(const char* name) const { return (is_alone_ ? "" : "deepspeed.") + std::string(name); }
  option find_deepspeed(const char* name) { return find(of_deepspeed(name)); }
  /// An option of FSDP, with and without its prefix.
  option find_fsdp(const std::string& name);

  static std::string lowered(std::string text);
  static std::string value_of(option o) { return o == nullptr || o->values.empty() ? "" : lowered(o->values[0]); }
  /// Of an option without a value: on.
  bool is_on(option o, bool otherwise = false) const;
  bool is_on(const std::string& name, bool otherwise = false) { return is_on(find(name), otherwise); }
  /// 0 where it does not stand, or is left to the Trainer.
  int count(option o, const std::string& name);
  int count(const std::string& name) { return count(find(name), name); }

  /// The words of its values, which commas and blanks part.
  static std::vector<std::string> words_of(const launch_option& o);

  /// Whether products are in 16 bits, as the Trainer and accelerate say.
  bool is_half();
  /// Whether the model is loaded in 16 bits and trained so.
  bool is_loaded_half();

  const std::string& file_;
  int world_;
  bool is_alone_ = false;          ///< a DeepSpeed configuration without a Trainer
  bool is_of_accelerate_ = false;  ///< DeepSpeed's options stand in a file of accelerate
  bool is_deepspeed_ = false, is_factory_ = false, is_known_ = false;
};

}  // namespace hp_tool::launch
