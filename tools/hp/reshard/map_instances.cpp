// SPDX-License-Identifier: Apache-2.0
// The body of map_instances.hpp.

#include "map_instances.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "set_layout.hpp"

namespace hp_tool::reshard {

namespace {

void check_parts(const map_instance& one) {
  for (std::size_t p = 0; p < one.parts.size(); ++p)
    if (one.parts[p].empty())
      throw layout_error(quoted_path(one.rule->theirs.filled(one.captured, {}).value_or(one.rule->theirs.text())) +
                         " needs " + quoted_path(one.rule->parts[p].hf.text()) + ", which the source has not");
}

}  // namespace

bool is_written(const map_rule& rule, const numbers& captured, const numbers& sizes, const tensor_numbers& names) {
  const auto is_there = [&](const name_pattern& p) {
    const auto name = p.filled(captured, sizes);
    return name && names.contains(*name);
  };
  return (!rule.with || is_there(*rule.with)) && (!rule.without || !is_there(*rule.without));
}

map_instances instances_of(const tensor_numbers& names, const layout_map& map, const numbers& sizes) {
  map_instances all;
  std::map<std::pair<std::size_t, std::string>, std::size_t> place;  // by rule and name
  for (const auto& [name, number] : names) {
    bool is_read = false;
    const state_name state(name);
    for (std::size_t i = 0; i < map.rules.size(); ++i) {
      const map_rule& rule = map.rules[i];
      if (rule.reads_only) continue;
      const std::string stacked = rule.stacked();
      for (std::size_t p = 0; p < rule.parts.size(); ++p) {
        auto captured = rule.parts[p].hf.matched(state.tensor, sizes);
        if (!captured || !is_written(rule, *captured, sizes, names)) continue;
        const std::int64_t at = stacked.empty() ? 0 : captured->find(stacked)->second;
        if (!stacked.empty()) captured->erase(stacked);
        const std::string key = state.of(rule.theirs.filled(*captured, {}).value_or(""));
        const auto [found, is_new] = place.emplace(std::pair(i, key), all.instances.size());
        if (is_new)
          all.instances.push_back({&rule, *captured, std::string(state.before), std::string(state.after), {}, number});
        map_instance& one = all.instances[found->second];
        one.parts.resize(rule.parts.size());
        one.parts[p][at] = {name, number};
        one.first = std::min(one.first, number);
        is_read = true;
      }
    }
    if (is_read) continue;
    if (map.keeps_others)
      all.instances.push_back({nullptr, {}, "", "", {{{0, {name, number}}}}, number});
    else
      all.not_carried.push_back(name);
  }
  std::multimap<std::size_t, map_instance> in_order;  // of one place as they were found
  for (map_instance& one : all.instances) in_order.emplace(one.first, std::move(one));
  all.instances.clear();
  for (auto& [first, one] : in_order) all.instances.push_back(std::move(one));
  for (const map_instance& one : all.instances) check_parts(one);
  return all;
}

}  // namespace hp_tool::reshard
