// SPDX-License-Identifier: Apache-2.0
#pragma once
// What options and sets name: maps and layouts by name or file, and what is found where none is named.
//
// Errors: io_error of one line that names the option or the file.

#include <filesystem>
#include <string>
#include <string_view>

#include "layout_map.hpp"
#include "set_layout.hpp"

namespace hp_tool::reshard {

/// Maps that are known by name.
bool is_named_map(std::string_view name);

layout_map map_called(const std::string& name);

set_layout layout_called(const std::string& text, const std::string& option);

/// The map whose names a set has.
std::string map_of_names(const tensor_set& s);

/// The folder of a set, or of its file.
std::filesystem::path folder_of(const tensor_set& s);

/// The sizes that are known: of config.json, of a manifest, of the option.
numbers known_sizes(const std::string& option, const tensor_set& s);

}  // namespace hp_tool::reshard
