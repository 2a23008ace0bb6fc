// SPDX-License-Identifier: Apache-2.0
#include "search.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include <hyperparallel/report/format_units.hpp>

#include "../../../examples/train_text/interruption.hpp"

namespace decoder_plans {

namespace {

/// Lines on the error stream: one that is written again on a terminal, else one each second.
class search_reporter {
 public:
  double seconds() const { return std::chrono::duration<double>(clock::now() - start_).count(); }

  void tell(const hp::plan_progress& p) {
    const double now = seconds();
    if (now < next_) return;
    next_ = now + (terminal_ ? 0.1 : 1.0);
    std::string best = "none fits yet";
    if (p.best != hp::not_counted) best = "best " + to_text(hp::report::duration{p.best});
    std::fprintf(stderr, "%shp plan: %lld of at most %lld plans priced, %s%s", terminal_ ? "\r" : "",
                 static_cast<long long>(p.priced), static_cast<long long>(p.plans), best.c_str(),
                 terminal_ ? "   " : "\n");
    written_ = terminal_;
  }
  ~search_reporter() {
    if (written_) std::fprintf(stderr, "\r%*s\r", 79, "");
  }

 private:
  using clock = std::chrono::steady_clock;
  clock::time_point start_ = clock::now();
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool written_ = false;
  double next_ = terminal_ ? 0.2 : 1.0;
};

/// Sequences of a step where they are not named: four for each device.
std::int64_t default_batch(const choice& c) {
  return std::min<std::int64_t>(std::int64_t{4} * c.devices, hp::largest_plan_number);
}

}  // namespace

search_answer search_answer_of(choice c) {
  if (c.batch == 0) c.batch = default_batch(c);
  search_answer s{.best = asked_of(c)};
  s.question = {.devices = c.devices,
                .batch = c.batch,
                .sequence = c.sequence,
                .reserve = s.best.reserve,
                .stack = s.best.stack,
                .formats = s.best.plan.formats};
  s.why = c.why;
  hp::decoder_plan alone;
  alone.sequence = c.sequence;
  alone.dp = c.devices;
  alone.zero = 3;
  insist_on_rules(s.best, alone);  // of the model
  hp::plan_prices prices = s.best.prices();
  train_text::listen_for_interruption();
  {
    search_reporter reporter;
    const auto may_simulate = [&] {
      if (train_text::is_interrupted()) s.end = ending::interrupted;
      return s.end != ending::interrupted;
    };
    const auto goes_on = [&] {
      if (train_text::is_interrupted())
        s.end = ending::interrupted;
      else if (reporter.seconds() >= c.effort)
        s.end = ending::effort;
      return s.end == ending::complete;
    };
    const auto search = [&](const hp::plan_question& q) {
      return hp::search_simulated_plans(
          s.best.config.model, q, prices,
          [&](const hp::plan_progress& p) {
            reporter.tell(p);
            return goes_on();
          },
          [&](bool is_needed) { return is_needed ? may_simulate() : goes_on(); });
    };
    s.found = search(s.question);
    if (!s.found.ok() && s.found.legal > 0 && s.found.simulations.unfit == 0 && s.end == ending::complete) {
      hp::plan_question tight = s.question;
      tight.reserve = s.question.reserve.without_waste();
      if (hp::plan_answer found = search(tight); found.ok()) {
        s.is_tight = true;
        s.question = tight;
        s.found = std::move(found);
      } else {
        s.end = ending::complete;  // that none fits was found before
      }
    }
    // A row that is simulated may change its place, and another one stand there.
    while (s.why > 1 && s.why <= s.found.best.size &&
           s.found.best[s.why - 1].simulated.code == hp::simulated_plan_code::not_asked && may_simulate())
      hp::simulate_row(s.best.config.model, s.question, prices, s.found, s.why - 1);
    s.seconds = reporter.seconds();
  }
  if (!s.found.ok()) return s;
  s.best.estimate = s.found.best[0];
  s.best.plan = s.best.estimate.plan;
  s.best.status = {};
  unroll(s.best, prices);
  s.best.words = words_of(s.best.plan, s.best.config.model, c);
  if (!c.convention.empty())
    s.best.comparison = hp::compare_with_megatron_2022(s.best.config.model, s.best.plan, prices);
  return s;
}

}  // namespace decoder_plans
