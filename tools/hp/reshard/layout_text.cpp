// SPDX-License-Identifier: Apache-2.0
// The body of layout_text.hpp.

#include "layout_text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <hyperparallel/io/json_text.hpp>

namespace hp_tool::reshard {

namespace {

/// More ranks than this are refused.
constexpr std::int64_t most_ranks = 65536;

/// The rules of decoders by names of Hugging Face.
std::vector<layout_rule> decoder_rules() {
  std::vector<layout_rule> rules;
  const auto add = [&](std::initializer_list<const char*> globs, const std::vector<std::vector<std::string>>& map) {
    for (const char* glob : globs) rules.push_back({glob, map});
  };
  add({"*norm.weight", "*norm.bias", "*_norm.*", "*.ln_?.*"}, {});
  add({"*.q_a_proj.*", "*.kv_a_proj_with_mqa.*", "*.mlp.gate.*", "*.shared_expert_gate.*", "*.block_sparse_moe.gate.*"},
      {});
  add({"*.q_proj.weight", "*.k_proj.weight", "*.v_proj.weight", "*.q_proj.bias", "*.k_proj.bias", "*.v_proj.bias"},
      {{"tp"}});
  add({"*.gate_proj.weight", "*.up_proj.weight", "*.gate_proj.bias", "*.up_proj.bias", "*.w1.weight", "*.w3.weight"},
      {{"tp"}});
  add({"*.q_b_proj.weight", "*.kv_b_proj.weight", "*embed_tokens.weight", "lm_head.weight", "*.sinks"}, {{"tp"}});
  add({"*.o_proj.weight", "*.down_proj.weight", "*.w2.weight"}, {{}, {"tp"}});
  add({"*.o_proj.bias", "*.down_proj.bias"}, {});
  return rules;
}

void check_axes(const set_layout& l, const std::string& path) {
  std::set<std::string> names;
  std::int64_t ranks = 1;
  for (const layout_axis& a : l.axes) {
    const bool good = !a.name.empty() && a.name.size() <= 32 &&
                      a.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string::npos;
    if (!good) throw io_error("read", path, "the axis " + quoted_path(a.name) + " has no name of letters");
    if (!names.insert(a.name).second) throw io_error("read", path, "the axis " + quoted_path(a.name) + " occurs twice");
    if (a.size < 1 || a.size > most_ranks || (ranks *= a.size) > most_ranks)
      throw io_error("read", path,
                     "the layout has more than " + std::to_string(most_ranks) + " ranks, or an axis of none");
  }
  for (const layout_rule& r : l.rules) {
    std::set<std::string> used;
    for (const auto& dim : r.map)
      for (const std::string& axis : dim)
        if (axis == "pp" || !used.insert(axis).second)
          throw io_error("read", path,
                         "the rule of " + quoted_path(r.tensors) + " has the axis " + quoted_path(axis) +
                             (axis == "pp" ? ", which is that of layers" : " twice"));
  }
  for (const std::int64_t n : l.stages)
    if (n < 0 || n > 1'000'000) throw io_error("read", path, "'stages' are no numbers of layers");
  if (!l.stages.empty() && static_cast<std::int64_t>(l.stages.size()) != l.size_of("pp"))
    throw io_error(
        "read", path,
        "'stages' are " + std::to_string(l.stages.size()) + " numbers, pp is " + std::to_string(l.size_of("pp")));
}

std::string text_in(const nlohmann::json& v, const std::string& path, const char* what) {
  if (!v.is_string()) throw io_error("read", path, std::string(what) + " is " + shown_json(v) + ", expected a text");
  return v.get<std::string>();
}

}  // namespace

set_layout layout_of_json(const nlohmann::json& d, const std::string& path) {
  const auto refuse = [&](const std::string& why) { throw io_error("read", path, why); };
  set_layout l;
  if (!d.is_object()) refuse("the layout is no object");
  for (const auto& [key, value] : d.items())
    if (key != "axes" && key != "rules" && key != "stages" && key != "uneven" && key != "about")
      refuse("the layout has the unknown key " + quoted_path(key) + "; known: axes, rules, stages, uneven, about");
  if (!d.contains("axes") || !d["axes"].is_array() || d["axes"].size() > 16)
    refuse("'axes' is no list of at most 16 axes");
  for (const nlohmann::json& a : d["axes"]) {
    if (!a.is_array() || a.size() != 2 || !a[1].is_number_unsigned() || a[1].get<std::uint64_t>() > most_ranks)
      refuse("the axis " + shown_json(a) + " is no [name, size]");
    l.axes.push_back({text_in(a[0], path, "the name of an axis"), a[1].get<std::int64_t>()});
  }
  if (d.contains("rules")) {
    if (!d["rules"].is_array() || d["rules"].size() > 10000) refuse("'rules' is no list of at most 10000 rules");
    for (const nlohmann::json& r : d["rules"]) {
      if (!r.is_object() || r.size() != 2 || !r.contains("tensors") || !r.contains("map") || !r["map"].is_array() ||
          r["map"].size() > 16)
        refuse("the rule " + shown_json(r) + " is no {\"tensors\": glob, \"map\": [axes of each dim]}");
      layout_rule rule{text_in(r["tensors"], path, "'tensors'"), {}};
      for (const nlohmann::json& dim : r["map"]) {
        if (!dim.is_array() || dim.size() > 16)
          refuse("the map of " + quoted_path(rule.tensors) + " has " + shown_json(dim) + ", expected a list of axes");
        rule.map.emplace_back();
        for (const nlohmann::json& axis : dim) rule.map.back().push_back(text_in(axis, path, "an axis of a map"));
      }
      l.rules.push_back(std::move(rule));
    }
  } else {
    l.rules = decoder_rules();
  }
  if (d.contains("stages")) {
    if (!d["stages"].is_array() || d["stages"].size() > static_cast<std::size_t>(most_ranks))
      refuse("'stages' is no list of numbers");
    for (const nlohmann::json& n : d["stages"]) {
      if (!n.is_number_unsigned() || n.get<std::uint64_t>() > 1'000'000) refuse("'stages' has " + shown_json(n));
      l.stages.push_back(n.get<std::int64_t>());
    }
  }
  if (d.contains("uneven")) {
    if (!d["uneven"].is_boolean()) refuse("'uneven' is true or false");
    l.is_uneven = d["uneven"].get<bool>();
  }
  check_axes(l, path);
  for (const layout_rule& r : l.rules)
    for (const auto& dim : r.map)
      for (const std::string& axis : dim)
        if (d.contains("rules") &&
            std::none_of(l.axes.begin(), l.axes.end(), [&](const layout_axis& a) { return a.name == axis; }))
          refuse("the rule of " + quoted_path(r.tensors) + " has the axis " + quoted_path(axis) +
                 ", which the mesh has not");
  return l;
}

nlohmann::json layout_json(const set_layout& l) {
  nlohmann::json axes = nlohmann::json::array(), rules = nlohmann::json::array();
  for (const layout_axis& a : l.axes) axes.push_back({a.name, a.size});
  for (const layout_rule& r : l.rules) {
    // Axes that the mesh has not are of size 1.
    nlohmann::json map = nlohmann::json::array();
    for (const auto& dim : r.map) {
      map.push_back(nlohmann::json::array());
      for (const std::string& axis : dim)
        if (std::any_of(l.axes.begin(), l.axes.end(), [&](const layout_axis& a) { return a.name == axis; }))
          map.back().push_back(axis);
    }
    rules.push_back({{"tensors", r.tensors}, {"map", std::move(map)}});
  }
  nlohmann::json d = {{"axes", std::move(axes)}, {"rules", std::move(rules)}};
  if (!l.stages.empty()) d["stages"] = l.stages;
  if (l.is_uneven) d["uneven"] = true;
  return d;
}

set_layout parse_short_layout(std::string_view text, const std::string& option) {
  set_layout l;
  l.rules = decoder_rules();
  if (text == "whole") return l;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view one = text.substr(0, comma);
    const std::size_t equals = one.find('=');
    const auto size = equals == std::string_view::npos ? std::nullopt : whole_number(one.substr(equals + 1));
    if (!size || comma == text.size() - 1)
      throw io_error(
          "read", option,
          quoted_path(one) + " is no axis with its size; expected a layout as tp=2,ep=4,pp=2, whole or a JSON file");
    l.axes.push_back({std::string(one.substr(0, equals)), *size});
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  for (const layout_axis& a : l.axes)
    if (a.name != "tp" && a.name != "ep" && a.name != "pp")
      throw io_error("read", option,
                     "the axis " + quoted_path(a.name) +
                         " has no rules of its own; known in short: tp, ep, pp; others in a JSON file");
  check_axes(l, option);
  return l;
}

}  // namespace hp_tool::reshard
