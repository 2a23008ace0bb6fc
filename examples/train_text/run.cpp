// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>

#include "interruption.hpp"
#include "trainer.hpp"

namespace train_text {
namespace {

using steady = std::chrono::steady_clock;

template <class T>
std::vector<double> train(trainer<T>& t, const train_options& o, const char* label) {
  std::vector<double> losses;
  const auto begin = steady::now();
  auto shown = begin;
  for (bool last = false; t.steps() < o.steps && !last;) {
    losses.push_back(t.step());
    const auto now = steady::now();
    last = t.steps() == o.steps || is_interrupted();
    if (last || t.steps() == 1 || now - shown > std::chrono::seconds(2)) {
      const double seconds = std::chrono::duration<double>(now - begin).count();
      const double rate = static_cast<double>(losses.size()) * static_cast<double>(t.tokens_per_step()) / seconds;
      std::printf("%s step %lld/%d  loss %.6f  %.0f tokens/s\n", label, static_cast<long long>(t.steps()), o.steps,
                  losses.back(), rate);
      std::fflush(stdout);
      shown = now;
    }
    if (!o.checkpoint.empty() && (last || (o.save_every > 0 && t.steps() % o.save_every == 0))) t.save();
  }
  t.finish_saving();
  return losses;
}

/// The memory of each stage's ranks, by address.
template <class World>
void print_stages(const World& world, const hp::pipeline_value& p) {
  std::printf("pipeline %s, %d groups of ranks with %d stage%s each; memory of a rank", p.schedule->name, p.ranks,
              p.chunks, p.chunks == 1 ? "" : "s");
  for (int k = 0; k < p.ranks; ++k)
    std::printf("%s %.2f", k == 0 ? ":" : ",",
                static_cast<double>(world.high_water(hp::first_rank_of(world.program(), k))) / 1048576);
  std::printf(" MiB\n");
}

/// What is left of a training that was interrupted, on the error stream.
template <class T>
int tell_interruption(const trainer<T>& t, const train_options& o, const std::string& kept) {
  std::fflush(stdout);
  std::fprintf(stderr, "train_text: interrupted after step %lld of %d; %s\n", static_cast<long long>(t.steps()),
               o.steps, kept.c_str());
  return interrupted_status;
}

template <class T>
int train_and_tell(const train_options& o) {
  const std::vector<std::uint8_t> text = read_text(o.text);
  const chosen_strategy strategy = chosen(o);
  trainer<T> many(o, text, strategy);
  if (!o.resume.empty()) many.load(o.resume);
  const std::string name = o.groups.empty() ? o.strategy : name_of_groups(o.groups);
  std::printf("%zu bytes of text, %zu held back; strategy %s on %d ranks, steps %lld to %d\n", text.size(),
              many.validation().size(), name.c_str(), hp::ranks_of(many.world().program()),
              static_cast<long long>(many.steps()), o.steps);
  print_plan(many.world());
  if (strategy.is_pipeline) print_stages(many.world(), strategy.pipeline);
  const std::vector<double> losses = train(many, o, name.c_str());
  if (is_interrupted())
    return tell_interruption(many, o,
                             o.checkpoint.empty() ? "nothing is saved without --checkpoint"
                             : losses.empty()     ? "no step was left to do"
                                                  : "--resume " + o.checkpoint + " goes on from there");
  const double validation = many.validate(), entropy = bigram_entropy(many.training(), many.validation());
  std::printf("validation loss %.4f nats a byte; bigram entropy %.4f, ratio %.3f\n", validation, entropy,
              validation / entropy);
  if (o.most_ratio > 0 && !(validation <= o.most_ratio * entropy)) {
    std::fflush(stdout);
    std::fprintf(stderr, "train_text: ratio %.3f, expected at most %g\n", validation / entropy, o.most_ratio);
    return 1;
  }
  if (!o.compare) return 0;
  train_options alone = o;
  alone.checkpoint.clear();
  alone.hbm_budget.clear();
  alone.tiles.clear();
  alone.micro_batches = micro_batches_of(o, strategy);
  trainer<T> one(alone, text, {strategy_of("single", 1, {})});
  if (!o.resume.empty()) one.load(o.resume);
  const std::vector<double> reference = train(one, alone, "one device");
  if (is_interrupted()) return tell_interruption(one, alone, "this was the comparison with one device");
  double difference = 0;
  for (std::size_t s = 0; s < losses.size(); ++s)
    difference = std::max(difference, std::abs(losses[s] - reference[s]) / std::abs(reference[s]));
  const bool within = difference <= tolerance(o);
  std::printf("largest relative difference of a loss from one device: %.3g (%s the tolerance %.0e)\n", difference,
              within ? "within" : "beyond", tolerance(o));
  return within ? 0 : 1;
}

}  // namespace

int run(const train_options& o) {
  listen_for_interruption();
  return o.doubles ? train_and_tell<double>(o) : train_and_tell<float>(o);
}

std::string budget_trouble(const std::string& text) {
  constexpr std::int64_t any_peak = std::int64_t{1} << 40;
  return budget_bytes(text, any_peak) > 0 ? "" : "'" + text + "' is none of 50%, 48M, 48000000, auto";
}

void list_strategies() {
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const hp::named_strategy& s = hp::named_strategy_at(i);
    std::string axes;
    for (int a = 0; a < s.axis_count; ++a) axes += (a > 0 ? " x " : "") + std::string(s.axis[a]);
    std::printf("%-12s %-20s %s\n", s.name, axes.c_str(), s.about);
  }
  std::printf("pipelines: any of these with --stages, or pp, dp-tp-pp, pp-ep, zero1-pp-tp-ep; schedules:\n");
  for (const hp::named_schedule& s : hp::schedule_table.item)
    std::printf(
        "%-20s %s\n", s.name,
        s.fixed_chunks == 0 ? "any number of stages a group" : (std::to_string(s.fixed_chunks) + " a group").c_str());
}

}  // namespace train_text
