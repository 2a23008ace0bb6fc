// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of set_file.hpp; see support/compiled.hpp.

#include <cstdint>
#include <vector>

#include <hyperparallel/checkpoint/set_file.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard { namespace detail {

HYPERPARALLEL_JSON_BODY std::vector<std::int64_t> bytes_of_tensors(const set_file& f) {
  std::vector<std::int64_t> bytes;
  for (const tensor_entry& t : f.tensors) bytes.push_back(t.end - t.begin);
  return bytes;
}

}}}}  // namespace hyperparallel::v0_2::reshard::detail
