// SPDX-License-Identifier: Apache-2.0
#pragma once
// A split of devices in words: why there is none, why no other takes less, and why no compiled one can be chosen.

#include <string>

#include <hyperparallel/groups/split_choice.hpp>
#include <hyperparallel/support/refusal_words.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The sentence of a refusal; "ok" of none. `name` are the modules'.
inline std::string text_of_refusal(const split_status& s, const char* const* name) {
  if (s.ok()) return "ok";
  const std::string given = std::to_string(s.given), expected = std::to_string(s.expected),
                    entry = std::to_string(s.choice);
  const detail::slot_text slots[] = {{"module_named", s.module < 0 ? "" : name[s.module]},
                                     {"entry_number", entry.c_str()},
                                     {"devices_given", given.c_str()},
                                     {"devices_expected", expected.c_str()}};
  return detail::sentence_of((std::string("split_code::") + name_of(s.code)).c_str(), slots).text;
}

inline std::string text_of_refusal(const split_choice& c, const char* const* name) {
  if (c.ok()) return "ok";
  const std::string split = std::to_string(c.split), given = std::to_string(c.given),
                    expected = std::to_string(c.expected);
  const detail::slot_text slots[] = {{"module_named", c.module < 0 ? "" : name[c.module]},
                                     {"split_number", split.c_str()},
                                     {"given", given.c_str()},
                                     {"expected", expected.c_str()}};
  return detail::sentence_of((std::string("split_choice_code::") + name_of(c.code)).c_str(), slots).text;
}

/// "less than 28 takes 4 devices, more than 3: prefill 2, decode 2". Domain: the split is not refused.
inline std::string text_of_proof(const device_split& s, const char* const* name, int devices) {
  const std::string less = "less than " + std::to_string(s.time);
  std::string each;
  for (int m = 0; m < s.needed.size; ++m) {
    if (s.needed[m] < 0) return less + " is reached by no number of devices of " + name[m];
    each += (m == 0 ? "" : ", ") + std::string(name[m]) + " " + std::to_string(s.needed[m]);
  }
  return less + " takes " + std::to_string(detail::sum_of_devices(s.needed)) + " devices, more than " +
         std::to_string(devices) + ": " + each;
}

}}  // namespace hyperparallel::v0_2
