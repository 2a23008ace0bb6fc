// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files that a set of a model's tensors is to have under a layout and a map: their tensors, and where each piece goes.
//
//   one rank, names of Hugging Face        model.safetensors, or model-00001-of-00003.safetensors and so on with their index
//   Megatron-LM's map                      mp_rank_TT[_PPP][_EEE]/model.safetensors
//   others                                 rank_tp0_pp1.safetensors
//
// Laws: each tensor that is not left out goes into at least one file; a tensor of a file has all its parts. Errors: layout_error,
// view_error, one line. O(tensors · rules + tensors of all files).

#include <cstdint>
#include <string>
#include <vector>

#include "set_layout.hpp"
#include "set_view.hpp"

namespace hp_tool::reshard {

struct target_view {
  set_view view;  ///< tensors as in the source, in its order
  std::vector<set_file> files;
  std::vector<std::string> not_carried{};  ///< tensors that no rule writes
};

struct target_request {
  set_layout layout;
  layout_map map;
  numbers sizes;                              ///< completed_sizes
  std::int64_t largest_file = 5'000'000'000;  ///< bytes of tensors, of one rank's files
  bool one_file = false;                      ///< the path is that of a file
  bool is_tied = false;                       ///< the head is the table of the embedding
};

/// Which elements of each tensor are written in what type, by default those of the source.
using dtype_list = std::vector<std::string>;

target_view make_target_view(const std::vector<model_tensor>& source, const dtype_list& dtypes,
                             const target_request& r);

}  // namespace hp_tool::reshard
