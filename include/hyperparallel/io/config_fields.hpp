// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fields of a JSON object, read one by one; the names of those that were not read can be listed.
// Needs nlohmann-json on the include path; no front header includes this one.
//
//   config_fields f(object, "config.json");
//   f.whole("hidden_size", 1 << 20)      cannot read 'config.json': hidden_size is -4; expected a whole number from 1 to …
//   f.list("levels", 6)                  fields of objects in it, which errors call levels[0].ranks and so on
//   f.left()                             the names that were not read and are not null
//
// Law: each error is one line that names file, field and value. A field that is null is one that is absent.

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/io/json_text.hpp>
#include <hyperparallel/support/integer.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Whether a text has 1 to `longest` characters of ASCII that are printed.
inline bool is_printable(std::string_view text, std::size_t longest) {
  for (const char c : text)
    if (c < ' ' || c > '~') return false;
  return !text.empty() && text.size() <= longest;
}

class config_fields {
 public:
  /// Precondition: `object` outlives this and is an object. `place` is what errors put before the name of a field.
  config_fields(const nlohmann::json& object, std::string path, std::string place = {})
      : object_(object), path_(std::move(path)), place_(std::move(place)) {}

  const std::string& path() const { return path_; }

  /// Whether the field is there at all, be it null.
  bool stands(const char* name) const { return object_.contains(name); }

  /// The field, which counts as read, or null where it is absent.
  const nlohmann::json& value(std::string_view name) {
    static const nlohmann::json nothing;
    read_.emplace(name);
    const auto at = object_.find(name);
    return at == object_.end() ? nothing : *at;
  }

  /// A whole number from `least` to `most`.
  std::optional<extent_t> optional_whole(const char* name, extent_t most, extent_t least = 1) {
    const nlohmann::json& v = value(name);
    if (v.is_null()) return {};
    // Numbers of 2^63 and more are unsigned, and none of them is allowed.
    const bool whole = v.is_number_integer() && (!v.is_number_unsigned() || v.get<std::uint64_t>() <= INT64_MAX);
    if (!whole || v.get<extent_t>() < least || v.get<extent_t>() > most)
      refuse(name, "expected a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return v.get<extent_t>();
  }
  extent_t whole(const char* name, extent_t most, extent_t least = 1) {
    const std::optional<extent_t> n = optional_whole(name, most, least);
    if (!n) missing(name);
    return *n;
  }

  bool flag(const char* name, bool otherwise) {
    const nlohmann::json& v = value(name);
    if (v.is_null()) return otherwise;
    if (!v.is_boolean()) refuse(name, "expected true or false");
    return v.get<bool>();
  }

  /// A number from `least` to `most`.
  std::optional<double> optional_number(const char* name, double least, double most) {
    const nlohmann::json& v = value(name);
    if (v.is_null()) return {};
    if (!v.is_number() || !(v.get<double>() >= least && v.get<double>() <= most))
      refuse(name, "expected a number from " + shown_json(least) + " to " + shown_json(most));
    return v.get<double>();
  }
  double number(const char* name, double least, double most) {
    const std::optional<double> n = optional_number(name, least, most);
    if (!n) missing(name);
    return *n;
  }

  /// A text of 1 to `longest` printable characters of ASCII.
  std::optional<std::string> optional_text(const char* name, std::size_t longest) {
    const nlohmann::json& v = value(name);
    if (v.is_null()) return {};
    const std::string text = v.is_string() ? v.get<std::string>() : std::string();
    if (!is_printable(text, longest))
      refuse(name, "expected a text of 1 to " + std::to_string(longest) + " printable characters");
    return text;
  }

  /// The fields of an object; empty where it is absent.
  std::optional<config_fields> inside(const char* name) {
    const nlohmann::json& v = value(name);
    if (v.is_null()) return {};
    if (!v.is_object()) refuse(name, "expected an object");
    return config_fields(v, path_, place_ + name + ".");
  }
  /// Of each object of a list of 1 to `most`; none where it is absent.
  std::vector<config_fields> list(const char* name, std::size_t most) {
    const nlohmann::json& v = value(name);
    std::vector<config_fields> all;
    if (v.is_null()) return all;
    const std::string expected = "expected a list of 1 to " + std::to_string(most) + " objects";
    if (!v.is_array() || v.empty() || v.size() > most) refuse(name, expected);
    for (const nlohmann::json& each : v) {
      if (!each.is_object()) refuse_item(name, all.size(), "expected an object");
      all.emplace_back(each, path_, place_ + name + "[" + std::to_string(all.size()) + "].");
    }
    return all;
  }

  /// A finite number greater than 0.
  std::optional<double> positive(const char* name) {
    const nlohmann::json& v = value(name);
    if (v.is_null()) return {};
    if (!v.is_number() || !(v.get<double>() > 0)) refuse(name, "expected a number greater than 0");
    if (!std::isfinite(v.get<double>())) refuse(name, "expected a finite number greater than 0");
    return v.get<double>();
  }

  /// Absent, or one of `allowed`. Throws unsupported_model.
  void only(const char* name, const std::vector<nlohmann::json>& allowed) {
    const nlohmann::json& v = value(name);
    if (v.is_null()) return;
    std::string known;
    for (const nlohmann::json& a : allowed) {
      if (v == a) return;
      known += (known.empty() ? "" : ", ") + shown_json(a);
    }
    unsupported(name, "known: " + known);
  }

  [[noreturn]] void missing(const char* name) const { throw io_error("read", path_, place_ + name + " is missing"); }
  /// A value that cannot be.
  [[noreturn]] void refuse(const char* name, const std::string& expected) const {
    throw io_error("read", path_, told(name) + "; " + expected);
  }
  /// An item of a list. Precondition: the field is a list that has it.
  [[noreturn]] void refuse_item(const char* name, std::size_t item, const std::string& expected) const {
    throw io_error(
        "read", path_,
        place_ + name + "[" + std::to_string(item) + "] is " + shown_json(object_.at(name)[item]) + "; " + expected);
  }
  /// A value that may be right and is not known.
  [[noreturn]] void unsupported(const char* name, const std::string& known) const {
    throw unsupported_model("read", path_, told(name) + "; " + known);
  }

  /// Names that are not null and were not read, in alphabetical order.
  std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& [name, v] : object_.items())
      if (!v.is_null() && !read_.contains(name)) names.push_back(name);
    return names;
  }

  /// "hidden_size is -4".
  std::string told(const std::string& name) const {
    const auto at = object_.find(name);
    const std::string shown = shown_json(name);
    return place_ + shown.substr(1, shown.size() - 2) +
           (at == object_.end() ? " is missing" : " is " + shown_json(*at));
  }

 private:
  const nlohmann::json& object_;
  std::string path_, place_;
  std::set<std::string, std::less<>> read_{};
};

}}}  // namespace hyperparallel::v0_2::detail
