// SPDX-License-Identifier: Apache-2.0
//
// train_text [TEXT] [--strategy NAME] [--ranks N] [--steps N] [--seed N] [--compare] …
//
// Trains a small mixture-of-experts language model on the bytes of a text, on simulated ranks under a strategy chosen
// by name. The last line of `--compare` is the largest difference from one device, and the exit status says whether it
// is within the tolerance: 1e-9 in doubles, 1e-4 in floats, relative. Ctrl-C or SIGTERM ends training after the step
// that is under way, saves the checkpoint that was asked for, says so and exits with 130; a second one ends it at once.

#include <cmath>
#include <cstdio>

#include <CLI/CLI.hpp>

#include "../command_line.hpp"
#include "interruption.hpp"
#include "trainer.hpp"

namespace {

using namespace train_text;
using command_line::whole;
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
    if (!o.checkpoint.empty() && (last || (o.save_every > 0 && t.steps() % o.save_every == 0))) t.save(o.checkpoint);
  }
  return losses;
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
int run(const train_options& o) {
  const std::vector<std::uint8_t> text = read_text(o.text);
  trainer<T> many(o, text, strategy_of(o.strategy, o.ranks, o.degrees));
  if (!o.resume.empty()) many.load(o.resume);
  std::printf("%zu bytes of text, %zu held back; strategy %s on %d ranks, steps %lld to %d\n", text.size(),
              many.validation().size(), o.strategy.c_str(), o.ranks, static_cast<long long>(many.steps()), o.steps);
  print_plan(many.world());
  const std::vector<double> losses = train(many, o, o.strategy.c_str());
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
  trainer<T> one(alone, text, strategy_of("single", 1, {}));
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

/// Heads are an eighth of the width, and their halves turn.
std::string multiple_of_16(const std::string& width) {
  return std::stoi(width) % 16 == 0 ? "" : "'" + width + "' is no multiple of 16";
}

int list_strategies() {
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const hp::named_strategy& s = hp::named_strategy_at(i);
    std::string axes;
    for (int a = 0; a < s.axis_count; ++a) axes += (a > 0 ? " x " : "") + std::string(s.axis[a]);
    std::printf("%-12s %-20s %s\n", s.name, axes.c_str(), s.about);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  train_options o;
  CLI::App app("Trains a small language model on a text, on simulated ranks under any strategy.", "train_text");
  app.add_option("TEXT", o.text, "a file, or a folder of files (default: the system's license texts)");
  app.add_option("--strategy", o.strategy, "by name, see --list (default: ep-tp)");
  app.add_option("--degrees", o.degrees, "size of each of its axes (default: the ranks' factors)")
      ->delimiter(',')
      ->check(whole(1, 512));
  app.add_option("--ranks", o.ranks, "simulated devices (default: 8)")->check(whole(1, 512));
  app.add_option("--steps", o.steps, "of training, in all (default: 100)")->check(whole(1, 1'000'000));
  app.add_option("--seed", o.seed, "of first values and batches (default: 1)")->check(command_line::seed());
  app.add_option("--threads", o.threads, "that simulate the ranks (default: all cores)")->check(whole(0, 64));
  app.add_option("--batch", o.batch, "rows of a batch (default: 16)")->check(whole(1, 4096));
  app.add_option("--seq", o.sequence, "bytes of a row (default: 64)")->check(whole(1, 65536));
  app.add_option("--layers", o.layers, "(default: 4)")->check(whole(1, 128));
  app.add_option("--hidden", o.hidden, "width, a multiple of 16 (default: 64)")
      ->check(whole(16, 8192))
      ->check(multiple_of_16);
  app.add_option("--rate", o.rate, "of learning (default: 0.001)")->check(command_line::number(1e-9, 1e3));
  app.add_option("--validation-bytes", o.validation_bytes, "held back from training (default: 16384)")
      ->check(whole<std::int64_t>(1, std::int64_t{1} << 40));
  app.add_option("--checkpoint", o.checkpoint, "a safetensors file to save parameters and states to");
  app.add_option("--save-every", o.save_every, "steps (default: 50)")->check(whole(0, 1'000'000));
  app.add_option("--resume", o.resume, "a checkpoint to go on from, also under another strategy");
  app.add_option("--hbm-budget", o.hbm_budget,
                 "memory of a rank: 50% of what it would be, 48M, or auto; the rest leaves for a slower tier")
      ->check([](const std::string& text) { return text == "auto" ? "" : budget_trouble(text); });
  app.add_option("--tier-bandwidth", o.tier_bandwidth, "of that tier, in GB/s (default: 4)")
      ->check(command_line::number(1e-6, 1e6));
  app.add_option("--at-most", o.most_ratio, "of the validation loss to the bigram entropy: a higher one exits with 1")
      ->check(command_line::number(1e-3, 1e3));
  app.add_flag("--f64", o.doubles, "compute in doubles");
  app.add_flag("--compare", o.compare, "train on one device as well and compare every loss");
  app.add_flag("--list", o.list, "list the strategies");
  return command_line::run(app, argc, argv, [&] {
    if (o.list) return list_strategies();
    listen_for_interruption();
    return o.doubles ? run<double>(o) : run<float>(o);
  });
}
