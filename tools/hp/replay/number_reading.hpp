// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers of vectors where they enter: whole, and of the range of what takes them. What is not raises `malformed_vector`, which
// names the key that was asked for last. No number is wrapped or cut.

#include <nlohmann/json.hpp>

#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "verdict.hpp"

namespace replay {

using json = nlohmann::json;

/// The key that was asked for last: what a complaint about its value names.
inline std::string& asked_key() {
  static std::string key;
  return key;
}

/// A number as it enters: whole and of at most 2^50, of an int, or a count up to 65536.
inline std::int64_t whole_number_of(const json& v) {
  constexpr std::int64_t most = std::int64_t{1} << 50;
  const bool whole = v.is_number_integer() && !(v.is_number_unsigned() && v.get<std::uint64_t>() > most);
  if (!whole || v.get<std::int64_t>() > most || v.get<std::int64_t>() < -most)
    throw malformed_vector("key '" + asked_key() + "' has " + v.dump() + "; expected a whole number of at most 2^50");
  return v.get<std::int64_t>();
}
inline int int_of(const json& v) {
  const std::int64_t n = whole_number_of(v);
  if (n < std::numeric_limits<int>::min() || n > std::numeric_limits<int>::max())
    throw malformed_vector("key '" + asked_key() + "' has " + v.dump() + ", which is no int");
  return static_cast<int>(n);
}
inline std::size_t count_of(const json& v) {
  const std::int64_t n = whole_number_of(v);
  if (n < 0 || n > 65536) throw malformed_vector("key '" + asked_key() + "' has " + v.dump() + "; expected 0 to 65536");
  return static_cast<std::size_t>(n);
}
inline const json& list_of(const json& v) {
  if (!v.is_array()) throw malformed_vector("key '" + asked_key() + "' has " + v.dump() + "; expected a list");
  return v;
}
inline std::vector<int> ints_of(const json& v) {
  std::vector<int> all;
  for (const json& n : list_of(v)) all.push_back(int_of(n));
  return all;
}
inline std::vector<std::int64_t> whole_numbers_of(const json& v) {
  std::vector<std::int64_t> all;
  for (const json& n : list_of(v)) all.push_back(whole_number_of(n));
  return all;
}

/// The number that a text is.
inline int int_in(std::string_view text) {
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size())
    throw malformed_vector("key '" + asked_key() + "' has '" + std::string(text) + "' where a number is expected");
  return n;
}

}  // namespace replay
