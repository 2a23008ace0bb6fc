// SPDX-License-Identifier: Apache-2.0
// parse_group_file. Tables that are read pass check_tables and are read back as they are written; positions and ranks of
// their groups are inverse.

#include <hyperparallel/groups/check_groups.hpp>
#include <hyperparallel/io/group_file.hpp>

#include "target.hpp"

namespace hp = hyperparallel;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const std::optional<hp::group_tables> all =
      fuzz::read_or_refuse([&] { return hp::parse_group_file(text, fuzz::file); });
  if (!all) return 0;
  fuzz::hold(hp::check_tables(*all).ok(), "tables that are read are tables");
  const std::string written = hp::json_text_of(*all);
  if (written.size() <= hp::detail::largest_group_file)
    fuzz::hold(hp::parse_group_file(written, fuzz::file) == *all, "what is written is read back");
  for (const hp::group_table& t : all->table)
    for (const hp::process_group& g : t.group) {
      const int last = static_cast<int>(hp::rank_count(g)) - 1;
      for (const int position : {0, last / 2, last})
        fuzz::hold(hp::position_in(g, hp::rank_at(g, position)) == position, "positions and ranks are inverse");
    }
  return 0;
}
