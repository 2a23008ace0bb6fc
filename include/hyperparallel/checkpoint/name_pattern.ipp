// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of name_pattern.hpp; see support/compiled.hpp.

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <hyperparallel/checkpoint/name_pattern.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

namespace detail {

HYPERPARALLEL_JSON_BODY bool is_glob_of(std::string_view glob, std::string_view text) {
  std::size_t g = 0, t = 0, star = std::string_view::npos, behind = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      behind = t;
    } else if (g < glob.size() && glob[g] == text[t]) {
      ++g, ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++behind;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

HYPERPARALLEL_JSON_BODY std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text[0] == '-') return {};
  if ((text.size() > 1 && text[0] == '0') || value >= std::int64_t{1} << 62) return {};
  return value;
}

HYPERPARALLEL_JSON_BODY state_name::state_name(std::string_view name) : tensor(name) {
  const std::size_t open = name.find('(');
  if (open == std::string_view::npos || open == 0 || name.size() < open + 3 || name.back() != ')') return;
  before = name.substr(0, open + 1);
  tensor = name.substr(open + 1, name.size() - open - 2);
  after = name.substr(name.size() - 1);
}

}  // namespace detail

HYPERPARALLEL_JSON_BODY name_pattern::name_pattern(std::string text) : text_(std::move(text)) {
  std::string_view left = text_;
  while (!left.empty()) {
    const std::size_t open = left.find('{');
    part next{std::string(left.substr(0, open)), "", "", "", ""};
    if (open == std::string_view::npos) {
      left = {};
    } else {
      const std::size_t close = left.find('}', open);
      if (close == std::string_view::npos) throw std::invalid_argument("'" + text_ + "' has a { without a }");
      read_number(next, left.substr(open + 1, close - open - 1));
      left = left.substr(close + 1);
      if (!left.empty() && (left[0] == '{' || (left[0] >= '0' && left[0] <= '9')))
        throw std::invalid_argument("'" + text_ + "' has a number right behind {" + next.number + "}");
    }
    parts_.push_back(std::move(next));
  }
}

HYPERPARALLEL_JSON_BODY bool name_pattern::has(std::string_view number) const {
  for (const part& p : parts_)
    if (p.number == number) return true;
  return false;
}

HYPERPARALLEL_JSON_BODY std::optional<numbers> name_pattern::matched(std::string_view name,
                                                                     const numbers& sizes) const {
  numbers found;
  for (const part& p : parts_) {
    if (!name.starts_with(p.text)) return {};
    name.remove_prefix(p.text.size());
    if (p.number.empty()) continue;
    std::size_t digits = 0;
    while (digits < name.size() && name[digits] >= '0' && name[digits] <= '9') ++digits;
    const auto value = detail::whole_number(name.substr(0, digits));
    if (digits == 0 || !value) return {};
    const std::int64_t number = *value - size_of(p.added, sizes, 0);
    if (number < 0 || (!p.below.empty() && number >= size_of(p.below, sizes, 0)) ||
        (!p.least.empty() && number < size_of(p.least, sizes, 0)))
      return {};
    if (!found.emplace(p.number, number).second && found[p.number] != number) return {};
    name.remove_prefix(digits);
  }
  if (!name.empty()) return {};
  return found;
}

HYPERPARALLEL_JSON_BODY std::optional<std::string> name_pattern::filled(const numbers& with,
                                                                        const numbers& sizes) const {
  std::string name;
  for (const part& p : parts_) {
    name += p.text;
    if (p.number.empty()) continue;
    const auto found = with.find(p.number);
    if (found == with.end()) return {};
    const std::int64_t number = found->second;
    if (!p.below.empty() && number >= size_of(p.below, sizes, 0)) return {};
    if (!p.least.empty() && number < size_of(p.least, sizes, 0)) return {};
    name += std::to_string(number + size_of(p.added, sizes, 0));
  }
  return name;
}

HYPERPARALLEL_JSON_BODY void name_pattern::read_number(part& p, std::string_view text) {
  const std::size_t end = text.find_first_of("+<>");
  p.number = text.substr(0, end);
  if (end != std::string_view::npos) {
    const bool least = text.substr(end).starts_with(">=");
    (text[end] == '+' ? p.added : least ? p.least : p.below) = text.substr(end + (least ? 2 : 1));
  }
  const auto is_name = [](const std::string& s) {
    return !s.empty() && s.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
  };
  if (!is_name(p.number) || (end != std::string_view::npos && !is_name(p.added + p.below + p.least)))
    throw std::invalid_argument("'" + text_ + "' has the number {" + std::string(text) +
                                "}; expected as {layer}, {layer+size}, {layer<size} or {layer>=size}");
}

HYPERPARALLEL_JSON_BODY std::int64_t name_pattern::size_of(const std::string& name, const numbers& sizes,
                                                           std::int64_t otherwise) {
  const auto found = sizes.find(name);
  return found == sizes.end() ? otherwise : found->second;
}

}}}  // namespace hyperparallel::v0_2::reshard
