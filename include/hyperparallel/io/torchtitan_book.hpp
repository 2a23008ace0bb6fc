// SPDX-License-Identifier: Apache-2.0
#pragma once
// The keys of a torchtitan file by name, older names included, and which products it has in fp8.
//
// Errors: io_error of one line with file, line and key. O(log options) each.

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/io/launch_plan.hpp>
#include <hyperparallel/io/torchtitan_keys.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class torchtitan_book : protected launch_book {
 protected:
  torchtitan_book(const std::vector<launch_option>& given, const std::string& path)
      : launch_book(given, path, "", same_option::refused) {}

  /// Null where none of its names stands; refuses two.
  option find(const torchtitan_key& key) {
    option found = nullptr;
    for (const char* name : {key.name, key.older, key.oldest}) {
      const option o = name == nullptr ? nullptr : launch_book::find(name);
      if (o != nullptr && found != nullptr)
        refuse(*o, "is the older name of " + found->name + " in line " + std::to_string(found->line));
      if (o != nullptr) found = o;
    }
    return found;
  }
  /// The one value of a key; `otherwise` where it does not stand.
  std::string word(const torchtitan_key& key, const char* otherwise = "") {
    const option o = find(key);
    if (o == nullptr) return otherwise;
    if (o->values.size() != 1) refuse(*o, "expected one value");
    return o->values[0];
  }
  int number(const torchtitan_key& key, int otherwise, int least = 1) {
    word(key);
    const option o = find(key);
    return o == nullptr ? otherwise : launch_book::number(o->name.c_str(), otherwise, least);
  }
  bool flag(const torchtitan_key& key, bool otherwise = false) {
    const std::string text = word(key, otherwise ? "true" : "false");
    if (text != "true" && text != "false") refuse(*find(key), "expected true or false");
    return text == "true";
  }
  /// In the line of the first of these that stands. Precondition: one does.
  void contradict_at(std::initializer_list<torchtitan_key> keys, const std::string& why) {
    for (const torchtitan_key& key : keys)
      if (const option o = find(key)) return contradict(*o, why);
    miss(keys.begin()->name);
  }
  void leave(const torchtitan_key& key, const std::string& why = "") {
    out_.unheeded.push_back(told(*find(key)) + (why.empty() ? "" : ": " + why));
  }
  static std::string text_of(extent_t n) { return std::to_string(n); }

  /// Stops growing above what a plan may have.
  static extent_t product_of(std::initializer_list<extent_t> factors) {
    extent_t product = 1;
    for (const extent_t f : factors) product = std::min(product * f, largest_plan_number + 1);
    return product;
  }
  /// Products in fp8.
  void read_converters(bool has_experts) {
    bool experts = false;
    narrow_ = flag(torchtitan_keys::narrow);
    const option o = launch_book::find("model.converters");
    for (const std::string& list : o == nullptr ? std::vector<std::string>() : o->values)
      for (std::size_t at = 0; at <= list.size();) {
        const std::size_t end = std::min(list.find(',', at), list.size());
        std::string_view each = std::string_view(list).substr(at, end - at);
        while (each.starts_with(' ')) each.remove_prefix(1);
        at = end + 1;
        if (is_one_of(each, {"float8", "quantize.linear.float8", "quantize.dense.float8", "mx", "quantize.linear.mx"}))
          narrow_ = true;
        else if (is_one_of(each, {"quantize.grouped_mm.float8", "quantize.moe.float8", "quantize.grouped_mm.mx"}))
          experts = true;
        else if (!each.empty())
          out_.unheeded.push_back("model.converters " + std::string(each) + " (line " + std::to_string(o->line) + ")");
      }
    for (const char* name : {"float8.moe_fqns", "float8.moe_fqns_prototype", "mx.moe_fqns_prototype"})
      if (const option of = launch_book::find(name)) experts = experts || (narrow_ && !of->values.empty());
    out_.plan.formats = find_formats(narrow_ ? "fp8" : "bf16")->formats;
    if (narrow_)
      out_.notes.push_back(
          "products in fp8 are counted in bf16 on --stack fsdp2 and fsdp2_compiled, in fp8 on --stack megatron");
    if (has_experts && narrow_ != experts && (experts || o != nullptr))
      out_.unheeded.push_back(told(*o) + (experts ? ": products of experts in fp8 are counted in bf16"
                                                  : ": products of experts are counted in fp8, too"));
  }
  static bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  /// Of float8 what goes beyond products; head and routers stay in bf16 here.
  void name_narrow() {
    for (const char* section : {"float8.", "quantize.linear.float8.", "quantize.dense.float8."}) {
      for (const char* key : {"enable_fsdp_float8_all_gather", "precompute_float8_dynamic_scale_for_fsdp", "emulate",
                              "force_recompute_fp8_weight_in_bwd"}) {
        const std::string name = std::string(section) + key;
        if (flag({name.c_str()}) && narrow_) leave({name.c_str()});
      }
      const option o = launch_book::find((std::string(section) + "filter_fqns").c_str());
      if (o == nullptr || !narrow_) continue;
      if (!std::all_of(o->values.begin(), o->values.end(), [](const std::string& each) {
            return is_one_of(each, {"output", "lm_head", "router.gate", "moe.router.gate"});
          }))
        out_.unheeded.push_back(told(*o));
    }
  }

  bool narrow_ = false;  ///< products are in fp8
};

}}}  // namespace hyperparallel::v0_2::detail
