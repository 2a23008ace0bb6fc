// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file of a set of tensors: what its header says.
//
// Laws: tensors stand in the order of the header. `bytes_of_tensors` is O(tensors).

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <hyperparallel/io/tensor_entry.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

struct tensor_set;

struct set_file {
  std::string path;
  std::string name;  ///< within the folder
  std::int64_t data_begin = 0;
  std::vector<tensor_entry> tensors;
  std::vector<std::string> checksums;             ///< of the tensors; empty: the file has none
  std::int64_t bytes = 0, changed = 0;            ///< of the file; when it was written, in nanoseconds
  std::map<std::string, std::string> metadata{};  ///< texts of the header, checksums left out
};

namespace detail {

using hyperparallel::detail::tensor_title;

std::vector<std::int64_t> bytes_of_tensors(const set_file& f);

/// The name of what `hp reshard` writes beside files of ranks.
inline constexpr const char* set_manifest = "hyperparallel_set.json";

}  // namespace detail

}}}  // namespace hyperparallel::v0_2::reshard

#ifndef HYPERPARALLEL_COMPILED_JSON
#include <hyperparallel/checkpoint/set_file.ipp>
#endif
