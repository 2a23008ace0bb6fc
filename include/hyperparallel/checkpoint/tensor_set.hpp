// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tensors of a checkpoint over files, from their headers alone.
//
//   hp::reshard::tensor_set s = hp::reshard::open_tensor_set("Llama-3-8B");
//
//   one.safetensors                                  one file
//   a folder with *.safetensors.index.json           files of Hugging Face, each tensor in one of them
//   a folder with hyperparallel_set.json             files of ranks that this library wrote, with their layout
//   a folder of mp_rank_TT[_PPP[_EEE]]/              files of ranks as Megatron-LM lays them out, as safetensors
//   a folder of several .safetensors                 files of ranks in the order of their names
//
// Pickles (.pt, .bin, PyTorch DCP) are refused by name with what to export instead: to read one is to run it.
//
// Laws: what is read is the headers, no data; a set of Hugging Face has each tensor once, its index names exactly the tensors of its
// files and their bytes together; no file lies outside the folder, but for blobs of Hugging Face's cache. Errors: io_error of one line
// that names the file and, where one is concerned, the tensor. O(bytes of headers + tensors · log tensors).
// Sources: huggingface/transformers, utils/hub.py, for the index; NVIDIA/Megatron-LM, training/checkpointing.py, for folders.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <hyperparallel/checkpoint/set_file.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

struct sliced_tensor;

enum class set_form : unsigned char { whole, megatron_ranks, ranks };

struct tensor_set {
  std::string path;
  set_form form = set_form::whole;
  std::vector<set_file> files;
  nlohmann::json manifest{};  ///< null where there is none
};

namespace detail {

/// The path of a regular file that is beside a set's, empty where there is none. Throws io_error where it is outside.
std::string path_beside(const std::filesystem::path& folder, const std::string& name);

/// The tensors that an index names, each with its file, and the bytes that it says; 0 where it says none.
struct set_index {
  std::map<std::string, std::string> file_of;
  std::int64_t bytes = 0;
};

set_index parse_set_index(const nlohmann::json& d, const std::string& path);

/// The list "tensors" of a manifest (tensor_slices.hpp).
nlohmann::json slices_json(const std::vector<sliced_tensor>& all);

tensor_set open_tensor_set(const std::string& path);

}  // namespace detail

}}}  // namespace hyperparallel::v0_2::reshard

#ifndef HYPERPARALLEL_COMPILED_JSON
#include <hyperparallel/checkpoint/tensor_set.ipp>
#endif
