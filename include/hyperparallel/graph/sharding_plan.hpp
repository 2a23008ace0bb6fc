// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sharding plans: which layout each named parameter gets, and the layouts that go into and come out of named functions.
//
// A plan is a description: entries of a key each, checked here against the names that there are. Parameter keys are
// patterns, `*` for any run of characters and `?` for one; where several match, the last entry decides, so that a plan
// goes from the general to the particular. Other keys are the name of a function and ".input" or ".output".
// Laws: every entry of an accepted plan decides something; a name that no pattern matches keeps its layout.
// Applied to tensors in dtensor/sharded_set.hpp; a strategy pins the tensors of a model by the same patterns.

#include <hyperparallel/support/enum_text.hpp>
#include <hyperparallel/support/fixed_string.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Whether the pattern describes the whole name. O(pattern · name).
constexpr bool name_matches(const char* pattern, const char* name) {
  int p = 0, n = 0, star = -1, resume = 0;  // the last `*`, and where in the name it goes on
  while (name[n] != '\0') {
    if (pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (pattern[p] == '?' || pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star >= 0) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (pattern[p] == '*') ++p;
  return pattern[p] == '\0';
}

/// Fewest edits of `characters_that_differ` until the pattern describes the name: 0 where it does. At most 127 characters
/// of the name are looked at. O(pattern · name).
constexpr int edits_to_match(const char* pattern, const char* name) {
  return detail::fewest_edits<true>(pattern, name);
}

}  // namespace detail

/// What an entry of a plan speaks of.
enum class plan_subject : unsigned char {
  parameter,    ///< the key is a pattern
  activations,  ///< the key is a function's name and ".input" or ".output"
  local,        ///< the key is a function's name: its results come as local data
};

struct plan_entry {
  plan_subject subject = plan_subject::parameter;
  const char* key = "";
};

enum class sharding_plan_code : unsigned char {
  ok,
  pattern_matches_nothing,
  pattern_is_overridden,  ///< later entries decide everything that it matches
  key_ends_neither_in_input_nor_output,
  function_is_unknown,
  key_is_planned_twice,
};

constexpr const char* name_of(sharding_plan_code c) {
  return detail::enum_name(
      "ok\0pattern_matches_nothing\0pattern_is_overridden\0key_ends_neither_in_input_nor_output\0function_is_unknown\0"
      "key_is_planned_twice",
      c);
}

struct sharding_plan_status {
  sharding_plan_code code = sharding_plan_code::ok;
  int entry = 0;
  friend constexpr bool operator==(const sharding_plan_status&, const sharding_plan_status&) = default;
};

/// Names by kind; tables that the caller owns.
struct planned_names {
  const char* const* parameter = nullptr;
  int parameters = 0;
  const char* const* function = nullptr;
  int functions = 0;
};

namespace detail {

/// Where the suffix of a key begins, or -1 when it ends otherwise.
constexpr int suffix_of(const char* key, const char* suffix) {
  const int at = text_length(key) - text_length(suffix);
  return at > 0 && same_text(key + at, suffix) ? at : -1;
}

/// The entry that decides the parameter's layout, or -1.
constexpr int entry_of_parameter(const plan_entry* entry, int count, const char* name) {
  for (int e = count - 1; e >= 0; --e)
    if (entry[e].subject == plan_subject::parameter && name_matches(entry[e].key, name)) return e;
  return -1;
}

/// The entry for ".input" or ".output" of a function, or -1.
constexpr int entry_of_activations(const plan_entry* entry, int count, const char* function, const char* suffix) {
  for (int e = 0; e < count; ++e) {
    if (entry[e].subject != plan_subject::activations) continue;
    const int at = detail::suffix_of(entry[e].key, suffix);
    if (at >= 0 && same_text(function, entry[e].key, entry[e].key + at)) return e;
  }
  return -1;
}

/// Whether the function's results are asked for as local data.
constexpr bool has_local_results(const plan_entry* entry, int count, const char* function) {
  for (int e = 0; e < count; ++e)
    if (entry[e].subject == plan_subject::local && same_text(entry[e].key, function)) return true;
  return false;
}

}  // namespace detail

/// Fails with the first entry that decides nothing, and why. O(entries · names · length).
constexpr sharding_plan_status check_plan(const plan_entry* entry, int count, const planned_names& names) {
  for (int e = 0; e < count; ++e) {
    if (entry[e].subject == plan_subject::parameter) {
      bool matches = false, decides = false;
      for (int p = 0; p < names.parameters; ++p) {
        matches = matches || detail::name_matches(entry[e].key, names.parameter[p]);
        decides = decides || detail::entry_of_parameter(entry, count, names.parameter[p]) == e;
      }
      if (!decides)
        return {matches ? sharding_plan_code::pattern_is_overridden : sharding_plan_code::pattern_matches_nothing, e};
      continue;
    }
    int end = detail::text_length(entry[e].key);
    if (entry[e].subject == plan_subject::activations) {
      const int input = detail::suffix_of(entry[e].key, ".input");
      end = input >= 0 ? input : detail::suffix_of(entry[e].key, ".output");
      if (end < 0) return {sharding_plan_code::key_ends_neither_in_input_nor_output, e};
    }
    bool known = false;
    for (int f = 0; f < names.functions; ++f)
      known = known || detail::same_text(names.function[f], entry[e].key, entry[e].key + end);
    if (!known) return {sharding_plan_code::function_is_unknown, e};
    for (int before = 0; before < e; ++before)
      if (entry[before].subject == entry[e].subject && detail::same_text(entry[before].key, entry[e].key))
        return {sharding_plan_code::key_is_planned_twice, e};
  }
  return {};
}

}}  // namespace hyperparallel::v0_2
