// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a pipeline schedule is refused, as one sentence with names and sizes.

#include <string>

#include <hyperparallel/pipeline/schedule.hpp>
#include <hyperparallel/support/refusal_words.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The sentence of a refusal; "ok" of none. `schedule`, `n` and `under`, a transport, say what was asked for, where that is
/// known.
inline std::string text_of_refusal(const pipeline_status& s, const std::string& schedule = "",
                                   const pipeline_shape& n = {}, const std::string& under = "") {
  if (s.ok()) return "ok";
  std::string circle;
  for (const waiting_action& w : s.cycle)
    circle += (circle.empty() ? "rank " : ", rank ") + std::to_string(w.rank) + " stands at " + text_of(w.action).text +
              " and waits for " + text_of(w.needs).text;
  const std::string ranks = std::to_string(n.ranks),
                    stages = std::to_string(static_cast<long long>(n.ranks) * n.chunks);
  const std::string chunks = std::to_string(n.chunks), micro_batches = std::to_string(n.micro_batches);
  const std::string needed = std::to_string(s.needed);
  const std::string rank = s.rank < 0 ? "" : std::to_string(s.rank);
  const bool has_action = s.rank >= 0 || s.code == pipeline_code::action_is_missing;
  const std::string action = has_action ? text_of(s.action).text : "";
  const detail::slot_text slots[] = {{"type 2", schedule.c_str()},
                                     {"ranks", ranks.c_str()},
                                     {"stages", stages.c_str()},
                                     {"chunks", chunks.c_str()},
                                     {"micro_batches", micro_batches.c_str()},
                                     {"needed", needed.c_str()},
                                     {"on_rank", rank.c_str()},
                                     {"action", action.c_str()},
                                     {"circle", circle.c_str()},
                                     {"under", under.c_str()}};
  return detail::sentence_of((std::string("pipeline_code::") + name_of(s.code)).c_str(), slots).text;
}

}}  // namespace hyperparallel::v0_2
