// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of weight_formats.hpp; see support/compiled.hpp.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <hyperparallel/io/config_fields.hpp>
#include <hyperparallel/io/map_names.hpp>
#include <hyperparallel/io/module_patterns.hpp>
#include <hyperparallel/io/weight_blocks.hpp>
#include <hyperparallel/io/weight_formats.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Reads one object. Throws io_error of a value that cannot be, `unknown_format` of one that is not known.
class weight_reader {
 public:
  weight_reader(config_fields& fields, const decoder& model) : q_(fields), d_(model) {}

  stored_weights read() {
    stored_weights s;
    s.method = method();
    try {
      read_cache(s);
      if (s.method == "fp8" || s.method == "fbgemm_fp8") {
        read_fp8(s);
      } else if (s.method == "mxfp4") {
        skip({"modules_to_not_convert"});
        s.storage.format.push({.bits = 4, .block_inputs = 32, .block_bits = 8});
        fill(s, [](weight_map m, const std::string&) { return is_expert_map(m) ? 1 : 0; });
      } else if (s.method == "gptq" || s.method == "awq") {
        read_groups(s);
      } else if (s.method == "bitsandbytes") {
        read_bitsandbytes(s);
      } else if (s.method == "compressed-tensors") {
        read_compressed(s);
      } else if (s.method.starts_with("modelopt")) {
        read_modelopt(s);
      } else {
        throw unknown_format{(s.method == "none" ? std::string("quant_method is missing")
                                                 : "quant_method " + shown_json(s.method) + " is not known") +
                             "; known: fp8, fbgemm_fp8, mxfp4, gptq, awq, bitsandbytes, compressed-tensors, modelopt"};
      }
    } catch (const unknown_format& e) {
      s.storage = {};
      s.unknown = e.why;
    }
    return s;
  }

 private:
  /// Files of before the field, and of modelopt, have none.
  std::string method() {
    if (const auto named = q_.optional_text("quant_method", 40)) {
      std::string lower = *named;
      for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == '_' ? '-' : c;
      if (lower == "fbgemm-fp8") return "fbgemm_fp8";
      // vLLM reads a mixed file of modelopt that calls itself fp8 as modelopt.
      if (lower == "fp8" && !q_.value("quant_algo").is_null()) return "modelopt";
      return lower;
    }
    if (!q_.value("quant_algo").is_null() || q_.value("quantization").is_object()) return "modelopt";
    if (q_.value("config_groups").is_object()) return "compressed-tensors";
    if (q_.value("load_in_4bit").is_boolean() || q_.value("load_in_8bit").is_boolean()) return "bitsandbytes";
    return "none";
  }
  void read_cache(stored_weights& s) {
    for (const char* name : {"kv_cache_quant_algo", "kv_cache_scheme"}) {
      const nlohmann::json& v = q_.value(name);
      if (v == "FP8" || (v.is_object() && v.contains("num_bits") && v["num_bits"] == 8)) s.cache_bits = 8;
      if (v == "NVFP4" || (v.is_object() && v.contains("num_bits") && v["num_bits"] == 4)) s.cache_bits = 4;
    }
  }

  void skip(const std::vector<const char*>& lists) {
    for (const char* name : lists) {
      const nlohmann::json& v = q_.value(name);
      if (v.is_null()) continue;
      if (!v.is_array()) q_.refuse(name, "expected a list of modules");
      for (const nlohmann::json& each : v) {
        if (!each.is_string()) q_.refuse(name, "expected names of modules");
        if (!skipped_.add(each.get_ref<const std::string&>()))
          throw unknown_format{std::string(name) + " has " + shown_json(each) + ", which is not known"};
      }
    }
  }

  /// Gives each map a format: `number_of(map, name)`, 0 where a list has it or it is not converted.
  template <class Number>
  void fill(stored_weights& s, const Number& number_of, bool with_head = false) {
    const int layers = static_cast<int>(d_.layers);
    std::size_t wide = skipped_.wide_patterns();
    for (const module_list& each : targets_) wide += each.wide_patterns();
    if (layers > 4096 || static_cast<std::size_t>(layers) * wide > std::size_t{1} << 14)
      throw unknown_format{"more layers or patterns than are looked at"};
    s.storage.number.resize(layers * layer_map_count + 2);
    for (int layer = 0; layer < layers; ++layer) {
      const std::string place = "model.layers." + std::to_string(layer) + ".";
      int number[layer_map_count] = {};
      bool kept[layer_map_count] = {};
      for (const map_names& each : names_of_maps) {
        const int m = static_cast<int>(each.map);
        const std::string name = place + each.name;
        kept[m] = kept[m] || skipped_.has(name);
        if (number[m] == 0) number[m] = number_of(each.map, name);
      }
      for (int m = 0; m < layer_map_count; ++m)
        s.storage.number[layer * layer_map_count + m] = static_cast<unsigned char>(kept[m] ? 0 : number[m]);
    }
    if (with_head && !d_.tied && !skipped_.has("lm_head"))
      s.storage.number[s.storage.number.size - 1] = static_cast<unsigned char>(number_of(weight_map::head, "lm_head"));
  }
  static int all_maps(weight_map, const std::string&) { return 1; }

  void read_fp8(stored_weights& s) {
    skip({"modules_to_not_convert", "ignored_layers"});
    weight_format f{.bits = 8, .block_bits = 32};
    if (s.method == "fp8") {
      f = {.bits = 8, .map_bits = 32};
      if (const nlohmann::json& block = q_.value("weight_block_size"); !block.is_null()) f = of_blocks(f, block, 32);
      if (q_.value("activation_scheme") == "static") f.map_bits += 32;
    }
    s.storage.format.push(f);
    fill(s, all_maps);
  }
  void read_groups(stored_weights& s) {
    skip({"modules_to_not_convert"});
    const auto either = [&](const char* name, const char* older, extent_t least, extent_t most, extent_t otherwise) {
      const auto n = q_.optional_whole(name, most, least);
      return n ? *n : q_.optional_whole(older, most, least).value_or(otherwise);
    };
    if (const nlohmann::json& more = q_.value("dynamic"); !more.is_null() && more != nlohmann::json::object())
      throw unknown_format{"dynamic is " + shown_json(more) + "; known: {}"};
    const int bits = static_cast<int>(either("bits", "w_bit", 1, 16, 4));
    const extent_t group = either("group_size", "q_group_size", -1, most_group, 128);
    if (group == 0) q_.refuse("group_size", "expected -1 or more than 0");
    s.storage.format.push({.bits = bits,
                           .block_inputs = group < 0 ? 0 : group,
                           .block_bits = 16 + bits,
                           .input_bits = s.method == "gptq" ? 32 : 0});
    fill(s, all_maps, q_.value("lm_head") == true);
  }
  void read_bitsandbytes(stored_weights& s) {
    skip({"llm_int8_skip_modules", "modules_to_not_convert"});
    if (q_.flag("load_in_4bit", q_.flag("_load_in_4bit", false)))
      // Of 64 elements a scale in f32, or in 8 bits with one in f32 for 256 of them.
      s.storage.format.push(
          {.bits = 4, .block_inputs = 64, .block_bits = q_.flag("bnb_4bit_use_double_quant", false) ? 8 : 32});
    else if (q_.flag("load_in_8bit", q_.flag("_load_in_8bit", false)))
      s.storage.format.push({.bits = 8, .block_bits = 32});
    else
      throw unknown_format{"neither load_in_4bit nor load_in_8bit is true"};
    fill(s, all_maps);
  }

  void read_compressed(stored_weights& s) {
    skip({"ignore"});
    const std::string form = q_.optional_text("format", 60).value_or("");
    if (form.find("24") != std::string::npos || form.find("sparse") != std::string::npos)
      throw unknown_format{"format " + shown_json(form) + " leaves elements out"};
    if (const nlohmann::json& sparse = q_.value("sparsity_config");
        sparse.is_object() && sparse.contains("format") && sparse["format"] != "dense")
      throw unknown_format{"sparsity_config leaves elements out"};
    read_config_groups(s, false, form);
  }
  void read_config_groups(stored_weights& s, bool nvidia, const std::string& form) {
    if (!q_.value("config_groups").is_object()) throw unknown_format{"config_groups is missing"};
    config_fields groups = *q_.inside("config_groups");
    for (const std::string& name : groups.left()) {
      config_fields group = *groups.inside(name.c_str());
      const nlohmann::json& list = group.value("targets");
      if (!group.value("weights").is_object()) continue;  // of activations alone
      config_fields weights = *group.inside("weights");
      s.storage.format.push(format_of_group(weights, nvidia, group.optional_text("format", 60).value_or(form)));
      targets_.emplace_back();
      if (!list.is_null() && !list.is_array()) group.refuse("targets", "expected a list");
      for (const nlohmann::json& each : list) {
        if (!each.is_string()) group.refuse("targets", "expected names");
        if (!targets_.back().add(each == "Linear" ? "re:.*" : each.get_ref<const std::string&>()))
          throw unknown_format{"targets has " + shown_json(each) + ", which is not known"};
      }
      if (list.is_null()) targets_.back().add("re:.*");
      if (targets_.size() > 16) throw unknown_format{"more than 16 groups"};
    }
    fill(
        s,
        [&](weight_map, const std::string& name) {
          for (std::size_t i = 0; i < targets_.size(); ++i)
            if (targets_[i].has(name)) return static_cast<int>(i) + 1;
          return 0;
        },
        true);
  }

  void read_modelopt(stored_weights& s) {
    if (q_.value("quantization").is_object()) {
      config_fields inner = *q_.inside("quantization");
      const stored_weights read = weight_reader(inner, d_).read_modelopt_fields();
      s.storage = read.storage;
      s.cache_bits = read.cache_bits;
      return;
    }
    const stored_weights read = read_modelopt_fields();
    s.storage = read.storage;
    s.cache_bits = read.cache_bits;
  }
  stored_weights read_modelopt_fields() {
    stored_weights s;
    read_cache(s);
    skip({"exclude_modules", "ignore"});
    const extent_t group = q_.optional_whole("group_size", most_group).value_or(0);
    const nlohmann::json& name = q_.value("quant_algo");
    if (name == "MIXED_PRECISION") {
      read_mixed(s);
      return s;
    }
    if (name.is_null()) {
      read_config_groups(s, true, "");
      return s;
    }
    s.storage.format.push(format_called(name, group));
    fill(s, all_maps, true);
    return s;
  }
  /// Of modules with a format each.
  void read_mixed(stored_weights& s) {
    if (!q_.value("quantized_layers").is_object()) throw unknown_format{"quantized_layers is missing"};
    config_fields layers = *q_.inside("quantized_layers");
    for (const std::string& name : layers.left()) {
      config_fields one = *layers.inside(name.c_str());
      const weight_format f =
          format_called(one.value("quant_algo"), one.optional_whole("group_size", most_group).value_or(0));
      int i = 0;
      while (i < s.storage.format.size && !(s.storage.format[i] == f)) ++i;
      if (i == s.storage.format.size) {
        s.storage.format.push(f);
        targets_.emplace_back();
      }
      if (!targets_[static_cast<std::size_t>(i)].add(name))
        throw unknown_format{"quantized_layers has " + shown_json(name) + ", which is not known"};
    }
    fill(
        s,
        [&](weight_map, const std::string& name) {
          for (std::size_t i = 0; i < targets_.size(); ++i)
            if (targets_[i].has(name)) return static_cast<int>(i) + 1;
          return 0;
        },
        true);
  }

  config_fields& q_;
  const decoder& d_;
  module_list skipped_{};
  std::vector<module_list> targets_{};  ///< of each format, where formats have modules of their own
};

HYPERPARALLEL_JSON_BODY stored_weights read_stored_weights(config_fields& f, const decoder& d) {
  for (const char* name : {"quantization_config", "compression_config", "quantization"}) f.value(name);
  for (const char* name : {"quantization_config", "compression_config"}) {
    if (f.value(name).is_null()) continue;
    config_fields inner = *f.inside(name);
    return weight_reader(inner, d).read();
  }
  if (!f.value("quantization").is_null()) return {.method = "quantization", .unknown = "of MLX, which is not known"};
  return {};
}

}}}  // namespace hyperparallel::v0_2::detail
