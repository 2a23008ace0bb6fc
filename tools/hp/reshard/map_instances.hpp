// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which tensors of a model make each tensor of a framework, by the rules of a map.
//
// Laws: a tensor of the model is a part of every instance whose rule names it; instances have all parts of their rules, and stand in the
// order of their first tensors. Errors: layout_error where a part is missing. O(tensors · rules).

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "layout_map.hpp"

namespace hp_tool::reshard {

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

/// Numbers of the model's tensors by their names.
using tensor_numbers = std::map<std::string, std::size_t>;

/// Whether a rule writes these numbers: what it is to stand with is there, what it is to stand without is not.
bool is_written(const map_rule& rule, const numbers& captured, const numbers& sizes, const tensor_numbers& names);

map_instances instances_of(const tensor_numbers& names, const layout_map& map, const numbers& sizes);

}  // namespace hp_tool::reshard
