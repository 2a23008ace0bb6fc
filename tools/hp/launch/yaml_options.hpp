// SPDX-License-Identifier: Apache-2.0
#pragma once
// A YAML or JSON text as options: dotted names, values, lines.
//
//   zero_optimization:          # {"zero_optimization": {"stage": 3}} is the same option, from line 1
//     stage: 3                  zero_optimization.stage, "3", line 2
//   fsdp: [full_shard, offload] fsdp, "full_shard" and "offload"
//
// Values are as they are written: nothing is made of true or 1e9. What is null has the value "null"; what is empty, a list or a map, has none.
// A map in a list is named by its place, "datasets.0.path". A key that stands twice in a map gives two options. An alias of one value is that value; of a
// list or a map it is "*", whose options are those where it stands, so that a text never stands for more than it holds.
// Laws: options stand in the order of the text, each with the line of its key. Errors are io_error of one line with the file and its
// line: a text that is no YAML, that is no map, of several documents, nested deeper than `deepest_yaml`, or with a name longer than
// `longest_yaml_name`. O(bytes log anchors).

#include <string>
#include <string_view>
#include <vector>

#include "launch/launch_plan.hpp"

namespace hp_tool::launch {

/// The options of a text; `path` is its file's in errors. Throws io_error.
std::vector<launch_option> yaml_options_of(std::string_view text, const std::string& path);

}  // namespace hp_tool::launch
