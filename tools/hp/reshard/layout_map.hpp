// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the tensors of a framework are made of those of Hugging Face: names, joined and stacked tensors, orders of rows.
//
//   {"rules": [{"theirs": "decoder.layers.{layer}.self_attention.linear_qkv.weight", "is": "(g c d) i", "join": "c",
//               "of": [{"hf": "model.layers.{layer}.self_attn.q_proj.weight", "view": "(g c d) i", "extent": "group_heads"},
//                      {"hf": "model.layers.{layer}.self_attn.k_proj.weight", "view": "(g c d) i"},
//                      {"hf": "model.layers.{layer}.self_attn.v_proj.weight", "view": "(g c d) i"}]}]}
//
// A rule holds in both directions: it reads a set of the framework, and writes one. The language is in
// docs/reference/checkpoint-maps.md. Names of extents that `sizes` has are the same on every rank; what is left of a dim is found from
// a tensor's extents.
//
// Laws: each name of a rule's view stands in the view of each of its parts, but for a number of the part's name, along which parts are
// stacked. Errors: io_error of one line that names the file and the rule. O(bytes).

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tensor_view.hpp"

namespace hp_tool::reshard {

/// A sum of products of whole numbers and sizes, "nope_dim+2*rope_dim".
struct size_text {
  std::string text = "1";

  /// Nothing where a size is not known or the number does not fit.
  std::optional<std::int64_t> value(const numbers& sizes) const;
};

/// A tensor of Hugging Face within one of the framework.
struct map_part {
  name_pattern hf;
  tensor_view view;                     ///< of the Hugging Face tensor; empty: one name a dim
  size_text extent{};                   ///< of the joined name
  std::string taken{};                  ///< a name of which a part alone is meant, from `from` on, of `of` in all
  size_text from{"0"}, of{"1"};         ///< of the taken name
  std::vector<std::string> taken_as{};  ///< names of the part that is taken, outermost first
};

struct map_rule {
  name_pattern theirs;
  tensor_view is;  ///< empty: as the Hugging Face tensor
  std::string
      join;  ///< the name along which the parts follow each other; empty: there is one part, or they are stacked
  std::vector<map_part> parts;
  std::optional<size_text> rows_multiple{};  ///< rows are padded with zeros to a multiple of it
  std::optional<name_pattern> with{},
      without{};                         ///< Hugging Face tensors that are there, or are not, where the rule writes
  std::optional<name_pattern> beside{};  ///< a tensor of the framework that is there where the rule reads
  bool reads_only = false;
  bool is_cut_joined = false;  ///< ranks have slices of the joined tensor, not joined slices of the parts

  /// The number of the parts' names along which they are stacked; empty where they are not.
  std::string stacked() const;
};

struct layout_map {
  std::string name;
  std::vector<map_rule> rules;
  std::set<std::string> local;  ///< numbers that begin at 0 on every rank: "layer", "expert"
  bool keeps_others = false;    ///< a tensor without a rule has the same name on both sides
  std::string head,
      head_tied_to;  ///< a Hugging Face tensor, and the one that stands for it where it is missing and the rules write it
  std::string text;  ///< the JSON
};

/// The map that a JSON text is, of the file `path`.
layout_map parse_layout_map(std::string_view text, const std::string& path);

}  // namespace hp_tool::reshard
