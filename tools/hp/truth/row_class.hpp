// SPDX-License-Identifier: Apache-2.0
#pragma once
// The class of a row of published measurements, by the row alone (and, of ratios, by the rows beside it), with the reason of those
// that are skipped.
//
//   A exact      computed where it was published; held exactly
//   B time       a time or a rate of a step, with sizes, devices, sequence and batch
//   C memory     a peak of memory, with sizes, sequence and batch
//   D ratio      inputs are missing, but rows beside it are references: order or ratio alone can be held
//   skip         the rest
//
// Law: every row has one class; of a row whose batch is told twice and differs it is skip.

#include <set>
#include <string>
#include <string_view>

#include "published_row.hpp"

namespace truth {

enum class row_class : unsigned char { exact, time, memory, ratio, skip };
inline constexpr int row_class_count = 5;
inline constexpr const char* row_class_names[row_class_count] = {"A", "B", "C", "D", "skip"};
constexpr const char* name_of(row_class c) { return row_class_names[static_cast<int>(c)]; }

struct classified {
  row_class cls = row_class::skip;
  std::string why{};  ///< of those that are skipped
};

/// Quantities of a step's time, of which a run counts by the first that it has.
inline constexpr std::string_view time_quantities[] = {
    "step_time",          "tokens_per_s_per_gpu",  "tokens_per_s_per_npu",
    "tokens_per_s_total", "samples_per_s_per_gpu", "model_tflops_per_gpu"};
/// The place of a quantity among those; -1: it is none of them.
constexpr int time_rank_of(std::string_view quantity) {
  for (int i = 0; i < static_cast<int>(std::size(time_quantities)); ++i)
    if (time_quantities[i] == quantity) return i;
  return -1;
}

/// Whether a row of training by reinforcement, whose steps have several phases, or of its weights' way to the generator.
inline bool is_reinforcement(const published_row& r) {
  return r.quantity.starts_with("rl_") || r.quantity.starts_with("weight_sync") || r.config().contains("algorithm");
}

inline bool is_known_quantity(const std::string& q) {
  for (const std::string_view prefix : {"rl_", "weight_sync", "gpu_hours", "mfu", "peak_memory", "activation_memory",
                                        "params_grads_optimizer_memory", "tokens_per_s", "samples_per_s"})
    if (q.starts_with(prefix)) return true;
  return time_rank_of(q) >= 0;
}

/// What the rows of a file have to compare with: the families and models of which a 1F1B row is there.
class reference_rows {
 public:
  void add(const published_row& r) {
    if (lower_case(text_in(r.config(), "schedule")) == "1f1b") known.insert(key_of(r));
  }
  bool has(const published_row& r) const { return r.config().contains("schedule") && known.contains(key_of(r)); }

 private:
  static std::string key_of(const published_row& r) { return r.family + '\n' + r.model.name; }
  std::set<std::string> known;
};

/// What a row lacks to be predicted; empty: nothing.
inline std::string missing_input(const published_row& r) {
  if (!r.model.ok()) return "its model has no sizes";
  if (r.run.devices == 0) return "no devices";
  if (r.run.sequence == 0) return "no sequence";
  const bool is_memory = r.quantity == "peak_memory_per_gpu";
  const bool any_batch = is_memory && r.run.micro_batch > 0 && r.run.for_all_micro_batches;
  if (r.run.batch.sequences == 0 && !any_batch) return "no batch";
  return {};
}

inline classified class_of(const published_row& r, const reference_rows& references) {
  if (r.nature.starts_with("formula")) return {row_class::exact, {}};
  if (is_reinforcement(r)) return {row_class::ratio, {}};
  const std::string missing = missing_input(r);
  const bool is_memory = r.quantity == "peak_memory_per_gpu";
  if (!is_memory && time_rank_of(r.quantity) < 0) return {row_class::skip, "no rule for the quantity " + r.quantity};
  if (!missing.empty()) {
    if (references.has(r)) return {row_class::ratio, {}};
    return {row_class::skip, missing};
  }
  if (r.run.batch.differs) return {row_class::skip, "its batch is told twice and differs"};
  return {is_memory ? row_class::memory : row_class::time, {}};
}

}  // namespace truth
