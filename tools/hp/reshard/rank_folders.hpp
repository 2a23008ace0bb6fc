// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which rank each file of a set is of; folders of ranks are named as Megatron-LM names them, mp_rank_TT[_PPP][_EEE].
//
// Laws: `ranks_of_files` gives each rank of the layout once; the name that `folder_of_rank` gives is read as that rank. Errors: io_error of
// one line. O(files).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "set_layout.hpp"

namespace hp_tool::reshard {

/// The name of a rank's file under a map.
std::string file_of_rank(const set_layout& l, std::int64_t rank, std::string_view map);

/// The mesh that the names of folders say.
set_layout layout_of_folders(const tensor_set& s);

/// The rank of each file. Throws io_error where the files are not those of the layout.
std::vector<std::int64_t> ranks_of_files(const tensor_set& s, const set_layout& l);

}  // namespace hp_tool::reshard
