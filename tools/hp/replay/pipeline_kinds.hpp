// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kinds of pipeline.jsonl and schedule.jsonl: published schedules generated, replayed and held against simulations,
// tables and lists of others, and published figures. What asks for a search is skipped, and fails where a field is missing.

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

// pipeline_transfers.cpp
/// A table with transfers and actions of parameters: ours in torch's text, theirs read and written, theirs proved.
verdict replay_torch_transfers(const json& v);
/// The lists of MindSpore with their transfers, a vector without a kind: ours the same, theirs proved where ranks block.
verdict replay_mindspore_lists(const json& v);
/// A table with one change: refused where a run of its own found it unsafe under its transport, and only there.
verdict replay_pipeline_mutant(const json& v);

}  // namespace replay
