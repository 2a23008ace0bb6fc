// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pipeline schedules and what is known of them as text: refusals as sentences, accounts as tables.

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <hyperparallel/pipeline/account.hpp>
#include <hyperparallel/pipeline/refused_schedule.hpp>
#include <hyperparallel/pipeline/transport.hpp>
#include <hyperparallel/report/table.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline std::string to_text(const pipeline_action& a) { return text_of(a).text; }

/// "ordered queues", "2 buffers for each pair of ranks": what ranks wait under.
inline std::string to_text(const transport& t) {
  switch (t.kind) {
    case transport_kind::unbounded:
      return "unbounded buffers";
    case transport_kind::ordered_queues:
      return "ordered queues";
    case transport_kind::buffered:
      return fmt::format("{} buffer{} for each pair of ranks", t.buffers, t.buffers == 1 ? "" : "s");
    case transport_kind::blocking_rows:
      return "blocking rows";
  }
  return "an unknown transport";
}

/// The sentence of a refusal; "ok" of none. `schedule`, `n` and `over` say what was asked for, where that is known.
inline std::string to_text(const pipeline_status& s, const std::string& schedule = "", const pipeline_shape& n = {},
                           const std::optional<transport>& over = {}) {
  return text_of_refusal(s, schedule, n, over ? to_text(*over) : "");
}

/// "12.5 %" of `part` in `whole`.
inline std::string share_text(std::int64_t part, std::int64_t whole) {
  return fmt::format("{:.1f} %", whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

/// Times and bubbles, one a line, then a table of ranks. `unit` follows each time. Precondition: `a.ok()`.
template <class Sizes>
std::string to_text(const basic_pipeline_account<Sizes>& a, const std::string& unit = "") {
  const auto time = [&](std::int64_t t) { return std::to_string(t) + (unit.empty() ? "" : " " + unit); };
  std::string out = fmt::format("makespan {}, ideal {}\n", time(a.makespan), time(a.ideal));
  out += fmt::format("bubble of the makespan {} ({}), of the longest rank {} ({})\n", time(a.bubble()),
                     share_text(a.bubble(), a.makespan), time(a.bubble_of_span()),
                     share_text(a.bubble_of_span(), a.longest_rank_span));
  const bool bytes = a.peak_bytes() > 0;
  std::vector<std::string> header = {"rank", "begins", "ends", "busy", "idle of makespan", "chunks until W", "until I"};
  if (bytes) header.push_back("peak bytes");
  report::table t(header);
  for (int r = 0; r < a.rank.size; ++r) {
    const rank_account& one = a.rank[r];
    std::vector<std::string> row = {std::to_string(r),
                                    time(one.first_start),
                                    time(one.last_end),
                                    time(one.busy),
                                    share_text(a.makespan - one.busy, a.makespan),
                                    std::to_string(one.peak_until_weight_gradient),
                                    std::to_string(one.peak_until_input_gradient)};
    if (bytes) row.push_back(std::to_string(one.peak_bytes));
    t.row(row);
  }
  return out + t.text();
}

}}  // namespace hyperparallel::v0_2
