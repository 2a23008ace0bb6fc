// SPDX-License-Identifier: Apache-2.0
// hp truth FILE.jsonl … [--rows] [--json] [--html FILE]: holds what `hp plan` says against published and measured runs.
//
// Every row has a class and is predicted or skipped with a reason. The last line is `N predicted, N skipped`. A line that is no
// JSON ends the command; a row that cannot be read is skipped, the first is a line on the error stream, and the exit status is 2.

#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "json_output.hpp"
#include "page_output.hpp"
#include "subcommand.hpp"
#include "truth/fit.hpp"
#include "truth/json.hpp"
#include "truth/pictures.hpp"
#include "truth/printed_part.hpp"
#include "truth/text.hpp"

namespace {

struct request {
  std::vector<std::string> files;
  bool with_rows = false, as_json = false;
  std::string printed{};  ///< the page that tables are printed into; empty: none
  std::string fit{};      ///< the header that parameters are written to; empty: none
  hp_tool::page_request page{};
};

/// Whether what must hold exactly or within a tolerance does, and no bound is above a measurement.
bool is_good(const truth::truth_book& book) {
  for (const truth::measured_row& r : book.measured)
    for (const truth::measured_amount& a : r.amounts)
      if (r.tolerance > 0 && std::abs(truth::hp::relative_error(a.predicted, a.measured)) > r.tolerance) return false;
  for (const truth::judged_row& r : book.rows)
    if (r.differs) return false;
  for (const truth::timed_run& r : book.runs)
    if (truth::bound_is_above(r)) return false;
  for (const truth::rl_comparison& c : book.reinforcement)
    if (truth::bound_is_above(book, c)) return false;
  return true;
}

}  // namespace

hp_tool::work hp_tool::add_truth(command_line::command app) {
  const auto given = std::make_shared<request>();
  app.add_option("FILE", given->files, "JSON Lines files of published or measured runs");
  app.add_flag("--rows,-r", given->with_rows, "list every row with its class, prediction and error, or its reason")
      .disable_flag_override();
  app.add_option("--print", given->printed, "print the tables into this page, as docs/reference/truth.md");
  app.add_option("--fit", given->fit,
                 "write what `fit` rows say of the presets into this header, hardware/fitted_shares.hpp");
  add_json(app, given->as_json);
  add_page(app, given->page);
  app.footer(
      "Reads published runs of training (a number each, as tokens a second or a peak of memory) and steps measured on\n"
      "one device, predicts each by the plan that it ran, and prints how far the predictions are off: by family,\n"
      "device and precision, beside a constant share of the peak (null) as skill = 1 - error / error of null, how\n"
      "often two plans are put in the right order, what following the prediction costs (regret), and bounds that\n"
      "are above a measurement. What cannot be said as a plan is skipped with the reason. One run has one vote.\n\n"
      "hp truth truth_tables.jsonl\n"
      "hp truth --rows truth_tables.jsonl measured_h100.jsonl\n"
      "hp truth truth_tables.jsonl --html truth.html\n\n"
      "Exit status: 0 exact rows are exact and bounds hold, 1 one does not, 2 bad input, a row that cannot be read "
      "among it.");
  return [given] {
    if (given->files.empty()) throw bad_input("no file is named; usage: hp truth FILE.jsonl ... [--rows] [--json]");
    page_output page(given->page, given->files);
    const truth::truth_book book = truth::read_book(given->files);
    if (const std::size_t n = book.malformed.size(); n > 0)
      std::fprintf(stderr, "hp truth: %s%s\n", book.malformed[0].c_str(),
                   n == 1 ? "" : (" (and " + std::to_string(n - 1) + " more rows)").c_str());
    if (!given->fit.empty()) {
      const std::vector<truth::fit_result> fits = truth::fit_shares(book);
      truth::print_fits(fits, given->fit);
      std::fputs(truth::to_text(fits).c_str(), stdout);
      return book.malformed.empty() ? 0 : 2;
    }
    if (!given->printed.empty())
      truth::print_into("--print", given->printed, "<!-- hp truth prints -->\n", "<!-- until here -->\n",
                        "```text\n" + truth::to_text(book, false) + "```\n",
                        "lines <!-- hp truth prints --> and <!-- until here -->");
    json document = given->as_json || page.is_asked() ? truth::json_of(book, given->with_rows) : json();
    if (page.is_asked()) {
      document["pictures"] = truth::pictures_of(book);
      page.write("hp truth", document);
    }
    if (given->as_json)
      print(document);
    else
      std::fputs(truth::to_text(book, given->with_rows).c_str(), stdout);
    return !book.malformed.empty() ? 2 : is_good(book) ? 0 : 1;
  };
}
