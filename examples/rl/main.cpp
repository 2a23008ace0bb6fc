// SPDX-License-Identifier: Apache-2.0
//
// rl [--placement NAME] [--staleness N [--newest]] [--steps N] [--seed N] [--compare] …
//
// A small policy learns to answer three digits with the same in reverse, by reinforcement: a rollout that samples answers,
// a reward that checks them and a training step run beside each other under one controller, on groups of simulated ranks.
// `--compare` runs all placements as well, and the replay of a run that took the newest weights: the exit status says
// whether all have the same bits.

#include <cstdio>
#include <string>

#include "../command_line.hpp"
#include "run.hpp"

namespace {

using command_line::whole;

/// Placements with the same bits as `first`: all of them where the weights are read version by version, or are replayed.
bool all_alike(const rl::rl_options& o, const rl::rl_course& first) {
  bool alike = true;
  for (const rl::placement& p : rl::placements) {
    const bool same = rl::train(o, p, o.newest ? &first.versions : nullptr, false) == first;
    std::printf("%-12s%s: %s\n", p.name, o.newest ? " replayed" : "", same ? "the same bits" : "other bits");
    alike = alike && same;
  }
  return alike;
}

int run(const rl::rl_options& o) {
  const rl::placement* chosen = nullptr;
  for (const rl::placement& p : rl::placements)
    if (o.placement == p.name) chosen = &p;
  if (chosen == nullptr) throw std::invalid_argument("no placement is called \"" + o.placement + "\"");
  if (o.newest && o.staleness == 0) throw std::invalid_argument("--newest needs a --staleness of at least 1");
  const rl::rl_course course = rl::train(o, *chosen, nullptr, true);
  double last = 0;
  const std::size_t tail = std::min<std::size_t>(10, course.reward.size());
  for (std::size_t i = course.reward.size() - tail; i < course.reward.size(); ++i)
    last += course.reward[i] / static_cast<double>(tail);
  std::printf("reward %.3f at first, %.3f in the last %zu steps\n", course.reward.front(), last, tail);
  if (o.at_least > 0 && !(last >= o.at_least)) {
    std::fflush(stdout);
    std::fprintf(stderr, "rl: reward %.3f, expected at least %g\n", last, o.at_least);
    return 1;
  }
  return !o.compare || all_alike(o, course) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  rl::rl_options o;
  command_line::program app("Learns by reinforcement, rollout beside training on groups of ranks.", "rl");
  app.add_option("--placement", o.placement, "colocated, disjoint, unequal, overlapping, inside (default: disjoint)");
  app.add_option("--steps", o.steps, "of training (default: 300)").check(whole(1, 1'000'000));
  app.add_option("--staleness", o.staleness, "updates that a rollout's weights may lack (default: 0)")
      .check(whole(0, 64));
  app.add_flag("--newest", o.newest, "a rollout takes the newest weights that are there");
  app.add_option("--threads", o.threads, "that fire programs (default: one a row)").check(whole(0, 64));
  app.add_option("--seed", o.seed, "of first values, prompts and answers (default: 1)").check(command_line::seed());
  app.add_option("--rate", o.rate, "of learning (default: 0.003)").check(command_line::number(1e-9, 1e3));
  app.add_option("--at-least", o.at_least, "reward of the last steps, or exit status 1")
      .check(command_line::number(0, 1));
  app.add_flag("--compare", o.compare, "also under all placements: bit by bit");
  app.add_option("--trace", o.trace, "writes the firings for Perfetto");
  return command_line::run(app, argc, argv, [&] { return run(o); });
}
