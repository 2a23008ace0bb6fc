// SPDX-License-Identifier: Apache-2.0
// The body of fit.hpp.

#include "fit.hpp"

#include <cmath>

#include <fmt/format.h>

#include <hyperparallel/hardware/fitted_shares.hpp>
#include <hyperparallel/report/format_units.hpp>
#include <hyperparallel/report/table.hpp>

#include "devices.hpp"
#include "printed_part.hpp"

namespace truth {

namespace {

constexpr int least_share = 50'000, most_share = 1'000'000, precision_of_share = 1000;

/// Runs of a preset that its share decides.
std::vector<const timed_run*> deciding_runs(const truth_book& book, const std::string& preset) {
  std::vector<const timed_run*> out;
  for (const timed_run& r : book.runs) {
    const hp::known_hardware* h = preset_of(book.of(r).device);
    if (!r.is_fit || !r.said.ok() || r.seconds.value <= 0 || h == nullptr || h->name.text != preset) continue;
    const prediction one = predict(book.of(r), hp::efficiency{least_share}),
                     other = predict(book.of(r), hp::efficiency{most_share});
    if (one.ok() && other.ok() && one.step_seconds > 3 * other.step_seconds) out.push_back(&r);
  }
  return out;
}

/// Errors of runs at a share.
std::vector<double> errors_at(const truth_book& book, const std::vector<const timed_run*>& runs, int share) {
  std::vector<double> errors;
  for (const timed_run* r : runs)
    errors.push_back(hp::relative_error(predict(book.of(*r), hp::efficiency{share}).step_seconds, r->seconds.value));
  return errors;
}

fit_result fit_one(const truth_book& book, const hp::fitted_share& known) {
  fit_result out{known.preset, static_cast<int>(known.share.parts_per_million)};
  const std::vector<const timed_run*> runs = deciding_runs(book, known.preset);
  if (runs.empty()) return out;
  int low = least_share, high = most_share;  // of a larger share the median is lower
  while (high - low > precision_of_share) {
    const int middle = (low + high) / 2;
    (hp::median_of(errors_at(book, runs, middle)) > 0 ? low : high) = middle;
  }
  out.parts_per_million = (low + high) / 2 / precision_of_share * precision_of_share;
  out.runs = static_cast<int>(runs.size());
  std::vector<double> sizes = errors_at(book, runs, out.parts_per_million);
  for (double& e : sizes) e = std::abs(e);
  out.error = hp::mean_of(sizes);
  return out;
}

}  // namespace

std::vector<fit_result> fit_shares(const truth_book& book) {
  std::vector<fit_result> out;
  for (const hp::fitted_share& known : hp::fitted_shares) out.push_back(fit_one(book, known));
  return out;
}

void print_fits(const std::vector<fit_result>& fits, const std::string& path) {
  std::string table;
  for (const fit_result& f : fits)
    table += fmt::format("    {{\"{}\", {{{}'000}}, {}}},\n", f.preset, f.parts_per_million / 1000, f.runs);
  print_into("--fit", path, "inline constexpr fitted_share fitted_shares[] = {\n", "};\n", table,
             "table of fitted shares, as hardware/fitted_shares.hpp has");
}

std::string to_text(const std::vector<fit_result>& fits) {
  hp::report::table t({"preset", "share of the peak", "fit runs", "mean error"});
  for (const fit_result& f : fits)
    t.row({f.preset, fmt::format("{:.1f} %", f.parts_per_million / 1e4), std::to_string(f.runs),
           f.runs == 0 ? "" : fmt::format("{:.1f} %", 100 * f.error)});
  return t.text();
}

}  // namespace truth
