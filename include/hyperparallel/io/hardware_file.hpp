// SPDX-License-Identifier: Apache-2.0
#pragma once
// Hardware of one's own from a JSON file. Header-only, it needs nlohmann-json on the include path; no front header
// includes this one.
//
//   const hp::known_hardware mine = hp::read_hardware_file("cluster.json");
//   hp::plan_prices prices(mine.device, mine.links);
//
// Fields and units: docs/how-to/describe-your-hardware.md. "like" names a preset whose values stand for what is left out;
// without it shares, launches and latencies that are left out are assumed (hardware/preset_parts.hpp), and everything else
// has to be there. Laws: what is read passes check_hardware; every error is one line that names file, field and value,
// whatever the bytes of the file; a field that is not known is refused by name.

#include <cstddef>
#include <string>
#include <string_view>

#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/planner/known_hardware.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Larger files are refused.
inline constexpr std::size_t largest_hardware_file = std::size_t{1} << 20;

/// The hardware of a text, which errors call the file `path`. Throws io_error. O(bytes · log fields).
known_hardware parse_hardware_file(std::string_view text, const std::string& path);

}  // namespace detail

/// The hardware of a file. Throws io_error, also where the file cannot be read.
known_hardware read_hardware_file(const std::string& path);

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED_JSON
#include <hyperparallel/io/hardware_file.ipp>
#endif
