// SPDX-License-Identifier: Apache-2.0
#pragma once
// What hp plan is asked, and the plan that this names: --fix is read here.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/io/hardware_file.hpp>
#include <hyperparallel/planner/fit.hpp>
#include <hyperparallel/planner/plan_check.hpp>
#include <hyperparallel/planner/stack.hpp>

#include "../page_output.hpp"
#include "../refusals.hpp"

namespace decoder_plans {

namespace hp = hyperparallel;

struct choice {
  std::string config, fixes, from, hardware = hp::hardware_presets[0].name.text;
  int devices = 1;
  std::int64_t batch = 0;  ///< 0: a sequence for each data rank and micro-batch
  std::int64_t sequence = 4096;
  bool sequence_is_said = false;  ///< by --sequence
  std::int64_t memory = 0;        ///< of a device; 0: what the hardware has
  hp::memory_reserve reserve{};
  int effort = 20;  ///< seconds of a search
  std::string stack = hp::known_stacks[0].name;
  bool stack_is_said = false;             ///< by --stack
  std::string precision{};                ///< of --precision; empty: the stack's own
  std::string measured{};                 ///< a run of the user's own; empty: none
  std::string to{};                       ///< whose words the plan is written in; empty: nobody's
  std::string convention{};               ///< that memory is told by beside the account; empty: none
  std::string groups{};                   ///< a file of process groups, or "search"; empty: none
  std::vector<std::string> strategies{};  ///< of its groups, or to search among
  int why = 0;                            ///< the row that the winner of a search is compared with
  bool as_json = false;
  hp_tool::page_request page{};
};

inline std::string known_hardware_names() {
  std::string names;
  for (const hp::known_hardware& h : hp::hardware_presets)
    names += (names.empty() ? "" : ", ") + std::string(h.name.text);
  return names;
}

inline std::string known_stack_names() {
  std::string names;
  for (const hp::stack_rules& s : hp::known_stacks) names += (names.empty() ? "" : ", ") + std::string(s.name);
  return names;
}

inline std::string known_format_names() {
  std::string names;
  for (const hp::named_formats& f : hp::known_formats) names += (names.empty() ? "" : ", ") + std::string(f.name);
  return names;
}

/// A precision that a stack of PyTorch has, and the stack that has it.
struct stack_precision {
  const char* stack;
  const char* precision;
  const char* is;
};
inline constexpr stack_precision stack_precisions[] = {{"fsdp2", "bf16", "fsdp2"},
                                                       {"fsdp2_compiled", "bf16", "fsdp2_compiled"},
                                                       {"transformers", "bf16", "transformers"},
                                                       {"transformers", "amp", "transformers_amp"},
                                                       {"transformers_amp", "amp", "transformers_amp"}};

/// Throws bad_input.
inline const hp::stack_rules& stack_of(const choice& c) {
  const hp::stack_rules* s = hp::find_stack(c.stack.c_str());
  if (s == nullptr) throw hp_tool::bad_input("--stack: '" + c.stack + "' is not known; known: " + known_stack_names());
  if (!s->walked || c.precision.empty()) return *s;
  std::string names;
  for (const stack_precision& p : stack_precisions)
    if (c.stack == p.stack) {
      if (c.precision == p.precision) return *hp::find_stack(p.is);
      names += (names.empty() ? "" : ", ") + std::string(p.precision);
    }
  throw hp_tool::bad_input("--precision: '" + c.precision + "' is not one of --stack " + c.stack +
                           "; it has: " + names);
}

/// Of the library's own plan; on a stack of PyTorch what it gathers and reduces of parameters is bf16. Throws bad_input.
inline hp::plan_formats formats_of(const choice& c) {
  const hp::stack_rules* stack = hp::find_stack(c.stack.c_str());
  const bool is_library = stack == nullptr || (!stack->walked && !stack->overlapped);
  if (c.precision.empty() || (stack != nullptr && stack->walked))
    return is_library ? hp::plan_formats{} : hp::find_formats("bf16")->formats;
  if (const hp::named_formats* f = hp::find_formats(c.precision.c_str())) return f->formats;
  throw hp_tool::bad_input("--precision: '" + c.precision + "' is not known; known: " + known_format_names());
}

/// A preset, or the hardware of a file. Throws bad_input.
inline hp::known_hardware hardware_called(const std::string& name) {
  if (const hp::known_hardware* h = hp::find_hardware(name.c_str())) return *h;
  if (!name.ends_with(".json") && name.find('/') == std::string::npos)
    throw hp_tool::bad_input("--hardware: '" + name + "' is not known; known: " + known_hardware_names() +
                             ", or a file that ends in .json");
  try {
    return hp::read_hardware_file(name);
  } catch (const hp::io_error& e) {
    throw hp_tool::bad_input(e.what());
  }
}

/// The first memory of a device: what the data sheet says, and what plans may use of it.
struct usable_memory {
  std::int64_t stated = 0;
  bool is_reported = false;  ///< by a device of this kind
  bool is_asked = false;     ///< by --memory
};

/// Gives the device what --memory says, else what a device reports.
inline usable_memory take_memory(hp::known_hardware& h, std::int64_t asked) {
  const usable_memory m{h.device.tier[0].bytes, asked == 0 && h.reported_bytes > 0, asked > 0};
  if (asked > 0)
    h.device.tier[0].bytes = asked;
  else
    h.device = hp::reported_device(h);
  return m;
}

/// Of `lora`.
inline constexpr int most_adapter_rank = 65536;

/// What --fix of hp plan may name.
inline constexpr std::string_view plan_fixes[] = {
    "tp",   "pp",      "dp", "cp",       "ep",     "zero",          "copies",    "micro_batches", "recompute",
    "lora", "lora_on", "sp", "schedule", "chunks", "experts_along", "optimizer", "host_states"};

/// Reads --fix: each name once, of those in `known`. dp is what is left of the devices where it is not named.
class fix_reader {
 public:
  /// `option` is the one whose text this is.
  fix_reader(std::string_view fixes_asked, int devices_asked, std::span<const std::string_view> known_names,
             const char* option_asked = "--fix")
      : fixes(fixes_asked), devices(devices_asked), known(known_names), option(option_asked) {}

  hp::decoder_plan read() {
    for (std::string_view left = fixes; !left.empty();) {
      const std::size_t comma = std::min(left.find(','), left.size());
      read_one(left.substr(0, comma));
      left.remove_prefix(std::min(comma + 1, left.size()));
    }
    fill_data();
    return plan;
  }

 private:
  [[noreturn]] void refuse(std::string_view one, const std::string& why) const {
    throw hp_tool::bad_input(std::string(option) + ": '" + std::string(one) + "' " + why);
  }

  void read_one(std::string_view one) {
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos) refuse(one, "has no value; expected one as tp=8");
    const std::string_view name = one.substr(0, equals), value = one.substr(equals + 1);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      std::string names;
      for (const std::string_view each : known) names += (names.empty() ? "" : ", ") + std::string(each);
      refuse(one, "names nothing that can be fixed; known: " + names);
    }
    if (std::find(named.begin(), named.end(), name) != named.end())
      refuse(one, "contradicts the " + std::string(name) + " before it");
    named.push_back(name);
    if (name == "recompute") return read_recomputation(one, value);
    if (name == "sp") return read_word(one, value, "off", "on", plan.sequence_parallel);
    if (name == "experts_along") return read_experts_along(one, value);
    if (name == "schedule") return read_schedule(one, value);
    if (name == "optimizer") return read_optimizer(one, value);
    if (name == "chunks") return read_number(one, value, 1, static_cast<int>(hp::largest_plan_number), plan.chunks);
    if (name == "copies") return read_number(one, value, 1, static_cast<int>(hp::largest_plan_number), plan.copies);
    if (name == "lora") return read_number(one, value, 1, most_adapter_rank, plan.adapter_rank);
    if (name == "host_states") return read_number(one, value, 0, 1000, plan.host_states);
    if (name == "lora_on") {
      bool is_all = true;
      read_word(one, value, "qkv", "all", is_all);
      plan.adapted = is_all ? hp::adapted_products::all : hp::adapted_products::attention_inputs;
      return;
    }
    if (name == "zero") return read_number(one, value, 0, 3, plan.zero);
    int hp::decoder_plan::* number = &hp::decoder_plan::micro_batches;
    for (const hp::plan_degree& d : hp::plan_degrees)
      if (name == d.name) number = d.of;
    read_number(one, value, 1, static_cast<int>(hp::largest_plan_number), plan.*number);
  }

  void read_word(std::string_view one, std::string_view value, const char* no, const char* yes, bool& to) const {
    if (value != no && value != yes) refuse(one, std::string("is neither ") + no + " nor " + yes);
    to = value == yes;
  }

  void read_experts_along(std::string_view one, std::string_view value) {
    plan.experts_along_tp = value == "tp" || value == "tp+cp";
    plan.experts_along_cp = value == "cp" || value == "tp+cp";
    if (!plan.experts_along_tp && !plan.experts_along_cp) refuse(one, "is neither tp nor cp nor tp+cp");
  }

  void read_recomputation(std::string_view one, std::string_view value) {
    plan.selective = value == "selective";
    plan.recomputed = value == "full" || plan.selective;
    plan.modules = 0;
    if (plan.recomputed || value == "none") return;
    std::string names;
    for (const hp::recomputed_module& m : hp::recomputed_modules)
      names += (names.empty() ? "" : ", ") + std::string(m.name);
    for (std::size_t begin = 0; begin <= value.size();) {
      const std::size_t end = std::min(value.find('+', begin), value.size());
      const unsigned bit = hp::module_bit(std::string(value.substr(begin, end - begin)).c_str());
      if (bit == 0) refuse(one, "is neither none, selective, full nor modules joined by +: " + names);
      plan.modules |= bit;
      begin = end + 1;
    }
  }

  void read_schedule(std::string_view one, std::string_view value) {
    const hp::named_schedule* found = hp::schedule_called(std::string(value).c_str());
    std::string names;
    for (const hp::named_schedule& s : hp::schedule_table.item)
      if (hp::copies_of_stages(s.placement) == 1) names += (names.empty() ? "" : ", ") + std::string(s.name);
    if (found == nullptr) refuse(one, "names no schedule; known: " + names);
    plan.schedule = static_cast<int>(found - hp::schedule_table.item);
  }

  void read_optimizer(std::string_view one, std::string_view value) {
    for (const hp::optimizer_kind kind : {hp::optimizer_kind::adamw, hp::optimizer_kind::sgd, hp::optimizer_kind::muon})
      if (value == name_of(kind)) {
        plan.optimizer = kind;
        return;
      }
    refuse(one, "is neither adamw, sgd nor muon");
  }

  void read_number(std::string_view one, std::string_view value, int least, int most, int& to) const {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), to);
    if (error != std::errc() || end != value.data() + value.size() || to < least || to > most)
      refuse(one, "is no whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }

  /// dp is what is left where it is not named; all degrees multiply to the devices.
  void fill_data() {
    const hp::extent_t product = hp::device_count_of(plan);
    std::string told;
    for (const hp::plan_degree& d : hp::plan_degrees)
      if (plan.*d.of > 1) told += (told.empty() ? "" : " x ") + std::string(d.name) + "=" + std::to_string(plan.*d.of);
    const bool data_is_named = std::find(named.begin(), named.end(), "dp") != named.end();
    const std::string degrees = told.empty() ? "degrees of 1" : told;
    if (data_is_named && product != devices)
      throw hp_tool::bad_input(std::string(option) + ": " + degrees + " are " + std::to_string(product) +
                               " devices; --devices is " + std::to_string(devices));
    if (devices % product != 0)
      throw hp_tool::bad_input(std::string(option) + ": " + degrees + " are " + std::to_string(product) +
                               " devices, of which --devices, " + std::to_string(devices) + ", is no multiple");
    if (!data_is_named) plan.dp = static_cast<int>(devices / product);
  }

  std::string_view fixes;
  int devices;
  std::span<const std::string_view> known;
  const char* option;
  hp::decoder_plan plan{};
  std::vector<std::string_view> named;
};

/// The plan of training that is asked for: a sequence for each data rank and micro-batch where no batch is named.
inline hp::decoder_plan plan_of(const choice& c) {
  hp::decoder_plan plan = fix_reader(c.fixes, c.devices, plan_fixes).read();
  plan.sequence = c.sequence;
  plan.formats = formats_of(c);
  plan.batch = c.batch > 0 ? c.batch : hp::extent_t{plan.dp} * plan.ep * plan.micro_batches;
  return plan;
}

}  // namespace decoder_plans
