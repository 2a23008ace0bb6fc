// SPDX-License-Identifier: Apache-2.0
#pragma once
// The ways to carry out a move as a table with their figures and times, and why there are no others:
//
//   way       steps  all receive  a rank receives  messages  peak, source given up      time
//   exchange      2     40.0 MiB          5.0 MiB        10                8.0 MiB  32.444 us  chosen
//   no sliced: no axis is idle
//
// Law: every candidate is named once, in a row where it could be counted, else with its reason.

#include <string>

#include <hyperparallel/redistribution/choose_move.hpp>
#include <hyperparallel/report/format_hardware.hpp>
#include <hyperparallel/report/table.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace report {

/// A choice with the size of its elements; the choice must outlive it.
struct priced_choice {
  const chosen_move& choice;
  extent_t element_bytes;
};

}  // namespace report

inline report::priced_choice priced(const chosen_move& c, extent_t element_bytes) { return {c, element_bytes}; }

namespace report {

/// Lines that are ended by line breaks. O(candidates).
inline std::string to_text(const priced_choice& p) {
  const auto bytes = [&](extent_t n) { return to_text(byte_count{n * p.element_bytes}); };
  table rows({"way", "steps", "all receive", "a rank receives", "messages", "peak, source given up", "time", ""});
  std::string others;
  candidate_code last = candidate_code::ok;
  for (int i = 0; i < move_candidate_count; ++i) {
    const move_alternative& a = p.choice.alternative[i];
    const move_candidate candidate = static_cast<move_candidate>(i);
    if (a.why_not != candidate_code::ok && a.why_not < candidate_code::links_do_not_carry_it) {
      const bool again = last == a.why_not;
      if (again) others.resize(others.rfind(':'));
      others += (again ? ", " : "no ") + std::string(name_of(candidate)) + ": " + text_of(a.why_not) + "\n";
      last = a.why_not;
      continue;
    }
    const bool chosen = p.choice.code == choice_code::ok && p.choice.candidate == candidate;
    const std::string reason = text_of(a.why_not);
    const move_figures& f = a.figures;
    rows.row({name_of(candidate), std::to_string(f.steps), bytes(f.received_total), bytes(f.received_maximum),
              std::to_string(f.messages_maximum), bytes(f.peak_elements), f.time.ok() ? to_text(f.time) : "-",
              chosen ? (reason.empty() ? "chosen" : "chosen, but " + reason) : reason});
  }
  return rows.text() + others;
}

}  // namespace report

}}  // namespace hyperparallel::v0_2
