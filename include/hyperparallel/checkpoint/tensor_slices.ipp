// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of tensor_slices.hpp; see support/compiled.hpp.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <hyperparallel/checkpoint/tensor_set.hpp>
#include <hyperparallel/checkpoint/tensor_slices.hpp>
#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/io/json_text.hpp>
#include <hyperparallel/io/tensor_entry.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/support/integer.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard { namespace detail {

/// Dims of a tensor in a manifest, at most.
inline constexpr std::size_t most_slice_dims = 16;

/// Reads the list of a manifest and holds it against the headers of the files.
class slice_reader {
 public:
  explicit slice_reader(const tensor_set& s) : s_(s), path_(s.path + "/" + set_manifest) {
    for (const set_file& f : s.files) {
      places_.emplace_back();
      for (std::size_t t = 0; t < f.tensors.size(); ++t) places_.back()[f.tensors[t].name] = static_cast<int>(t);
    }
  }

  std::vector<sliced_tensor> read() {
    check_set();
    const nlohmann::json& list = s_.manifest["tensors"];
    if (!list.is_object()) throw io_error("read", path_, "'tensors' is no object");
    std::vector<sliced_tensor> all;
    std::size_t used = 0, there = 0;
    for (const auto& [name, d] : list.items()) {
      all.push_back(tensor_of(name, d));
      used += all.back().slices.size();
    }
    for (const set_file& f : s_.files) {
      there += f.tensors.size();
      for (const tensor_entry& t : f.tensors)
        if (!list.contains(t.name))
          throw io_error("read", f.path, detail::tensor_title(t.name) + " is not in the manifest");
    }
    if (used != there)
      throw io_error("read", path_,
                     "the manifest has " + std::to_string(used) + " slices, the files have " + std::to_string(there));
    return all;
  }

 private:
  [[noreturn]] void refuse(const std::string& name, const std::string& why) const {
    throw io_error("read", path_, detail::tensor_title(name) + " " + why);
  }
  /// Files of another set than that of the manifest are refused.
  void check_set() const {
    if (!s_.manifest.contains("set")) return;
    const nlohmann::json& set = s_.manifest["set"];
    for (const set_file& f : s_.files) {
      const auto found = f.metadata.find(set_key);
      if (!set.is_string() || found == f.metadata.end() || found->second != set.get<std::string>())
        throw io_error("read", f.path, "it is not of the set that the manifest is of");
    }
  }
  static bool is_count(const nlohmann::json& d) {
    return d.is_number_unsigned() && d.get<std::uint64_t>() <= std::uint64_t{1} << 46;
  }

  sliced_tensor tensor_of(const std::string& name, const nlohmann::json& d) const {
    const bool is_whole = d.is_object() && d.contains("dtype") && d["dtype"].is_string() && d.contains("extents") &&
                          d["extents"].is_array() && d["extents"].size() <= most_slice_dims && d.contains("slices") &&
                          d["slices"].is_array() && !d["slices"].empty();
    if (!is_whole) refuse(name, "has no 'dtype', 'extents' and 'slices'");
    sliced_tensor t{name, d["dtype"].get<std::string>(), {}, {}};
    if (hyperparallel::detail::dtype_bits(t.dtype) == 0) refuse(name, "has the unknown dtype " + quoted_path(t.dtype));
    for (const nlohmann::json& e : d["extents"]) {
      if (!is_count(e)) refuse(name, "has the extent " + shown_json(e));
      t.extents.push_back(e.get<std::int64_t>());
    }
    for (const nlohmann::json& s : d["slices"]) t.slices.push_back(slice_of(t, s));
    check_cover(t);
    return t;
  }

  tensor_slice slice_of(const sliced_tensor& t, const nlohmann::json& d) const {
    if (!d.is_array() || d.size() != 2 || !is_count(d[0]) || d[0].get<std::uint64_t>() >= s_.files.size() ||
        !d[1].is_array() || d[1].size() != t.extents.size())
      refuse(t.name, "has the slice " + shown_json(d) + ", expected [file, [[begin, end] of each dim]]");
    tensor_slice s{d[0].get<int>(), -1, {}};
    for (std::size_t i = 0; i < d[1].size(); ++i) {
      const nlohmann::json& r = d[1][i];
      if (!r.is_array() || r.size() != 2 || !is_count(r[0]) || !is_count(r[1]) || r[0] > r[1] ||
          r[1].get<std::int64_t>() > t.extents[i])
        refuse(t.name, "has the range " + shown_json(r) + " of dim " + std::to_string(i));
      s.box.push_back({r[0].get<std::int64_t>(), r[1].get<std::int64_t>()});
    }
    const auto file = static_cast<std::size_t>(s.file);
    const auto found = places_[file].find(t.name);
    if (found == places_[file].end())
      throw io_error("read", s_.files[file].path, detail::tensor_title(t.name) + " is missing");
    s.tensor = found->second;
    const tensor_entry& e = s_.files[file].tensors[static_cast<std::size_t>(s.tensor)];
    if (e.dtype != t.dtype || e.extents != extents_of_box(s.box))
      throw io_error("read", s_.files[file].path,
                     detail::tensor_title(t.name) + " is " + hyperparallel::detail::typed_extents(e.dtype, e.extents) +
                         ", by the manifest " + hyperparallel::detail::typed_extents(t.dtype, extents_of_box(s.box)));
    return s;
  }

  void check_cover(const sliced_tensor& t) const {
    std::int64_t whole = 1, sum = 0;
    for (const std::int64_t e : t.extents) {
      const checked_extent longer = checked_multiply(whole, e);
      if (longer.overflow) refuse(t.name, "has more elements than 64 bits count");
      whole = longer.value;
    }
    std::vector<index_box> boxes;
    std::vector<int> files;
    for (const tensor_slice& one : t.slices) {
      sum += volume_of(one.box);
      if (volume_of(one.box) == 0) continue;
      boxes.push_back(one.box);
      files.push_back(one.file);
    }
    if (sum != whole) refuse(t.name, "has " + std::to_string(whole) + " elements, its slices " + std::to_string(sum));
    if (const auto two = overlap_in(boxes))
      refuse(t.name, "has slices of files " + std::to_string(files[two->first]) + " and " +
                         std::to_string(files[two->second]) + " that overlap");
  }

  const tensor_set& s_;
  std::string path_;
  std::vector<std::map<std::string, int, std::less<>>> places_;  ///< of the tensors of each file
};

HYPERPARALLEL_JSON_BODY bool lists_slices(const tensor_set& s) {
  return s.manifest.is_object() && s.manifest.contains("tensors");
}

HYPERPARALLEL_JSON_BODY std::vector<sliced_tensor> slices_of(const tensor_set& s) {
  if (lists_slices(s)) return detail::slice_reader(s).read();
  if (s.form != set_form::whole)
    throw io_error("read", s.path,
                   "its ranks have slices of a layout; 'hp reshard SRC DST --to-map ours' makes whole tensors of them");
  std::vector<sliced_tensor> all;
  for (std::size_t f = 0; f < s.files.size(); ++f)
    for (std::size_t t = 0; t < s.files[f].tensors.size(); ++t) {
      const tensor_entry& e = s.files[f].tensors[t];
      all.push_back({e.name, e.dtype, e.extents, {{static_cast<int>(f), static_cast<int>(t), whole_box(e.extents)}}});
    }
  return all;
}

}}}}  // namespace hyperparallel::v0_2::reshard::detail
