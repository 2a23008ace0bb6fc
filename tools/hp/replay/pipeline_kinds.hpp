// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kinds of pipeline.jsonl: published schedules generated, replayed and held against simulations, torch's tables and
// published figures. What asks for a search or a lowering is skipped, and fails where a field is missing.

#include "reading.hpp"

namespace replay {

/// A schedule by name: what its replay says, and whether the published formula agrees.
verdict replay_closed_form(const json& v);
/// Ours in torch's text, theirs read and written, theirs proved.
verdict replay_torch_csv(const json& v);
/// A table that torch itself would refuse: the first F of its last rank is missing.
verdict replay_torch_defect(const json& v);
/// The rates that the zero-bubble paper publishes, at four decimals, of schedules that are generated.
verdict replay_zero_bubble_table(const json& v);
/// A table of V-min or V-half with less memory: its replay, where the table is given.
verdict replay_v_schedule(const json& v);
verdict skip_pipeline_search(const json& v);
verdict skip_pipeline_lowering(const json& v);

}  // namespace replay
