// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of checkpoint.hpp; see support/compiled.hpp.

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <hyperparallel/io/checkpoint.hpp>
#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/io/safetensors.hpp>
#include <hyperparallel/io/tensor_entry.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// What is shown of several differences.
inline std::string first_of_differences(const std::vector<std::string>& lines) {
  if (lines.size() == 1) return lines.front();
  return lines.front() + " (the first of " + std::to_string(lines.size()) + " differences)";
}

}  // namespace detail

HYPERPARALLEL_JSON_BODY checkpoint_error::checkpoint_error(const std::string& path_,
                                                           std::vector<std::string> differences_)
    : io_error("load", path_, detail::first_of_differences(differences_)), differences(std::move(differences_)) {}

namespace detail {

HYPERPARALLEL_JSON_BODY std::vector<std::string> checkpoint_differences(const safetensors_file& file,
                                                                        const std::vector<expected_tensor>& expected,
                                                                        const load_options& options) {
  const auto convertible = [](const std::string& dtype) { return dtype == "F32" || dtype == "F64"; };
  std::vector<std::string> lines;
  std::set<std::string_view> names;
  for (const expected_tensor& e : expected) {
    const std::string wanted = typed_extents(e.dtype, e.extents);
    const tensor_entry* const found = file.find(e.name);
    if (!names.insert(e.name).second)
      lines.push_back(tensor_title(e.name) + ", " + wanted + ", is expected twice");
    else if (found == nullptr)
      lines.push_back(tensor_title(e.name) + ", " + wanted + ", is missing");
    else if (found->extents != e.extents)
      lines.push_back(tensor_title(e.name) + " is " + typed_extents(found->dtype, found->extents) + ", expected is " +
                      wanted);
    else if (found->dtype != e.dtype &&
             (options.conversion == element_conversion::refused || !convertible(found->dtype) || !convertible(e.dtype)))
      lines.push_back(tensor_title(e.name) + " is " + typed_extents(found->dtype, found->extents) + ", expected is " +
                      wanted +
                      (convertible(found->dtype) && convertible(e.dtype) ? "; no conversion was asked for" : ""));
  }
  if (options.additional == additional_tensors::refused)
    for (const tensor_entry& t : file.header().tensors)
      if (!names.contains(t.name))
        lines.push_back(tensor_title(t.name) + ", " + typed_extents(t.dtype, t.extents) + ", is not expected");
  return lines;
}

HYPERPARALLEL_JSON_BODY void refuse_other_types(const safetensors_file& file,
                                                const std::vector<const tensor_entry*>& tensors, const char* dtype,
                                                element_conversion conversion) {
  std::vector<std::string> lines;
  for (const tensor_entry* t : tensors) {
    const bool known = t->dtype == "F32" || t->dtype == "F64";
    if (t->dtype == dtype || (known && conversion == element_conversion::allowed)) continue;
    lines.push_back(tensor_title(t->name) + " is " + typed_extents(t->dtype, t->extents) + ", elements are loaded as " +
                    dtype + (known ? "; no conversion was asked for" : ""));
  }
  if (!lines.empty()) throw checkpoint_error(file.path(), std::move(lines));
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
