// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many positions a model was made for, as its config.json says. Header-only, it needs nlohmann-json on the include path;
// no front header includes this one.
//
//   max_position_embeddings              the positions
//   rope_scaling, rope_parameters        of the types below they are extended; all other types leave them as they are:
//     yarn, linear, dynamic              factor · original_max_position_embeddings, without it · max_position_embeddings
//   max_sequence_length, model_max_length    at most these, where they stand
//   n_positions                          rows of a table of learned positions (`decoder::positions`)
//
// Of types as llama3 and longrope max_position_embeddings is what the scaling reaches, and so it is in files of gemma3_text, of
// any type. Laws: a scaling never shortens; a smaller field that stands binds. Source: modeling_rope_utils.py of
// huggingface/transformers; _get_and_verify_max_len of vllm-project/vllm.

#include <string>

#include <hyperparallel/support/integer.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// More positions are refused.
inline constexpr extent_t most_positions = extent_t{1} << 31;

struct position_limit {
  extent_t positions = 0;  ///< 0: no field says
  std::string source{};    ///< the fields that say so, with their values
  constexpr bool is_known() const { return positions > 0; }
};

namespace detail {

class config_fields;

/// Of the fields of a file of the family.
position_limit read_position_limit(config_fields& f, const std::string& family);

}  // namespace detail

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED_JSON
#include <hyperparallel/io/position_limit.ipp>
#endif
