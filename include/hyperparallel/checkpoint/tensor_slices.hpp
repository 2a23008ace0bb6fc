// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors of a set that are in slices of any boxes, as a run leaves them: the list "tensors" of a manifest.
//
//   {"format": "hyperparallel.set.1", "files": ["rank_00000.safetensors", …],
//    "tensors": {"NAME": {"dtype": "F32", "extents": [4, 8], "slices": [[0, [[0, 2], [0, 8]]], [1, [[2, 4], [0, 8]]]]}}}
//
// A slice is the number of a file in "files" and a range along each dim; the tensor of that name in the file has the slice, row-major.
// A file of whole tensors is the case of one slice each.
//
// Laws: the slices of a tensor are disjoint and cover it; each is in its file with its extents and type, and no file has a tensor that the
// list has not. Errors: io_error of one line that names file and tensor. O(tensors · slices²) at most, of slices that are sorted along
// the first dim that cuts them. Its bodies need nlohmann-json.

#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/checkpoint/set_file.hpp>
#include <hyperparallel/checkpoint/strided_box.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

struct tensor_slice {
  int file = 0, tensor = -1;  ///< of the set; the place of the tensor in its file
  index_box box;
};

struct sliced_tensor {
  std::string name, dtype;
  std::vector<std::int64_t> extents;
  std::vector<tensor_slice> slices;
};

namespace detail {

/// The key of the identifier of a set, in its manifest and in the headers of its files.
inline constexpr const char* set_key = "set";

/// Whether the manifest of a set lists slices.
bool lists_slices(const tensor_set& s);

/// The tensors of a set that lists slices, or of whole ones. Throws io_error, also for files of ranks with a layout.
std::vector<sliced_tensor> slices_of(const tensor_set& s);

}  // namespace detail

}}}  // namespace hyperparallel::v0_2::reshard

#ifndef HYPERPARALLEL_COMPILED_JSON
#include <hyperparallel/checkpoint/tensor_slices.ipp>
#endif
