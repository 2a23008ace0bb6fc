// SPDX-License-Identifier: Apache-2.0
#pragma once
// Megatron's pipeline layouts, the value of --pipeline-model-parallel-layout, written and read back.
//
//   Et|(tt|)*30L      E embedding, t layer, m layer of multi-token prediction, L loss; '|' ends a stage; commas mean nothing
//
// Law: what is written reads back as the same stages. As Megatron reads it, (…)*N is unrolled first, then x*N of one character.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/io/io_error.hpp>

#include "../refusals.hpp"

namespace sched {

namespace hp = hyperparallel;

/// The most stages of a string, and the most layers.
inline constexpr int most_layers = 4096;

/// What stands on each stage, but for E and L.
struct stage_contents {
  std::vector<int> layers, predictions;  ///< t and m of each stage

  int stages() const { return static_cast<int>(layers.size()); }
  void add_stage() {
    layers.push_back(0);
    predictions.push_back(0);
  }
  friend bool operator==(const stage_contents&, const stage_contents&) = default;
};

/// "ttttt" as "t*5", where that is shorter.
inline std::string repeated_text(char c, int count) {
  std::string repeated(1, c), plain(static_cast<std::size_t>(count), c);
  repeated.append("*").append(std::to_string(count));
  return repeated.size() < plain.size() ? repeated : plain;
}

/// Stages that are alike are written once, where that is shorter.
inline std::string megatron_layout(const stage_contents& s) {
  const int last = s.stages() - 1;
  const auto text_of = [&](int stage) {
    const std::size_t i = static_cast<std::size_t>(stage);
    return repeated_text('t', s.layers[i]) + repeated_text('m', s.predictions[i]);
  };
  std::string layout = "E";
  for (int stage = 0; stage < last;) {
    const std::string text = text_of(stage) + "|";
    int end = stage + 1;
    while (stage > 0 && end < last && text_of(end) + "|" == text) ++end;
    const std::string repeated = "(" + text + ")*" + std::to_string(end - stage);
    if (repeated.size() < text.size() * static_cast<std::size_t>(end - stage))
      layout += repeated;
    else
      for (int i = stage; i < end; ++i) layout += text;
    stage = end;
  }
  return layout + text_of(last) + "L";
}

namespace detail {

[[noreturn]] inline void refuse_layout(const std::string& text, const std::string& reason) {
  throw hp_tool::bad_input("--check: " + hp::quoted_path(text) + ": " + reason);
}

/// The number that stands at `at`, which moves behind it. Those of more than 4 digits are 10 000.
inline std::size_t repeats_at(const std::string& given, std::string_view text, std::size_t& at) {
  std::size_t digits = 0, number = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, ++digits)
    number = std::min<std::size_t>(10'000, 10 * number + static_cast<std::size_t>(text[at] - '0'));
  if (digits == 0) refuse_layout(given, "'*' is not followed by a number");
  return number;
}

inline void append_repeated(const std::string& given, std::string& out, std::string_view part, std::size_t times) {
  if (out.size() + part.size() * times > 4 * static_cast<std::size_t>(most_layers))
    refuse_layout(given, "the layout is longer than " + std::to_string(4 * most_layers) + " characters");
  for (std::size_t i = 0; i < times; ++i) out += part;
}

/// Without commas and multiplications.
inline std::string unrolled(const std::string& given) {
  std::string text, flat, out;
  for (const char c : given)
    if (c != ',') text += c;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '(') {
      append_repeated(given, flat, std::string_view(text).substr(at++, 1), 1);
      continue;
    }
    const std::size_t close = text.find(')', at);
    if (close == std::string::npos || close + 1 >= text.size() || text[close + 1] != '*' || close == at + 1)
      refuse_layout(given, "'(' begins no (…)*N");
    const std::string_view part = std::string_view(text).substr(at + 1, close - at - 1);
    at = close + 2;
    append_repeated(given, flat, part, repeats_at(given, text, at));
  }
  for (std::size_t at = 0; at < flat.size();) {
    const std::string_view part = std::string_view(flat).substr(at++, 1);
    std::size_t times = 1;
    if (at < flat.size() && flat[at] == '*') times = repeats_at(given, flat, ++at);
    append_repeated(given, out, part, times);
  }
  return out;
}

}  // namespace detail

/// Throws bad_input where the string is none, or where E does not stand first, L last, and m behind all t, on one stage.
inline stage_contents read_megatron_layout(const std::string& given) {
  const std::string text = detail::unrolled(given);
  const auto refuse = [&](const std::string& reason) { detail::refuse_layout(given, reason); };
  for (const char c : text)
    if (std::string_view("EtmL|").find(c) == std::string_view::npos)
      refuse("a character is none of E, t, m, L, '|', ',', (…)*N and x*N");
  const auto count = [&](char c) { return std::count(text.begin(), text.end(), c); };
  if (text.empty() || text.front() != 'E' || count('E') != 1) refuse("one E stands first");
  if (text.back() != 'L' || count('L') != 1) refuse("one L stands last");
  stage_contents out;
  out.add_stage();
  bool is_predicting = false;
  for (const char c : text) {
    if (c == '|') out.add_stage();
    if (c == 't' && is_predicting) refuse("t stands behind m");
    if (c == 'm' && is_predicting && out.predictions.back() == 0) refuse("m stands on two stages");
    if (c == 't') ++out.layers.back();
    if (c == 'm') ++out.predictions.back();
    is_predicting = is_predicting || c == 'm';
  }
  if (count('t') > most_layers || out.stages() > most_layers)
    refuse("there are more than " + std::to_string(most_layers) + " layers or stages");
  return out;
}

}  // namespace sched
