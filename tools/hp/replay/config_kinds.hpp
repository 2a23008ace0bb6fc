// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rows of model_configs.jsonl: a published config.json and the counts of its model, whatever the row's kind.

#include "reading.hpp"

namespace replay {

/// Whether a vector is a configuration with its counts.
inline bool is_model_config(const json& v) { return v.contains("config") && v.contains("expected_parameters"); }

/// Parameters, also with multi-token prediction, those active and the cache of a token, as far as the row states them; of
/// a model that also sees or hears, those of its text, which the row has under "parts". A model that the library does not
/// know is skipped with the field by which it was refused.
verdict replay_model_config(const json& v);

}  // namespace replay
