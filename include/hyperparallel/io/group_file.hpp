// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tables of process groups from a JSON file, and as JSON. Header-only, it needs nlohmann-json on the include path; no front
// header includes this one.
//
//   {"world": 64, "disjoint": true,
//    "groups": [{"name": "tower", "ranks": ["0-15"]}, {"name": "decoder", "ranks": [16, "17-63"]}],
//    "modules": [{"name": "vision", "group": "tower", "frozen": true},
//                 {"name": "language", "group": "decoder", "operators": ["layers.*"]}]}
//
// Several tables of one model stand in a list, {"tables": [{"name": "train", …}, …]}. The mapping that HyperMPMD describes,
// node set → module by process group, is read as well; of each node come devices_per_node ranks, 1 where it is left out:
//
//   {"devices_per_node": 8, "process_groups": {"tower": {"nodes": [0, 1], "module": "vision"}, …}}
//
// "modules" may stand for "module", a list of names, and "ranks" for "nodes"; groups come in the order of their names. Where
// "world" is left out, it ends with the last rank. Laws: what is read passes check_tables; what is written is read back as
// the same tables; every error is one line that names file and place, whatever the bytes. Memory: that of the text, however
// many ranks it names. O(bytes · log bytes + names²).

#include <cstddef>
#include <string>
#include <string_view>

#include <hyperparallel/groups/group_table.hpp>
#include <hyperparallel/io/io_error.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Larger files are refused.
inline constexpr std::size_t largest_group_file = std::size_t{1} << 20;

}  // namespace detail

/// The tables of a text, which errors call the file `path`. Throws io_error.
group_tables parse_group_file(std::string_view text, const std::string& path);

/// The same of a file.
group_tables read_group_file(const std::string& path);

/// As JSON in the library's own form. Domain: check_tables accepts them; names are printable ASCII; several have names.
std::string json_text_of(const group_tables& all);

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED_JSON
#include <hyperparallel/io/group_file.ipp>
#endif
