// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of tensor_set.hpp; see support/compiled.hpp.

#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <hyperparallel/checkpoint/strided_box.hpp>
#include <hyperparallel/checkpoint/tensor_set.hpp>
#include <hyperparallel/checkpoint/tensor_slices.hpp>
#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/io/json_text.hpp>
#include <hyperparallel/io/safetensors.hpp>
#include <hyperparallel/io/tensor_entry.hpp>
#include <hyperparallel/io/text_file.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard { namespace detail {

/// Longer indexes and manifests are refused.
inline constexpr std::int64_t largest_set_index = 100'000'000;

namespace fs = std::filesystem;

HYPERPARALLEL_JSON_BODY set_file open_set_file(const std::string& path, const std::string& name) {
  const hyperparallel::detail::safetensors_file file(path);
  set_file f{path, name, file.data_begin(), file.header().tensors, file.checksums(), 0, 0, file.header().metadata};
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) throw io_error("read", path, errno);
  f.bytes = found.st_size;
  f.changed = std::int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec;
  return f;
}

/// Refuses a file that is a pickle, or leads to some.
HYPERPARALLEL_JSON_BODY void refuse_pickle(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  const auto ends = [&](const char* end) { return name.ends_with(end); };
  if (name == ".metadata" || ends(".distcp"))
    throw io_error(
        "read", path,
        "a checkpoint of torch.distributed.checkpoint, whose metadata is a pickle; load it in PyTorch and save it with "
        "safetensors.torch.save_file, or write it with HuggingFaceStorageWriter");
  if (ends(".pt") || ends(".pth") || ends(".bin") || ends(".ckpt") || ends(".pkl"))
    throw io_error(
        "read", path,
        "a pickle, which is not read as to read it is to run it; load it in PyTorch with weights_only=True and save it "
        "with safetensors.torch.save_file");
}

/// The path of a file that a text of the folder names. Throws io_error, as of reading `source`, where it is outside.
HYPERPARALLEL_JSON_BODY std::string path_within(const fs::path& folder, const std::string& name,
                                                const std::string& source) {
  const fs::path relative(name);
  bool inside = !name.empty() && relative.is_relative() && name.find('\0') == std::string::npos &&
                name.find('\\') == std::string::npos;
  for (const fs::path& part : relative) inside = inside && part != ".." && part != ".";
  if (!inside)
    throw io_error("read", source, "it names the file " + quoted_path(name) + ", which lies outside the folder");
  refuse_pickle((folder / relative).string());
  std::error_code error;
  const fs::path real = fs::canonical(folder / relative, error);
  if (error) throw io_error("read", (folder / relative).string(), error.value());
  const fs::path root = fs::canonical(folder, error);
  if (error) throw io_error("read", folder.string(), error.value());
  const fs::path from_root = real.lexically_relative(root);
  // Snapshots of Hugging Face's cache are links to ../../blobs.
  const bool is_blob = real.parent_path().filename() == "blobs" && root.parent_path().filename() == "snapshots" &&
                       real.parent_path().parent_path() == root.parent_path().parent_path();
  if ((from_root.empty() || *from_root.begin() == "..") && !is_blob)
    throw io_error("read", source, "its file " + quoted_path(name) + " is a link that leads outside the folder");
  return (folder / relative).string();
}

HYPERPARALLEL_JSON_BODY std::string path_beside(const fs::path& folder, const std::string& name) {
  std::error_code error;
  if (!fs::is_regular_file(folder / name, error)) return "";
  return path_within(folder / ".", name, folder.string());
}

HYPERPARALLEL_JSON_BODY nlohmann::json read_set_json(const std::string& path, const char* subject) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error))
    throw io_error("read", path, "it is no regular file");
  const std::vector<unsigned char> bytes = read_bytes(path, {empty_file::refused, largest_set_index});
  return parse_json_object({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path, subject, 16);
}

HYPERPARALLEL_JSON_BODY set_index parse_set_index(const nlohmann::json& d, const std::string& path) {
  if (!d.contains("weight_map") || !d["weight_map"].is_object())
    throw io_error("read", path, "the index has no object 'weight_map'");
  set_index index;
  for (const auto& [tensor, file] : d["weight_map"].items()) {
    if (!file.is_string())
      throw io_error("read", path,
                     detail::tensor_title(tensor) + " is in " + shown_json(file) + ", which is no name of a file");
    index.file_of[tensor] = file.get<std::string>();
  }
  if (d.contains("metadata") && d["metadata"].is_object() && d["metadata"].contains("total_size")) {
    const nlohmann::json& total = d["metadata"]["total_size"];
    const bool is_count = total.is_number() && total.get<double>() >= 0 && total.get<double>() <= 0x1p62;
    if (!is_count)
      throw io_error("read", path, "'total_size' is " + shown_json(total) + ", which is no number of bytes");
    index.bytes = static_cast<std::int64_t>(total.get<double>());
    if (total.is_number_integer()) index.bytes = total.get<std::int64_t>();
  }
  return index;
}

HYPERPARALLEL_JSON_BODY void open_indexed(tensor_set& s, const fs::path& folder, const std::string& path) {
  const set_index index = parse_set_index(read_set_json(path, "the index"), path);
  std::map<std::string, std::size_t> place;
  for (const auto& [tensor, name] : index.file_of)
    if (place.emplace(name, 0).second) path_within(folder, name, path);
  for (auto& [name, at] : place) {
    at = s.files.size();
    s.files.push_back(open_set_file(path_within(folder, name, path), name));
  }
  std::map<std::string_view, const set_file*> holder;
  std::int64_t bytes = 0;
  for (const set_file& f : s.files)
    for (const tensor_entry& t : f.tensors) {
      if (const auto [before, is_new] = holder.emplace(t.name, &f); !is_new)
        throw io_error("read", f.path,
                       detail::tensor_title(t.name) + " is in " + quoted_path(before->second->name) + ", too");
      const auto named = index.file_of.find(t.name);
      if (named == index.file_of.end())
        throw io_error("read", path,
                       detail::tensor_title(t.name) + " of " + quoted_path(f.name) + " is not in the index");
      if (named->second != f.name)
        throw io_error("read", path,
                       detail::tensor_title(t.name) + " is said to be in " + quoted_path(named->second) +
                           ", it is in " + quoted_path(f.name));
      bytes += t.end - t.begin;
    }
  for (const auto& [tensor, name] : index.file_of)
    if (!holder.contains(tensor))
      throw io_error("read", path,
                     detail::tensor_title(tensor) + " is said to be in " + quoted_path(name) + ", which lacks it");
  if (index.bytes != 0 && index.bytes != bytes)
    throw io_error(
        "read", path,
        "'total_size' is " + std::to_string(index.bytes) + " bytes, the tensors have " + std::to_string(bytes));
}

HYPERPARALLEL_JSON_BODY void open_manifest(tensor_set& s, const fs::path& folder, const std::string& path) {
  s.manifest = read_set_json(path, "the manifest");
  if (!s.manifest.contains("files") || !s.manifest["files"].is_array() || s.manifest["files"].empty() ||
      s.manifest["files"].size() > 65536)
    throw io_error("read", path, "the manifest has no list 'files'");
  s.form = set_form::ranks;
  for (const nlohmann::json& name : s.manifest["files"]) {
    if (!name.is_string())
      throw io_error("read", path, "'files' has " + shown_json(name) + ", which is no name of a file");
    const std::string file = path_within(folder, name.get<std::string>(), path);
    s.files.push_back(open_set_file(file, name.get<std::string>()));
  }
}

/// The first name that ends so, or none.
HYPERPARALLEL_JSON_BODY std::string first_that_ends(const std::vector<std::string>& names, std::string_view end) {
  for (const std::string& n : names)
    if (n.ends_with(end)) return n;
  return {};
}

/// The one file in the folder `rank` of `folder`, which belongs to the set at `path`.
HYPERPARALLEL_JSON_BODY set_file open_rank_folder(const fs::path& folder, const std::string& rank,
                                                  const std::string& path) {
  const std::string inside = (folder / rank).string();
  std::error_code error;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(inside, error)) names.push_back(entry.path().filename().string());
  if (error) throw io_error("read", inside, error.value());
  std::sort(names.begin(), names.end());
  const std::string file = first_that_ends(names, ".safetensors");
  const auto is_one = [](const std::string& n) { return n.ends_with(".safetensors"); };
  if (std::count_if(names.begin(), names.end(), is_one) > 1)
    throw io_error("read", inside, "there are several .safetensors files of one rank");
  if (file.empty()) {
    for (const std::string& n : names) refuse_pickle((folder / rank / n).string());
    throw io_error("read", inside, "there is no .safetensors file");
  }
  const std::string name = rank + "/" + file;
  return open_set_file(path_within(folder, name, path), name);
}

HYPERPARALLEL_JSON_BODY nlohmann::json slices_json(const std::vector<sliced_tensor>& all) {
  nlohmann::json d = nlohmann::json::object();
  for (const sliced_tensor& t : all) {
    nlohmann::json slices = nlohmann::json::array();
    for (const tensor_slice& s : t.slices) {
      nlohmann::json box = nlohmann::json::array();
      for (const index_range& r : s.box) box.push_back({r.begin, r.end});
      slices.push_back({s.file, std::move(box)});
    }
    d[t.name] = {{"dtype", t.dtype}, {"extents", t.extents}, {"slices", std::move(slices)}};
  }
  return d;
}

HYPERPARALLEL_JSON_BODY tensor_set open_tensor_set(const std::string& path) {
  namespace fs = std::filesystem;
  tensor_set s;
  s.path = path;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    detail::refuse_pickle(path);
    if (path.ends_with(".index.json")) {
      detail::open_indexed(s, fs::path(path).parent_path() / ".", path);
      return s;
    }
    s.files.push_back(detail::open_set_file(path, fs::path(path).filename().string()));
    return s;
  }
  const fs::path folder(path);
  const auto within = [&](const std::string& name) { return detail::path_within(folder, name, path); };
  std::vector<std::string> names, folders;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    (at->is_directory(error) ? folders : names).push_back(at->path().filename().string());
  if (error) throw io_error("read", path, error.value());
  std::sort(names.begin(), names.end());
  std::sort(folders.begin(), folders.end());
  if (std::find(names.begin(), names.end(), set_manifest) != names.end()) {
    detail::open_manifest(s, folder, within(set_manifest));
    return s;
  }
  if (const std::string index = detail::first_that_ends(names, ".safetensors.index.json"); !index.empty()) {
    detail::open_indexed(s, folder, within(index));
    return s;
  }
  for (const std::string& f : folders) {
    if (!f.starts_with("mp_rank_")) continue;
    s.form = set_form::megatron_ranks;
    s.files.push_back(detail::open_rank_folder(folder, f, path));
  }
  if (!s.files.empty()) return s;
  for (const std::string& n : names)
    if (n.ends_with(".safetensors")) s.files.push_back(detail::open_set_file(within(n), n));
  if (s.files.size() > 1) s.form = set_form::ranks;
  if (!s.files.empty()) return s;
  for (const std::string& n : names) detail::refuse_pickle((folder / n).string());
  throw io_error("read", path, "there is no .safetensors file and no index");
}

}}}}  // namespace hyperparallel::v0_2::reshard::detail
