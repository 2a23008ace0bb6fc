// SPDX-License-Identifier: Apache-2.0
// The body of book.hpp.

#include "book.hpp"

#include <map>
#include <string_view>
#include <utility>

#include <hyperparallel/hardware/units.hpp>
#include <hyperparallel/io/text_file.hpp>

#include "../refusals.hpp"
#include "../replay/truth_kinds.hpp"
#include "devices.hpp"
#include "kernel_row.hpp"
#include "null_model.hpp"
#include "ratios.hpp"
#include "step_seconds.hpp"

namespace truth {

namespace {

/// Larger files are refused, so that an endless one ends.
constexpr std::int64_t largest_file = std::int64_t{1} << 28;

std::vector<unsigned char> bytes_of(const std::string& path) {
  try {
    return hp::read_bytes(path, {hp::empty_file::refused, largest_file});
  } catch (const hp::io_error& e) {
    throw hp_tool::bad_input(e.what());
  }
}

/// Reads the rows of one file into the book.
void read_file(const std::string& path, truth_book& book) {
  const std::vector<unsigned char> bytes = bytes_of(path);
  std::string_view left(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::string device = device_without_a_row;
  json constants;
  for (long number = 1; !left.empty(); ++number) {
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(line.size() + 1, left.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string place = path + ':' + std::to_string(number) + ": ";
    const json row = json::parse(line, nullptr, false);
    if (row.is_discarded() || !row.is_object()) throw hp_tool::bad_input(place + "malformed JSON");
    try {
      const std::string kind = text_in(row, "kind");
      if (kind == "constants") constants = row;
      if (is_kernel_row(kind)) {
        book.measured.push_back(read_kernel_row(row, constants));
        continue;
      }
      if (is_measured_row(row)) {
        if (kind == "device") device = text_in(row, "name");
        book.measured.push_back(read_measured_row(row, device));
        continue;
      }
      judged_row r;
      r.row = read_published_row(row);
      if (!is_known_quantity(r.row.quantity)) throw malformed_row("quantity '" + r.row.quantity + "' is not known");
      book.rows.push_back(std::move(r));
    } catch (const malformed_row& e) {
      const std::string id = text_in(row, "id");
      book.malformed.push_back(place + (id.empty() ? "" : id + ": ") + e.what());
    }
  }
}

/// Held exactly, by the replay of published numbers.
void judge_exact(judged_row& r) {
  try {
    const replay::verdict v = replay::replay_published_number(replay::json::parse(r.row.source.dump()));
    r.differs = v.outcome == replay::outcome::failed;
    if (v.outcome == replay::outcome::passed) return;
    r.said.why_not = v.reason;
  } catch (const std::exception& e) {
    r.said.why_not = e.what();
  }
}

void judge_memory(judged_row& r) {
  const std::string unit = text_in(r.row.source, "unit");
  r.said = predict(r.row);
  if (unit.starts_with("GiB"))
    r.measured = r.row.value * static_cast<double>(hp::GiB);
  else if (unit.starts_with("GB"))
    r.measured = r.row.value * 1e9;
  else
    r.said.why_not = "its unit is " + unit;
  if (r.said.ok()) r.predicted = r.said.needed_bytes;
}

/// What makes rows the same run.
std::string run_key(const published_row& r) {
  return r.family + '\n' + r.source.at("model").dump() + '\n' + nlohmann::json(r.config()).dump() + '\n' + r.device;
}

void deal_to_runs(truth_book& book) {
  std::map<std::string, int> known;
  for (int i = 0; i < static_cast<int>(book.rows.size()); ++i) {
    judged_row& r = book.rows[static_cast<std::size_t>(i)];
    if (r.cls.cls != row_class::time) continue;
    const auto [at, fresh] = known.try_emplace(run_key(r.row), static_cast<int>(book.runs.size()));
    if (fresh) book.runs.emplace_back();
    timed_run& run = book.runs[static_cast<std::size_t>(at->second)];
    run.rows.push_back(i);
    run.is_fit = run.is_fit || r.row.is_fit();
    r.run = at->second;
  }
}

/// The time of a run, and of each of its rows.
void measure(truth_book& book, timed_run& run, const hp::decoder* d) {
  int best = static_cast<int>(std::size(time_quantities));
  std::vector<hp::measured_interval> found;
  for (const int i : run.rows) {
    judged_row& r = book.rows[static_cast<std::size_t>(i)];
    hp::measured_interval t;
    try {
      t = step_seconds_of(r.row, d);
    } catch (const not_predicted& e) {
      if (r.said.ok()) r.said.why_not = e.what();
      continue;
    }
    r.measured = t.value;
    const int rank = time_rank_of(r.row.quantity);
    if (rank < best) found.clear();
    if (rank <= best) found.push_back(t);
    best = std::min(best, rank);
  }
  std::vector<double> least, value, most;
  for (const hp::measured_interval& t : found) {
    least.push_back(t.least);
    value.push_back(t.value);
    most.push_back(t.most);
  }
  run.seconds = {hp::median_of(least), hp::median_of(value), hp::median_of(most)};
}

void judge_run(truth_book& book, timed_run& run) {
  const published_row& first = book.of(run);
  run.said = predict(first);
  std::optional<row_decoder> d;
  try {
    d = decoder_of(first.model, first.run.sequence);
    run.operations = operations_of(first, d->model);
  } catch (const not_predicted&) {
    d.reset();
  }
  run.peak = peak_of(first.source.at("hardware"), first.device, first.run.format);
  for (const int i : run.rows) {
    judged_row& r = book.rows[static_cast<std::size_t>(i)];
    r.said = run.said;
    r.predicted = run.said.step_seconds;
  }
  measure(book, run, d ? &d->model : nullptr);
}

}  // namespace

truth_book read_book(const std::vector<std::string>& files) {
  truth_book book;
  book.files = files;
  for (const std::string& path : files) read_file(path, book);
  reference_rows references;
  for (const judged_row& r : book.rows) references.add(r.row);
  for (judged_row& r : book.rows) {
    r.cls = class_of(r.row, references);
    if (r.cls.cls == row_class::exact) judge_exact(r);
    if (r.cls.cls == row_class::memory) judge_memory(r);
    if (r.cls.cls == row_class::skip) r.said.why_not = r.cls.why;
  }
  judge_ratios(book);
  judge_reinforcement(book);
  deal_to_runs(book);
  for (timed_run& run : book.runs) judge_run(book, run);
  add_null_model(book);
  return book;
}

}  // namespace truth
