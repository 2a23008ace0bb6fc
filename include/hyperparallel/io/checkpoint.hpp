// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whole tensors of floats by name with texts and integers, as one safetensors file that other tools read. A run is kept by
// checkpoint/run_checkpoints.hpp, each rank its slices; checkpoint/load_run.hpp reads both. Its bodies need nlohmann-json
// (support/compiled.hpp); no front header includes this one.
//
// Laws: what is loaded is what was saved, bit for bit, or a conversion that was asked for; a run that is killed while
// it saves leaves the checkpoint before or the new one (safetensors.hpp). A checkpoint that differs from what is
// expected is refused before its data is read, by one line per difference. O(bytes + tensors · log tensors).

#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/io/safetensors.hpp>
#include <hyperparallel/io/tensor_entry.hpp>

namespace hyperparallel { inline namespace v0_2 {

static_assert(std::endian::native == std::endian::little, "elements lie in the file as in memory");

/// What a checkpoint's elements can be: F32 or F64.
template <class T>
concept checkpoint_element = std::same_as<T, float> || std::same_as<T, double>;

namespace detail {

template <checkpoint_element T>
inline constexpr const char* checkpoint_dtype = std::same_as<T, float> ? "F32" : "F64";

}  // namespace detail

/// A tensor to be saved; its elements are the caller's.
template <checkpoint_element T>
struct saved_tensor {
  std::string name;
  std::vector<std::int64_t> extents;
  std::span<const T> values;
};

template <checkpoint_element T>
struct loaded_tensor {
  std::string name;
  std::vector<std::int64_t> extents;
  std::vector<T> values;
};

/// What a checkpoint has to hold.
struct expected_tensor {
  std::string name;
  std::string dtype;  ///< "F32" or "F64"
  std::vector<std::int64_t> extents;
};

enum class element_conversion : unsigned char { refused, allowed };
enum class additional_tensors : unsigned char { refused, ignored };

struct load_options {
  element_conversion conversion = element_conversion::refused;  ///< between F32 and F64
  additional_tensors additional = additional_tensors::refused;  ///< those that nobody expects
};

/// A checkpoint that is whole but not the one expected: every difference on a line of its own; what() holds the first.
struct checkpoint_error : io_error {
  std::vector<std::string> differences;

  checkpoint_error(const std::string& path_, std::vector<std::string> differences_);
};

template <checkpoint_element T>
struct checkpoint {
  std::string path;                       ///< where it was loaded from
  std::vector<loaded_tensor<T>> tensors;  ///< in the order in which they were expected, otherwise of the file
  std::map<std::string, std::string> metadata;

  /// The text under `key`. Throws io_error when there is none.
  const std::string& text(const std::string& key) const {
    const auto found = metadata.find(key);
    if (found == metadata.end()) throw io_error("load", path, "the metadata have no " + quoted_path(key));
    return found->second;
  }

  /// The integer whose decimal digits are the text under `key`. Throws io_error when it is none or out of range.
  template <std::integral Integer = std::int64_t>
  Integer integer(const std::string& key) const {
    const std::string& digits = text(key);
    Integer value{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size())
      throw io_error("load", path,
                     "the metadata " + quoted_path(key) + " are no integer in range: " + quoted_path(digits));
    return value;
  }
};

/// Replaces `path` by a checkpoint; integers are saved as their decimal digits (std::to_string). Throws io_error, with
/// `path` as it was, as `write_safetensors` does.
template <checkpoint_element T>
void save_checkpoint(const std::string& path, const std::vector<saved_tensor<T>>& tensors,
                     const std::map<std::string, std::string>& metadata = {}) {
  std::vector<detail::tensor_source> sources;
  for (const saved_tensor<T>& t : tensors)
    sources.push_back({t.name, detail::checkpoint_dtype<T>, t.extents, std::as_bytes(t.values)});
  detail::write_safetensors(path, sources, metadata);
}

namespace detail {

/// How the tensors of `file` differ from those expected, one line each: expected ones in their order, then additional
/// ones. Empty when nothing differs that `options` do not allow.
std::vector<std::string> checkpoint_differences(const safetensors_file& file,
                                                const std::vector<expected_tensor>& expected,
                                                const load_options& options = {});

/// Throws checkpoint_error where elements of the tensors do not become `dtype`, by one line for each tensor.
void refuse_other_types(const safetensors_file& file, const std::vector<const tensor_entry*>& tensors,
                        const char* dtype, element_conversion conversion);

/// The elements of `t`, which are `Stored` in the file.
template <checkpoint_element Stored, checkpoint_element T>
std::vector<T> load_values(const safetensors_file& file, const tensor_entry& t) {
  std::vector<Stored> stored(static_cast<std::size_t>(t.end - t.begin) / sizeof(Stored));
  file.read(t.name, std::as_writable_bytes(std::span(stored)));
  if constexpr (std::is_same_v<Stored, T>) {
    return stored;
  } else {
    std::vector<T> values(stored.size());
    for (std::size_t i = 0; i < stored.size(); ++i) {
      if (std::isfinite(stored[i]) && std::abs(stored[i]) > Stored{std::numeric_limits<float>::max()})
        throw io_error("load", file.path(),
                       tensor_title(t.name) + ": element " + std::to_string(i) + ", " + std::to_string(stored[i]) +
                           ", is too large for " + checkpoint_dtype<T>);
      values[i] = static_cast<T>(stored[i]);
    }
    return values;
  }
}

template <checkpoint_element T>
checkpoint<T> load_tensors(const safetensors_file& file, const std::vector<const tensor_entry*>& tensors,
                           element_conversion conversion) {
  detail::refuse_other_types(file, tensors, checkpoint_dtype<T>, conversion);
  checkpoint<T> all{file.path(), {}, file.header().metadata};
  for (const tensor_entry* t : tensors)
    all.tensors.push_back(
        {t->name, t->extents, t->dtype == "F32" ? load_values<float, T>(file, *t) : load_values<double, T>(file, *t)});
  return all;
}

}  // namespace detail

/// Loads what is expected. Throws checkpoint_error when the tensors differ from those, io_error when the file is
/// damaged or cannot be read, or an F64 that is to become an F32 is too large for it.
template <checkpoint_element T>
checkpoint<T> load_checkpoint(const std::string& path, const std::vector<expected_tensor>& expected,
                              const load_options& options = {}) {
  const detail::safetensors_file file(path);
  if (std::vector<std::string> lines = detail::checkpoint_differences(file, expected, options); !lines.empty())
    throw checkpoint_error(path, std::move(lines));
  std::vector<const tensor_entry*> tensors;
  for (const expected_tensor& e : expected) tensors.push_back(file.find(e.name));
  return detail::load_tensors<T>(file, tensors, options.conversion);
}

/// Loads whatever is there. Throws as `load_checkpoint` does.
template <checkpoint_element T>
checkpoint<T> load_whole_checkpoint(const std::string& path,
                                    element_conversion conversion = element_conversion::refused) {
  const detail::safetensors_file file(path);
  std::vector<const tensor_entry*> tensors;
  for (const tensor_entry& t : file.header().tensors) tensors.push_back(&t);
  return detail::load_tensors<T>(file, tensors, conversion);
}

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED_JSON
#include <hyperparallel/io/checkpoint.ipp>
#endif
