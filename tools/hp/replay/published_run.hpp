// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run of training that somebody has timed, as a row of truth_tables.jsonl describes it, in the library's words: model,
// hardware, and the plans that it may have been. What a row leaves open (ZeRO, recomputation, sequence parallelism, the
// micro-batch) has every value; what cannot be said in these words is refused by name.

#include <stdexcept>
#include <vector>

#include <hyperparallel/planner/known_hardware.hpp>
#include <hyperparallel/planner/plan_search.hpp>

#include "reading.hpp"

namespace replay {

/// Whether a row is of class B: a time or a rate of a step, with sizes of the model, devices, sequence and batch.
bool is_timed_run(const json& v);

/// Why a run cannot be said in the library's words.
struct not_expressed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct published_run {
  hp::decoder model{};
  hp::known_hardware hardware{};  ///< the preset, with the row's bytes of memory
  hp::plan_question question{};
  std::vector<hp::decoder_plan> plans{};  ///< at least one, each of them can be
};

/// Throws not_expressed, and malformed_vector of a row that says no sizes. Precondition: `is_timed_run`.
published_run read_published_run(const json& v);

}  // namespace replay
