// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of tensors with numbers in them, and lists of names with stars.
//
//   "model.layers.{layer}.mlp.experts.{expert}.up_proj.weight"    each {…} is a number
//   "model.layers.{layer+dense_layers}.mlp.gate.weight"           the number of the name is `layer` and the size together
//   "dense_layers.{layer<dense_layers}.attention.query.weight"    the number is below the size
//   "*.self_attn.q_proj.*"                                        a glob: a star is any text
//
// Laws: what `filled` writes, `matched` reads back as the same numbers; a name matches a pattern in one way at most, as numbers are
// digits without a leading zero and a text never begins with a digit behind one. Errors: std::invalid_argument of a pattern that is
// none. O(length).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

/// Numbers by name: of a name's captures, of a model's sizes.
using numbers = std::map<std::string, std::int64_t, std::less<>>;

namespace detail {

/// Whether the text is the glob, whose stars are any texts. O(text · stars).
bool is_glob_of(std::string_view glob, std::string_view text);

/// Digits of a whole number below 2^62, without a leading zero.
std::optional<std::int64_t> whole_number(std::string_view text);

/// "first_moment(", "NAME", ")" of "first_moment(NAME)", which names a state of the tensor NAME; of another name itself alone.
struct state_name {
  std::string_view before, tensor, after;

  explicit state_name(std::string_view name);
  bool is_state() const { return !after.empty(); }
  /// The same state of another tensor.
  std::string of(std::string_view other) const { return std::string(before) + std::string(other) + std::string(after); }
};

}  // namespace detail

class name_pattern {
 public:
  name_pattern() = default;
  explicit name_pattern(std::string text);

  const std::string& text() const { return text_; }

  /// Whether a number of this name stands in the pattern.
  bool has(std::string_view number) const;

  /// The numbers of a name, or nothing where it is no such name.
  std::optional<numbers> matched(std::string_view name, const numbers& sizes) const;

  /// The name with these numbers; nothing where one is missing or beyond its bound.
  std::optional<std::string> filled(const numbers& with, const numbers& sizes) const;

 private:
  struct part {
    std::string text, number, added, below, least;  ///< a text, then a number where it has a name
  };

  /// "layer", "layer+size", "layer<size", "layer>=size".
  void read_number(part& p, std::string_view text);

  static std::int64_t size_of(const std::string& name, const numbers& sizes, std::int64_t otherwise);

  std::string text_;
  std::vector<part> parts_;
};

}}}  // namespace hyperparallel::v0_2::reshard

#ifndef HYPERPARALLEL_COMPILED_JSON
#include <hyperparallel/checkpoint/name_pattern.ipp>
#endif
