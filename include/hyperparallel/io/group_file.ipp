// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of group_file.hpp; see support/compiled.hpp.

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include <hyperparallel/groups/group_table.hpp>
#include <hyperparallel/groups/refused_groups.hpp>
#include <hyperparallel/io/config_fields.hpp>
#include <hyperparallel/io/group_file.hpp>
#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/io/json_text.hpp>
#include <hyperparallel/io/text_file.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Deeper files are refused, and longer lists.
inline constexpr int deepest_group_file = 6;
inline constexpr std::size_t most_groups = 4096, most_group_tables = 256;

inline void refuse_unknown_keys(const config_fields& f, const char* of) {
  const std::vector<std::string> left = f.left();
  if (!left.empty()) f.refuse(left[0].c_str(), std::string("no field of ") + of + " has that name");
}

/// Whether `text` is all of a number from 0 to `most`.
inline bool whole_from(std::string_view text, int most, int& to) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return !text.empty() && text[0] != '-' && error == std::errc() && end == text.data() + text.size() && to <= most;
}

/// A number, or two with a hyphen between them.
inline bool range_from(const nlohmann::json& v, int most, rank_range& to) {
  if (v.is_number_unsigned()) {
    if (v.get<std::uint64_t>() > static_cast<std::uint64_t>(most)) return false;
    to = v.get<int>();
    return true;
  }
  if (!v.is_string()) return false;
  const std::string_view text = v.get_ref<const std::string&>();
  const std::size_t hyphen = text.find('-');
  if (hyphen == std::string_view::npos) return false;
  return whole_from(text.substr(0, hyphen), most, to.first) && whole_from(text.substr(hyphen + 1), most, to.last);
}

/// Ranges of `unit` ranks each; an empty list is left to check_groups.
inline void read_ranges(config_fields& f, const char* name, int unit, growing_array<rank_range>& to) {
  const nlohmann::json& v = f.value(name);
  const int most = static_cast<int>(max_devices / unit) - 1;
  const std::string expected = "numbers from 0 to " + std::to_string(most) + " and ranges as \"4-7\"";
  if (!v.is_array()) f.refuse(name, "expected a list of " + expected);
  for (const nlohmann::json& each : v) {
    rank_range r;
    if (!range_from(each, most, r))
      f.refuse_item(name, static_cast<std::size_t>(to.size), "expected a list of " + expected);
    to.push({r.first * unit, r.last * unit + unit - 1});
  }
}

inline std::string read_name(config_fields& f, const char* name) {
  const std::optional<std::string> text = f.optional_text(name, short_text::capacity);
  if (!text) f.missing(name);
  return *text;
}

/// A list of names or patterns; none where it is absent.
inline growing_array<short_text> read_names(config_fields& f, const char* name) {
  growing_array<short_text> all;
  const nlohmann::json& v = f.value(name);
  if (v.is_null()) return all;
  if (!v.is_array() || v.empty() || v.size() > most_groups)
    f.refuse(name, "expected a list of 1 to " + std::to_string(most_groups) + " names");
  for (const nlohmann::json& each : v) {
    const std::string text = each.is_string() ? each.get<std::string>() : std::string();
    if (!is_printable(text, short_text::capacity))
      f.refuse_item(name, static_cast<std::size_t>(all.size), "expected a text of 1 to 31 printable characters");
    all.push(text.c_str());
  }
  return all;
}

/// {"groups": […], "modules": […]}
inline void read_own_form(config_fields& f, group_table& t) {
  std::vector<config_fields> groups = f.list("groups", most_groups), modules = f.list("modules", most_groups);
  for (config_fields& each : groups) {
    process_group g{read_name(each, "name").c_str(), {}};
    read_ranges(each, "ranks", 1, g.ranks);
    refuse_unknown_keys(each, "a group");
    t.group.push(g);
  }
  for (config_fields& each : modules) {
    placed_module m{read_name(each, "name").c_str(), read_name(each, "group").c_str(), {}};
    m.operators = read_names(each, "operators");
    m.frozen = each.flag("frozen", false);
    refuse_unknown_keys(each, "a module");
    t.placed.push(m);
  }
}

/// {"process_groups": {NAME: {"nodes": […], "module": …}}}
inline void read_node_form(config_fields& f, group_table& t) {
  const int unit = static_cast<int>(f.optional_whole("devices_per_node", 1 << 16).value_or(1));
  std::optional<config_fields> groups = f.inside("process_groups");
  if (!groups) f.missing("process_groups");
  const std::vector<std::string> names = groups->left();
  const auto refuse_many = [&](const char* what) {
    f.refuse("process_groups", "expected at most " + std::to_string(most_groups) + what);
  };
  if (names.size() > most_groups) refuse_many(" groups");
  for (const std::string& name : names) {
    if (!is_printable(name, short_text::capacity))
      throw io_error("read", f.path(),
                     "a group is called " + shown_json(name) + "; expected 1 to 31 printable characters");
    std::optional<config_fields> each = groups->inside(name.c_str());
    process_group g{name.c_str(), {}};
    const bool by_node = !each->value("nodes").is_null();
    if (by_node && !each->value("ranks").is_null())
      each->refuse("ranks", "nodes stand beside them; expected one of both");
    if (!by_node && each->value("ranks").is_null()) each->missing("nodes");
    read_ranges(*each, by_node ? "nodes" : "ranks", by_node ? unit : 1, g.ranks);
    growing_array<short_text> modules = read_names(*each, "modules");
    const std::optional<std::string> one = each->optional_text("module", short_text::capacity);
    if (one && !modules.empty()) each->refuse("module", "modules stand beside it; expected one of both");
    if (one) modules.push(one->c_str());
    refuse_unknown_keys(*each, "a group");
    for (const short_text& m : modules) t.placed.push({m, g.name, {}});
    if (t.placed.size > static_cast<int>(most_groups)) refuse_many(" modules");
    t.group.push(g);
  }
}

inline group_table read_group_table(config_fields& f) {
  group_table t;
  if (const std::optional<std::string> name = f.optional_text("name", short_text::capacity)) t.name = name->c_str();
  t.disjoint = f.flag("disjoint", false);
  t.complete = f.flag("complete", false);
  const std::optional<extent_t> world = f.optional_whole("world", max_devices);
  const bool own = f.stands("groups"), by_node = f.stands("process_groups");
  if (own && by_node) f.refuse("process_groups", "groups stand beside it; expected one of both");
  if (own)
    read_own_form(f, t);
  else if (by_node)
    read_node_form(f, t);
  else
    f.missing("groups");
  refuse_unknown_keys(f, "a table");
  int last = 0;
  for (const process_group& g : t.group)
    for (const rank_range& r : g.ranks) last = r.last > last ? r.last : last;
  t.world = static_cast<int>(world.value_or(last + 1));
  return t;
}

inline nlohmann::ordered_json json_of(const group_table& t) {
  nlohmann::ordered_json j;
  if (t.name.text[0] != '\0') j["name"] = t.name.text;
  j["world"] = t.world;
  if (t.disjoint) j["disjoint"] = true;
  if (t.complete) j["complete"] = true;
  for (const process_group& g : t.group) {
    nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
    for (const rank_range& r : g.ranks) {
      if (r.first == r.last)
        ranks.push_back(r.first);
      else
        ranks.push_back(std::to_string(r.first) + "-" + std::to_string(r.last));
    }
    j["groups"].push_back({{"name", g.name.text}, {"ranks", ranks}});
  }
  for (const placed_module& m : t.placed) {
    nlohmann::ordered_json one = {{"name", m.name.text}, {"group", m.group.text}};
    for (const short_text& pattern : m.operators) one["operators"].push_back(pattern.text);
    if (m.frozen) one["frozen"] = true;
    j["modules"].push_back(one);
  }
  return j;
}

}  // namespace detail

HYPERPARALLEL_JSON_BODY group_tables parse_group_file(std::string_view text, const std::string& path) {
  if (text.size() > detail::largest_group_file)
    throw io_error("read", path, "the file is larger than " + std::to_string(detail::largest_group_file) + " bytes");
  const nlohmann::json object = parse_json_object(text, path, "the file", detail::deepest_group_file);
  detail::config_fields f(object, path);
  group_tables all;
  if (f.stands("tables")) {
    for (detail::config_fields& each : f.list("tables", detail::most_group_tables)) {
      if (each.value("name").is_null()) each.missing("name");
      all.table.push(detail::read_group_table(each));
    }
    detail::refuse_unknown_keys(f, "a file of tables");
  } else {
    all.table.push(detail::read_group_table(f));
  }
  if (const group_status s = check_tables(all); !s.ok()) throw io_error("read", path, text_of_refusal(s, all));
  return all;
}

HYPERPARALLEL_JSON_BODY group_tables read_group_file(const std::string& path) {
  const std::vector<unsigned char> bytes = read_bytes(path, {empty_file::refused, detail::largest_group_file});
  return parse_group_file({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

HYPERPARALLEL_JSON_BODY std::string json_text_of(const group_tables& all) {
  nlohmann::ordered_json j;
  if (all.table.size == 1) return detail::json_of(all.table[0]).dump(1) + "\n";
  for (const group_table& t : all.table) j["tables"].push_back(detail::json_of(t));
  return j.dump(1) + "\n";
}

}}  // namespace hyperparallel::v0_2
