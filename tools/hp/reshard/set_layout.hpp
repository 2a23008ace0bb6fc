// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which slice of each tensor a rank of a set of files holds.
//
//   set_layout l = parse_layout("tp=2,ep=4,pp=2", "--to");
//   l.ranks();                                              16
//   l.held("model.layers.3.mlp.down_proj.weight", {4096, 11008}, rank);     {0..4096, 5504..11008}, or nothing: of another stage
//
// A layout is a mesh of named axes with a rule for each name: a tensor map, which lists the axes along each dim. Tensors are those of
// Hugging Face, whole. The axis ep spreads experts by their number, pp layers; what has no layer lies on the first stage where it embeds
// tokens and else on the last. Along all other axes a tensor has copies.
//
// Laws: the slices of all ranks cover a tensor, and two of them are equal or disjoint. Errors: layout_error, one line.
// O(rules · name) a tensor.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "library.hpp"

namespace hp_tool::reshard {

struct layout_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct layout_axis {
  std::string name;
  std::int64_t size = 1;
  friend bool operator==(const layout_axis&, const layout_axis&) = default;
};

/// Axes along each dim, the slowest first; dims that are not listed are whole.
struct layout_rule {
  std::string tensors;  ///< a glob
  std::vector<std::vector<std::string>> map;
  friend bool operator==(const layout_rule&, const layout_rule&) = default;
};

/// The weight whose scales a tensor of this name has, NAME of NAME_scale_inv and NAME_scale; empty where it is no such name.
std::string_view weight_of_scales(std::string_view name);

std::optional<std::int64_t> layer_of(std::string_view name);

std::optional<std::int64_t> expert_of(std::string_view name);

struct set_layout {
  std::vector<layout_axis> axes;
  std::vector<layout_rule> rules;      ///< the first whose glob matches
  std::vector<std::int64_t> stages{};  ///< layers of each stage; empty: as many on each
  bool is_uneven = false;  ///< dims that axes do not divide are cut as evenly as can be; else they are refused
  std::map<std::string, std::vector<bool>, std::less<>>
      whole{};  ///< dims of tensors that each rank has whole, whatever their rule says: of scales of rows, of tensors
  friend bool operator==(const set_layout&, const set_layout&) = default;
  std::int64_t size_of(std::string_view axis) const;
  std::int64_t ranks() const;

  /// The place of a rank along an axis; the last axis is the fastest.
  std::int64_t coordinate(std::int64_t rank, std::string_view axis) const;

  /// The range of shard `i` of `n`. Precondition: n divides the extent, or is_uneven.
  static index_range shard(std::int64_t extent, std::int64_t n, std::int64_t i);

  /// The rule of a tensor, of scales and states that of what they belong to; null where none has its name.
  const layout_rule* rule_of(std::string_view tensor) const;
  /// The shards of a dim, and which of them a rank has.
  struct dim_shards {
    std::int64_t count = 1, index = 0;
  };
  dim_shards shards_of(std::string_view tensor, std::size_t dim, std::int64_t rank) const;

  /// Whether a tensor lies on a rank at all. `layers` and `experts` are those of the model; a layer's number decides its stage.
  bool holds(std::string_view tensor, std::int64_t rank, std::int64_t layers, std::int64_t experts) const;
  index_range experts_of(std::int64_t rank, std::int64_t experts) const;
  index_range layers_of(std::int64_t stage, std::int64_t layers) const;
  std::int64_t stage_of(std::string_view tensor, std::int64_t layers) const;

  /// The box of a tensor that a rank has, if it has any of it. Throws layout_error where a dim cannot be cut, or no rule names a tensor
  /// of a mesh that shards others.
  index_box slice_of(std::string_view tensor, const std::vector<std::int64_t>& extents, std::int64_t rank) const;

  /// Throws layout_error where no rule names the tensor although others are sharded, or its rule is of more dims.
  void check_rule(std::string_view tensor, std::size_t rank) const;

  /// "tp=2,pp=4", or "whole".
  std::string text() const;

 private:
  static std::string divisors_text(std::int64_t extent, std::int64_t asked);
};

}  // namespace hp_tool::reshard
