// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fields of rows of measurements as they stand in the files: what is absent, what is a size, what is a text.
//
// Law: a size is a whole number from 0 to 2^24, and what stands in its place as a text is kept as a text: none is guessed out
// of it.

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include <hyperparallel/support/integer.hpp>

#include "../json_output.hpp"

namespace truth {

namespace hp = hyperparallel;
using hp_tool::json;

/// A row that cannot be read: bad input, with this text.
struct malformed_row : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The field, or null where it is absent.
inline const json& field(const json& of, const char* name) {
  static const json nothing;
  if (!of.is_object()) return nothing;
  const auto at = of.find(name);
  return at == of.end() ? nothing : *at;
}

/// Whether a field says nothing: absent, null, "-" or "n/a".
inline bool is_silent(const json& v) { return v.is_null() || v == json("-") || v == json("n/a"); }

inline std::string text_in(const json& of, const char* name) {
  const json& v = field(of, name);
  return v.is_string() ? v.get<std::string>() : std::string();
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

inline std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// What a row says of a size: nothing, a number, or a text in its place.
struct told_size {
  bool is_told = false;
  hp::extent_t size = 0;
  std::string name{}, text{};  ///< of the field; empty text: a number
  bool is_number() const { return is_told && text.empty(); }
  hp::extent_t or_else(hp::extent_t otherwise) const { return is_number() ? size : otherwise; }
};

inline constexpr double largest_size = 16777216.0;  // 2^24

/// The first of the fields that says something. Throws malformed_row of a number that is no size.
inline told_size size_in(const json& of, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const json& v = field(of, name);
    if (is_silent(v)) continue;
    if (v.is_number()) {
      const double n = v.get<double>();
      if (!(n >= 0 && n <= largest_size) || n != std::floor(n))
        throw malformed_row(std::string(name) + " is " + v.dump() + "; expected a whole number of at most 2^24");
      return {true, static_cast<hp::extent_t>(n), name, {}};
    }
    return {true, 0, name, v.is_string() ? v.get<std::string>() : v.dump()};
  }
  return {};
}

/// A size that has to be there. Throws malformed_row.
inline hp::extent_t size_needed(const json& of, const char* name) {
  const told_size told = size_in(of, {name});
  if (!told.is_number() || told.size < 1) throw malformed_row(std::string(name) + " is missing or no whole number");
  return told.size;
}

/// A positive number; 0 where the field is silent or a text.
inline double number_in(const json& of, const char* name) {
  const json& v = field(of, name);
  return v.is_number() ? std::max(v.get<double>(), 0.0) : 0.0;
}

/// The largest number that stands in a text, 0 without one: "313 or 376 by bin" says 376.
inline double largest_number_in(std::string_view text) {
  double most = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (!std::isdigit(static_cast<unsigned char>(text[i]))) {
      ++i;
      continue;
    }
    double n = 0;
    for (; i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])); ++i) n = 10 * n + (text[i] - '0');
    most = std::max(most, n);
  }
  return most;
}

}  // namespace truth
