// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which tensors of a model make each tensor of a framework, by the rules of a map.
//
// Laws: a tensor of the model is a part of every instance whose rule names it; instances have all parts of their rules, and stand in the
// order of their first tensors. Errors: layout_error where a part is missing. O(tensors · rules).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/checkpoint/set_view.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

/// Tensors of the model that make one tensor of the framework; of several experts where they are stacked.
struct map_instance {
  const map_rule* rule = nullptr;  ///< null: the same on both sides
  numbers captured;
  std::string before, after;  ///< of a state's name, "first_moment(" and ")"
  std::vector<std::map<std::int64_t, std::pair<std::string, std::size_t>>>
      parts;              ///< name and number of each, by its place in the stack
  std::size_t first = 0;  ///< of the model's tensors: its place in the order
};

struct map_instances {
  std::vector<map_instance> instances;
  std::vector<std::string> not_carried;  ///< tensors that no rule writes
};

namespace detail {

/// Numbers of the model's tensors by their names.
using tensor_numbers = std::map<std::string, std::size_t>;

/// Whether a rule writes these numbers: what it is to stand with is there, what it is to stand without is not.
inline bool is_written(const map_rule& rule, const numbers& captured, const numbers& sizes,
                       const tensor_numbers& names) {
  const auto is_there = [&](const name_pattern& p) {
    const auto name = p.filled(captured, sizes);
    return name && names.contains(*name);
  };
  return (!rule.with || is_there(*rule.with)) && (!rule.without || !is_there(*rule.without));
}

inline void check_parts(const map_instance& one) {
  for (std::size_t p = 0; p < one.parts.size(); ++p)
    if (one.parts[p].empty())
      throw layout_error(quoted_path(one.rule->theirs.filled(one.captured, {}).value_or(one.rule->theirs.text())) +
                         " needs " + quoted_path(one.rule->parts[p].hf.text()) + ", which the source has not");
}

inline map_instances instances_of(const tensor_numbers& names, const layout_map& map, const numbers& sizes) {
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
        if (!captured || !detail::is_written(rule, *captured, sizes, names)) continue;
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
  std::stable_sort(all.instances.begin(), all.instances.end(),
                   [](const map_instance& a, const map_instance& b) { return a.first < b.first; });
  for (const map_instance& one : all.instances) detail::check_parts(one);
  return all;
}

}  // namespace detail

}}}  // namespace hyperparallel::v0_2::reshard
