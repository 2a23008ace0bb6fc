// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why process groups are refused, as one sentence with names and sizes.

#include <string>

#include <hyperparallel/groups/module_claims.hpp>
#include <hyperparallel/support/refusal_words.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// `name_at(i)` names operator `i` of `count`.
template <class NameAt>
std::string text_of_groups(const group_status& s, const group_table& t, int count, const NameAt& name_at) {
  if (s.ok()) return "ok";
  const auto group_at = [&](int g) { return g < 0 || g >= t.group.size ? "" : t.group.item[g].name.text; };
  const auto module_at = [&](int m) { return m < 0 || m >= t.placed.size ? "" : t.placed.item[m].name.text; };
  const bool has_group = s.group >= 0 && s.group < t.group.size;
  const bool lacks_group = s.code == group_code::module_names_no_group;
  int nearest = -1;
  if (s.code == group_code::module_has_no_operator) {
    const placed_module& m = t.placed.item[s.module];
    const std::string pattern = m.operators.empty() ? m.name.text + std::string("*") : m.operators.item[0].text;
    nearest = first_of_least(count, [&](int i) { return edits_to_match(pattern.c_str(), name_at(i)); });
  }
  const std::string rank = std::to_string(s.rank), given = std::to_string(s.given), world = std::to_string(t.world),
                    size = has_group ? std::to_string(rank_count(t.group.item[s.group])) : "",
                    modules = std::to_string(t.placed.size);
  const slot_text slots[] = {{"group_named", group_at(s.group)},
                             {"other_group", group_at(s.other)},
                             {"wanted_group", lacks_group ? t.placed.item[s.module].group.text : ""},
                             {"module_named", module_at(s.module)},
                             {"other_module", module_at(s.other)},
                             {"table_named", t.name.text},
                             {"rank_number", rank.c_str()},
                             {"last_rank", given.c_str()},
                             {"group_size", size.c_str()},
                             {"world_size", world.c_str()},
                             {"operators_asked", given.c_str()},
                             {"modules", modules.c_str()},
                             {"operator_named", s.named < 0 || s.named >= count ? "" : name_at(s.named)},
                             {"nearest_operator", nearest < 0 ? "" : name_at(nearest)}};
  return sentence_of((std::string("group_code::") + name_of(s.code)).c_str(), slots).text;
}

}  // namespace detail

/// The sentence of a refusal by check_groups; "ok" of none.
inline std::string text_of_refusal(const group_status& s, const group_table& t) {
  return detail::text_of_groups(s, t, 0, [](int) { return ""; });
}
/// Of check_tables.
inline std::string text_of_refusal(const group_status& s, const group_tables& all) {
  if (s.ok()) return "ok";
  const group_table& t = all.table[s.table];
  const bool said = t.name.text[0] == '\0' || s.code == group_code::table_stands_twice;
  return (said ? "" : "table " + std::string(t.name.text) + ": ") + text_of_refusal(s, t);
}
/// Of claim_operators.
inline std::string text_of_refusal(const group_status& s, const group_table& t, const graph& g) {
  const auto name_at = [&](int o) { return g.name_of_op(o); };
  return detail::text_of_groups(s, t, g.op.size, name_at);
}
/// Of claim_names.
inline std::string text_of_refusal(const group_status& s, const group_table& t, const char* const* name, int count) {
  return detail::text_of_groups(s, t, count, [&](int i) { return name[i]; });
}

}}  // namespace hyperparallel::v0_2
