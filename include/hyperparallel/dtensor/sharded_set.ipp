// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of sharded_set.hpp; see support/compiled.hpp.

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/sharded_set.hpp>
#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY sharding_plan_error::sharding_plan_error(const sharding_plan_status& s, const std::string& key)
    : dtensor_error(std::string(name_of(s.code)) + ": " + key), status(s) {}

HYPERPARALLEL_BODY std::map<std::string, dynamic_dtensor> shard(const std::map<std::string, dynamic_dtensor>& tensors,
                                                                const dynamic_sharding_plan& plan) {
  std::vector<const char*> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name.c_str());
  detail::light_vector<plan_entry> entries;
  for (const auto& [pattern, layout] : plan) entries.push_back({plan_subject::parameter, pattern.c_str()});
  const int count = static_cast<int>(entries.size());
  const sharding_plan_status s =
      check_plan(entries.data(), count, {names.data(), static_cast<int>(names.size()), nullptr, 0});
  if (s.code != sharding_plan_code::ok) throw sharding_plan_error(s, plan[static_cast<std::size_t>(s.entry)].first);
  std::map<std::string, dynamic_dtensor> placed;
  for (const auto& [name, tensor] : tensors) {
    const int e = detail::entry_of_parameter(entries.data(), count, name.c_str());
    placed.emplace(name, e < 0 ? tensor : redistribute(tensor, plan[static_cast<std::size_t>(e)].second));
  }
  return placed;
}

}}  // namespace hyperparallel::v0_2
