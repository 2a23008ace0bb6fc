// SPDX-License-Identifier: Apache-2.0
// The body of ratios.hpp.

#include "ratios.hpp"

#include <algorithm>

namespace truth {

namespace {

bool is_memory(const published_row& r) { return r.quantity == "peak_memory_per_gpu"; }
std::string schedule_of(const published_row& r) { return lower_case(text_in(r.config(), "schedule")); }

/// Schedules that others are compared with, the first that is there: 1F1B, and those that keep as many micro-batches as it.
constexpr const char* reference_schedules[] = {"1f1b", "zb-1p", "zb-h1", "zero-bubble"};
int likeness_to_a_reference(const published_row& r) {
  const int count = static_cast<int>(std::size(reference_schedules));
  for (int i = 0; i < count; ++i)
    if (schedule_of(r) == reference_schedules[i]) return count - i;
  return 0;
}

/// The row that others of its model, quantity and devices are compared with: of the most alike schedule, then of the same micro-batches.
const published_row* reference_of(const published_row& r, const truth_book& book) {
  const published_row* found = nullptr;
  const auto likeness = [&](const published_row& other) {
    return 4 * likeness_to_a_reference(other) + (other.run.micro_batches == r.run.micro_batches ? 2 : 0) +
           (other.run.micro_batch == r.run.micro_batch ? 1 : 0);
  };
  for (const judged_row& other : book.rows) {
    const published_row& row = other.row;
    if (row.family != r.family || row.model.name != r.model.name || row.quantity != r.quantity) continue;
    if (row.device != r.device || row.run.devices != r.run.devices || likeness_to_a_reference(row) == 0) continue;
    if (found == nullptr || likeness(row) > likeness(*found)) found = &row;
  }
  return found;
}

bool is_1f1b(const published_row& r) { return schedule_of(r) == "1f1b"; }

/// The row with sizes of its model, a sequence, of which 0 is not told, and so many micro-batches for each stage where it has no batch.
published_row completed(published_row r, const truth_book& book, int rounds, hp::extent_t sequence) {
  for (const judged_row& other : book.rows) {
    if (r.model.ok()) break;
    if (other.row.family == r.family && other.row.model.name == r.model.name && other.row.model.ok())
      r.model = other.row.model;
  }
  if (r.run.sequence == 0) r.run.sequence = sequence > 0 ? sequence : assumed_sequence;
  if (r.run.batch.sequences > 0) return r;
  if (r.run.micro_batch == 0) r.run.micro_batch = 1;
  r.run.batch.sequences = r.run.micro_batch * rounds * r.run.pp * data_ranks_of(r.run);
  return r;
}

/// What a sequence takes of a step, or a device at its peak.
double amount_of(const published_row& r, prediction& said) {
  said = predict(r);
  if (!said.ok()) throw not_predicted(said.why_not);
  return is_memory(r) ? said.needed_bytes : said.step_seconds / static_cast<double>(r.run.batch.sequences);
}

std::string text_of(double ratio) { return std::to_string(ratio).substr(0, 5); }

void judge(judged_row& r, const truth_book& book) {
  const published_row* reference = reference_of(r.row, book);
  if (reference == nullptr)
    throw not_predicted("no row of 1F1B, or of as many micro-batches kept, on its devices is beside it");
  if (is_memory(r.row) && schedule_of(r.row) == "zb-2p*")
    throw not_predicted("ZB-2p* has the memory of the others by a micro-batch that is not printed");
  r.measured = is_memory(r.row) ? r.row.value / reference->value : reference->value / r.row.value;
  prediction said, of_reference;
  double least = 0, most = 0;
  for (const int rounds : {2, 4, 8, 16}) {
    const hp::extent_t sequence = std::max(reference->run.sequence, r.row.run.sequence);
    const double ratio = amount_of(completed(r.row, book, rounds, sequence), said) /
                         amount_of(completed(*reference, book, rounds, sequence), of_reference);
    least = least == 0 ? ratio : std::min(least, ratio);
    most = std::max(most, ratio);
    if (r.row.run.batch.sequences > 0) break;
  }
  r.said = said;
  if (!is_1f1b(*reference)) r.said.open.push_back("over " + text_in(reference->config(), "schedule"));
  r.predicted = (least + most) / 2;
  if (least != most)
    r.said.open.push_back("ratio of 2 to 16 micro-batches a stage, from " + text_of(least) + " to " + text_of(most));
}

}  // namespace

void judge_ratios(truth_book& book) {
  for (judged_row& r : book.rows) {
    if (r.cls.cls != row_class::ratio || is_reinforcement(r.row)) continue;
    try {
      if (!is_memory(r.row) && !r.row.quantity.ends_with("_per_gpu")) throw not_predicted("no rule for its quantity");
      judge(r, book);
    } catch (const not_predicted& e) {
      r.predicted = 0;
      r.said.why_not = e.what();
    }
  }
}

std::vector<double> ratio_errors(const truth_book& book, bool of_memory, bool over_1f1b) {
  std::vector<double> errors;
  for (const judged_row& r : book.rows) {
    if (r.cls.cls != row_class::ratio || !r.is_used() || is_reinforcement(r.row)) continue;
    const published_row* reference = reference_of(r.row, book);
    if (reference == nullptr || reference == &r.row || is_memory(r.row) != of_memory) continue;
    if (is_1f1b(*reference) == over_1f1b && !is_1f1b(r.row)) errors.push_back(r.error());
  }
  return errors;
}

}  // namespace truth
