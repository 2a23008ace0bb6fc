// SPDX-License-Identifier: Apache-2.0
// The body of layout_map.hpp.

#include "layout_map.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include <hyperparallel/io/json_text.hpp>

namespace hp_tool::reshard {

namespace {

class map_reader {
 public:
  map_reader(const nlohmann::json& document, const std::string& path) : d_(document), path_(path) {}

  layout_map read() {
    layout_map m;
    check_keys(d_, {"name", "rules", "local", "others", "tied", "about"}, "the map");
    m.name = text_of(d_, "name", "the map", "");
    m.text = d_.dump();
    const std::string others = text_of(d_, "others", "the map", "refused");
    if (others != "same" && others != "refused") refuse("'others' is \"same\" or \"refused\"");
    m.keeps_others = others == "same";
    for (const std::string& name : texts_of(d_, "local", "the map")) m.local.insert(name);
    const std::vector<std::string> tied = texts_of(d_, "tied", "the map");
    if (!tied.empty() && tied.size() != 2) refuse("'tied' is a list of two names, [head, table]");
    if (!tied.empty()) m.head = tied[0], m.head_tied_to = tied[1];
    if (!d_.contains("rules")) return m;
    if (!d_["rules"].is_array() || d_["rules"].size() > 10000) refuse("'rules' is a list of at most 10000 rules");
    for (const nlohmann::json& rule : d_["rules"]) m.rules.push_back(rule_of(rule, m.rules.size()));
    return m;
  }

 private:
  /// In one line, whatever names the file has.
  [[noreturn]] void refuse(std::string why) const {
    for (char& c : why)
      if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') c = '?';
    throw io_error("read", path_, why);
  }

  size_text size_of(const nlohmann::json& object, const char* key, const std::string& what,
                    const char* otherwise) const {
    size_text size{text_of(object, key, what, otherwise)};
    if (size.text.empty() ||
        size.text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789+*") != std::string::npos)
      refuse(what + ": '" + key + "' is " + quoted_path(size.text) + "; expected a sum of products of sizes");
    return size;
  }

  void check_keys(const nlohmann::json& object, const std::set<std::string>& known, const std::string& what) const {
    if (!object.is_object()) refuse(what + " is no object");
    for (const auto& [key, value] : object.items())
      if (!known.contains(key)) {
        std::string all;
        for (const std::string& k : known) all += (all.empty() ? "" : ", ") + k;
        refuse(what + " has the unknown key " + quoted_path(key) + "; known: " + all);
      }
  }
  std::string text_of(const nlohmann::json& object, const char* key, const std::string& what,
                      const std::string& otherwise) const {
    if (!object.contains(key)) return otherwise;
    if (object[key].is_number_unsigned()) return std::to_string(object[key].get<std::uint64_t>());
    if (!object[key].is_string()) refuse(what + ": '" + key + "' is no text");
    return object[key].get<std::string>();
  }
  std::vector<std::string> texts_of(const nlohmann::json& object, const char* key, const std::string& what) const {
    std::vector<std::string> all;
    if (!object.contains(key)) return all;
    bool good = object[key].is_array();
    for (std::size_t i = 0; good && i < object[key].size(); ++i) good = object[key][i].is_string();
    if (!good) refuse(what + ": '" + key + "' is no list of texts");
    for (const nlohmann::json& each : object[key]) all.push_back(each.get<std::string>());
    return all;
  }

  map_part part_of(const nlohmann::json& o, const std::string& what) const {
    map_part p;
    if (o.is_string()) {
      p.hf = name_pattern(o.get<std::string>());
      return p;
    }
    check_keys(o, {"hf", "view", "extent", "take", "from", "of", "as"}, what);
    p.hf = name_pattern(text_of(o, "hf", what, ""));
    p.view = parse_view(text_of(o, "view", what, ""));
    p.extent = size_of(o, "extent", what, "1");
    p.taken = text_of(o, "take", what, "");
    p.from = size_of(o, "from", what, "0");
    p.of = size_of(o, "of", what, "1");
    if (p.taken.empty()) return p;
    for (const auto& group : parse_view(text_of(o, "as", what, "")).dims)
      p.taken_as.insert(p.taken_as.end(), group.begin(), group.end());
    if (p.taken_as.empty()) refuse(what + ": 'take' without 'as'");
    return p;
  }

  map_rule rule_of(const nlohmann::json& o, std::size_t number) const {
    std::string what = "rule " + std::to_string(number);
    try {
      check_keys(o,
                 {"theirs", "is", "join", "of", "hf", "rows_multiple", "with", "without", "beside", "reads_only", "cut",
                  "about"},
                 what);
      map_rule r;
      r.theirs = name_pattern(text_of(o, "theirs", what, ""));
      what += " (" + quoted_path(r.theirs.text()) + ")";
      r.is = parse_view(text_of(o, "is", what, ""));
      r.join = text_of(o, "join", what, "");
      if (o.contains("rows_multiple")) r.rows_multiple = size_of(o, "rows_multiple", what, "1");
      if (o.contains("with")) r.with = name_pattern(text_of(o, "with", what, ""));
      if (o.contains("beside")) r.beside = name_pattern(text_of(o, "beside", what, ""));
      if (o.contains("without")) r.without = name_pattern(text_of(o, "without", what, ""));
      if (o.contains("reads_only")) {
        if (!o["reads_only"].is_boolean()) refuse(what + ": 'reads_only' is true or false");
        r.reads_only = o["reads_only"].get<bool>();
      }
      const std::string cut = text_of(o, "cut", what, "parts");
      if (cut != "parts" && cut != "joined") refuse(what + ": 'cut' is \"parts\" or \"joined\"");
      r.is_cut_joined = cut == "joined";
      if (o.contains("hf") == o.contains("of")) refuse(what + " has one of 'hf' and 'of'");
      if (o.contains("hf")) {
        r.parts.push_back(part_of(o["hf"], what));
      } else {
        if (!o["of"].is_array() || o["of"].empty() || o["of"].size() > 100) refuse(what + ": 'of' is no list of parts");
        for (const nlohmann::json& each : o["of"]) r.parts.push_back(part_of(each, what));
      }
      check_rule(r, what);
      return r;
    } catch (const view_error& e) {
      refuse(what + ": " + e.what());
    } catch (const std::invalid_argument& e) {
      refuse(what + ": " + e.what());
    }
  }

  void check_rule(const map_rule& r, const std::string& what) const {
    const std::vector<std::string> is = r.is.names();
    const std::string stacked = r.stacked();
    if (r.theirs.text().empty()) refuse(what + " has no 'theirs'");
    if (r.parts.size() > 1 && r.join.empty()) refuse(what + " has several parts and no 'join'");
    if (!r.join.empty() && std::find(is.begin(), is.end(), r.join) == is.end())
      refuse(what + ": 'join' is " + quoted_path(r.join) + ", which is no name of 'is'");
    if (r.is_cut_joined && (r.join.empty() || !stacked.empty())) refuse(what + ": 'cut' goes with 'join'");
    for (const map_part& p : r.parts) {
      if (p.hf.text().empty()) refuse(what + ": a part has no 'hf'");
      if (p.view.dims.empty() != r.is.dims.empty()) refuse(what + ": 'is' and each 'view' go together");
      std::set<std::string> names;
      for (const std::string& name : p.view.names())
        if (name != p.taken) names.insert(name);
      for (const std::string& name : p.taken_as)
        if (!names.insert(name).second) refuse(what + ": 'as' has " + name + ", which the view has, too");
      const std::vector<std::string> view = p.view.names();
      if (!p.taken.empty() && std::find(view.begin(), view.end(), p.taken) == view.end())
        refuse(what + ": 'take' is " + quoted_path(p.taken) + ", which is no name of the view");
      std::set<std::string> of_rule(is.begin(), is.end());
      of_rule.erase(stacked);
      if (!r.is.dims.empty() && names != of_rule)
        refuse(what + ": 'is' and the view of " + quoted_path(p.hf.text()) + " have other names");
      if (r.rows_multiple && !r.is.dims.empty()) refuse(what + ": 'rows_multiple' goes without views");
    }
  }

  const nlohmann::json& d_;
  const std::string& path_;
};

}  // namespace

std::optional<std::int64_t> size_text::value(const numbers& sizes) const {
  checked_extent sum{0, false};
  for (std::string_view terms = text;;) {
    const std::size_t plus = terms.find('+');
    checked_extent product{1, false};
    for (std::string_view factors = terms.substr(0, plus);;) {
      const std::size_t times = factors.find('*');
      const std::string_view factor = factors.substr(0, times);
      const auto known = sizes.find(factor);
      const auto number = known != sizes.end() ? std::optional(known->second) : whole_number(factor);
      if (!number) return {};
      product = checked_multiply(product.value, *number);
      if (product.overflow) return {};
      if (times == std::string_view::npos) break;
      factors.remove_prefix(times + 1);
    }
    sum = checked_add(sum.value, product.value);
    if (sum.overflow) return {};
    if (plus == std::string_view::npos) return sum.value;
    terms.remove_prefix(plus + 1);
  }
}

std::string map_rule::stacked() const {
  for (const std::string& name : is.names())
    if (parts[0].hf.has(name) && !theirs.has(name)) return name;
  return "";
}

layout_map parse_layout_map(std::string_view text, const std::string& path) {
  return map_reader(parse_json_object(text, path, "the map", 8), path).read();
}

}  // namespace hp_tool::reshard
