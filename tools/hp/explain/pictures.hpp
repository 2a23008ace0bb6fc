// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pictures of a move's page (report/page.hpp): who receives from whom, and who holds what before and after.

#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/redistribution/choose_move.hpp>

#include "../pictures.hpp"

namespace explain_pictures {

namespace hp = hyperparallel;
using hp_tool::json;

/// Of more ranks there is no matrix.
inline constexpr int most_ranks = 64;

/// What each rank receives from each other one, in all steps.
inline json traffic(const hp::move_parts& plan, const hp::rank_list& ranks, hp::extent_t element_bytes) {
  const std::size_t n = static_cast<std::size_t>(ranks.count);
  std::vector<std::vector<hp::extent_t>> bytes(n, std::vector<hp::extent_t>(n, 0));
  for (int i = 0; i < plan.count; ++i)
    for (int k = 0; k < plan.part[i].step_count; ++k)
      for (int p = 0; p < ranks.count; ++p) {
        const hp::move_step& step = plan.part[i].step[k];
        const hp::step_receiver r = hp::receiver_of(step, plan.part[i].shape, p);
        for (hp::extent_t t = 0; t < r.transfers; ++t) {
          const hp::transfer one = hp::transfer_at(step, r, t);
          if (one.sender != p)
            bytes[static_cast<std::size_t>(p)][static_cast<std::size_t>(one.sender)] +=
                volume(one.part) * element_bytes;
        }
      }
  json names = json::array();
  for (int p = 0; p < ranks.count; ++p) names.push_back(std::to_string(hp::rank_at(ranks, p)));
  return {{"kind", "matrix"},
          {"title", "Who receives from whom"},
          {"about", "Bytes of all steps, the way that is chosen."},
          {"unit", "bytes"},
          {"row_name", "rank"},
          {"column_name", "receives from rank"},
          {"rows", names},
          {"columns", std::move(names)},
          {"values", std::move(bytes)}};
}

/// The ways that have a time.
inline json ways(const hp::chosen_move& choice) {
  json rows = json::array();
  for (int i = 0; i < hp::move_candidate_count; ++i) {
    const hp::move_alternative& a = choice.alternative[i];
    if (a.why_not != hp::candidate_code::ok || !a.figures.time.ok()) continue;
    const auto candidate = static_cast<hp::move_candidate>(i);
    rows.push_back({{"name", std::string(name_of(candidate)) + (choice.candidate == candidate ? ", chosen" : "")},
                    {"values", {static_cast<double>(a.figures.time.picoseconds) / 1e12}}});
  }
  return {
      {"kind", "bars"},    {"title", "Ways to carry it out"}, {"about", "By time on the links."}, {"unit", "seconds"},
      {"parts", {"time"}}, {"rows", std::move(rows)}};
}

}  // namespace explain_pictures
