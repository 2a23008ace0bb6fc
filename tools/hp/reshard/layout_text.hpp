// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layouts of sets in short and as JSON.
//
//   whole                     one rank
//   tp=2,ep=4,pp=2            a mesh; the last axis is the fastest; tensors by the rules below
//   {"axes": [["pp", 2], ["tp", 4]], "rules": [{"tensors": "*.q_proj.weight", "map": [["tp"]]}, ...],
//    "stages": [3, 5], "uneven": true}
//
// Rules of the short form, by names of Hugging Face; a JSON file without rules has them, too:
//
//   queries, keys, values, gates, up projections, projections out of latents, sinks      dim 0 along tp
//   output and down projections                                                          dim 1 along tp
//   embeddings and head                                                                  vocabulary along tp
//   norms, routers, projections into latents, biases of outputs                          whole on each rank
//
// Laws: what `layout_json` writes is read back equal. Errors: io_error of one line that names the file or option.
// References: Shoeybi et al., "Megatron-LM", 2019, section 3.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "set_layout.hpp"

namespace hp_tool::reshard {

/// The layout that a JSON object says, of the file `path`.
set_layout layout_of_json(const nlohmann::json& d, const std::string& path);

nlohmann::json layout_json(const set_layout& l);

/// "whole", or "tp=2,pp=4"; `option` is what errors name.
set_layout parse_short_layout(std::string_view text, const std::string& option);

}  // namespace hp_tool::reshard
